/** Where the person writes: a draft that survives, files by button, drop and paste, queued messages, stop. */

import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from "react"

import { report } from "../services/app.ts"
import { useAttachments, useFileDrop } from "../services/attachments.ts"
import { readDraft, writeDraft } from "../services/drafts.ts"
import { contextText } from "../core/meter.ts"
import { Unreachable } from "../services/api.ts"
import type { InboxItem, Model } from "../wire/types.ts"
import { Attached } from "./Attached.tsx"
import { FilePicker } from "./FilePicker.tsx"
import { Icon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"
import { Select } from "./Select.tsx"

const MAX_HEIGHT_PX = 240

export interface Sent {
  text: string
  attachments: { contentId: string; name: string }[]
  model: string
}

interface Props {
  /** Empty before the session exists: it is made with the first message or file. */
  sessionId: string
  makeSession: () => Promise<string>
  models: Model[]
  /** The one in force, unless another is picked; empty: the person is the model. */
  model: string
  isRunning: boolean
  /** A text question that what is written could answer. */
  question: InboxItem | undefined
  onSend: (sent: Sent) => Promise<void>
  /** Whether the talk has a message of these words after a number: the answer to sending it may have been lost. */
  hasTaken: (text: string, after: number) => boolean
  lastSeq: number
  onAnswer: (text: string) => Promise<void>
  onStop: () => void
  onUseTool: () => void
  /** Of the last request. */
  inputTokens: number | null
}

export function Composer(props: Props) {
  const { sessionId, models, model, isRunning, question, onSend, hasTaken, lastSeq, onAnswer, onUseTool, inputTokens } =
    props
  const say = useSay()
  const locale = useLocale()
  const field = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState(() => readDraft(sessionId))
  const attachments = useAttachments(sessionId, props.makeSession)
  const isOver = useFileDrop(attachments.add)
  const [isSending, setSending] = useState(false)
  const [picked, setPicked] = useState("")
  const chosen = models.some(({ name }) => name === picked) ? picked : model
  const isManual = models.length === 0 && model === ""

  // Where there are keys, one can type at once; on a phone this would open the keyboard.
  useEffect(() => {
    if (matchMedia("(hover: hover)").matches) field.current?.focus()
  }, [])
  useEffect(() => writeDraft(sessionId, text), [sessionId, text])
  useLayoutEffect(() => {
    const element = field.current
    if (!element) return
    element.style.height = "auto"
    element.style.height = `${Math.min(element.scrollHeight, MAX_HEIGHT_PX)}px`
  }, [text])

  /** What was sent when the server was lost, and may be there: it would be sent twice. */
  const [unsure, setUnsure] = useState<{ text: string; after: number } | null>(null)
  const forget = useEffectEvent((sent: string) => {
    setUnsure(null)
    setText((now) => (now === sent ? "" : now.startsWith(`${sent}\n`) ? now.slice(sent.length + 1) : now))
    attachments.clear()
  })
  useEffect(() => {
    if (unsure !== null && hasTaken(unsure.text, unsure.after)) forget(unsure.text)
  }, [unsure, hasTaken])

  const canSend = !isSending && !attachments.isUploading && (text.trim() !== "" || attachments.list.length > 0)

  const send = async (how: (text: string) => Promise<void>) => {
    setSending(true)
    setText("") // at once: what is typed while this is under way is the next message
    try {
      await how(text)
      attachments.clear()
    } catch (error) {
      if (error instanceof Unreachable) setUnsure({ text, after: lastSeq })
      setText((since) => (since === "" ? text : `${text}\n${since}`))
      report(error)
    } finally {
      setSending(false)
      field.current?.focus()
    }
  }
  const sendMessage = () =>
    send((written) =>
      onSend({
        text: written,
        attachments: attachments.list.flatMap(({ content }) =>
          content ? [{ contentId: content.contentId, name: content.name }] : [],
        ),
        model: chosen === model ? "" : chosen,
      }),
    )

  return (
    <form
      className={`composer ${isOver ? "over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault()
        if (canSend) void sendMessage()
      }}
    >
      <Attached attachments={attachments.list} onRemove={attachments.remove} />
      <textarea
        ref={field}
        rows={1}
        aria-label={say("message")}
        placeholder={say(
          isOver ? "dropHere" : isRunning ? "placeholderRunning" : isManual ? "placeholderManual" : "placeholder",
        )}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          // A Korean syllable that is being composed is finished by Enter; 229 is what some browsers still send for it.
          if (event.nativeEvent.isComposing || event.keyCode === 229) return
          if (event.key === "/" && text === "") {
            event.preventDefault()
            onUseTool()
          } else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
            event.preventDefault()
            event.currentTarget.form?.requestSubmit()
          }
        }}
        onPaste={(event) => {
          if (event.clipboardData.files.length === 0) return
          event.preventDefault()
          attachments.add(event.clipboardData.files)
        }}
      />
      <div className="tools">
        <FilePicker className="ib" label={say("attach")} onChoose={attachments.add}>
          <Icon name="attach" />
        </FilePicker>
        <button type="button" className="ib" aria-label={say("useTool")} title={say("useTool")} onClick={onUseTool}>
          <Icon name="tools" />
        </button>
        <span className="grow" />
        {inputTokens !== null && inputTokens > 0 && (
          <span className="hint num hide-phone">
            {contextText(inputTokens, models.find(({ name }) => name === chosen)?.contextTokens ?? null, locale)}
          </span>
        )}
        {question && text.trim() !== "" && (
          <button type="button" className="btn" disabled={isSending} onClick={() => void send(onAnswer)}>
            {say("sendAsAnswer")}
          </button>
        )}
        {isManual ? (
          <span className="chip line">
            <Icon name="hand" small />
            {say("noModel")}
          </span>
        ) : (
          models.length > 0 && <ModelSelect models={models} chosen={chosen} onChange={setPicked} />
        )}
        {isRunning && !canSend ? (
          <button type="button" className="ib stop" aria-label={say("stop")} title={say("stop")} onClick={props.onStop}>
            <svg className="i" viewBox="0 0 16 16" aria-hidden="true">
              <rect x="4.5" y="4.5" width="7" height="7" rx="1.5" fill="currentColor" />
            </svg>
          </button>
        ) : (
          <button type="submit" className="ib main" aria-label={say("send")} title={say("send")} disabled={!canSend}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  )
}

interface ModelSelectProps {
  models: Model[]
  chosen: string
  onChange: (name: string) => void
}

function ModelSelect({ models, chosen, onChange }: ModelSelectProps) {
  const say = useSay()
  return (
    <Select
      className="btn quiet"
      aria-label={say("model")}
      value={chosen}
      options={[
        // No model is in force, or an assistant's own that is not there any more.
        ...(models.some(({ name }) => name === chosen) ? [] : [{ value: chosen, label: chosen || say("choose") }]),
        ...models.map(({ name, label }) => ({ value: name, label })),
      ]}
      onChange={onChange}
    />
  )
}
