/** One thing that was said: the person's words, an answer with its calls and pages, a note, the answer to come. */

import { Component, type ReactNode, Suspense, memo, useEffect, useState } from "react"

import type { CallState, MessageItem, NoteItem } from "../core/items.ts"
import { INCOMPLETE, type Talk as TalkState } from "../core/talk.ts"
import { part } from "../services/parts.ts"
import type { InboxItem } from "../wire/types.ts"
import { Boundary } from "./Boundary.tsx"
import { Calls } from "./Calls.tsx"
import { Icon, Mark, type IconName } from "./icons.tsx"
import { formatSeconds, formatTime, useLocale, useSay } from "./language.tsx"
import { Question } from "./Question.tsx"
import type { TalkActions } from "./talkActions.ts"

const Markdown = part(() => import("./Markdown.tsx"))
const PageView = part(() => import("./PageView.tsx"))

function By({ name, at }: { name: string; at: string }) {
  const locale = useLocale()
  return (
    <div className="by">
      <span className="who agent">
        <Mark />
      </span>
      <span>{name}</span>
      <span className="soft xs num">{formatTime(at, locale)}</span>
    </div>
  )
}

export const OwnMessage = memo(function OwnMessage({ item, actions }: { item: MessageItem; actions: TalkActions }) {
  const say = useSay()
  return (
    <div className="turn own" data-row={item.id}>
      <div className="me">
        {item.text}
        {item.images.map((image, index) => (
          <img key={index} src={image.src} alt={image.alt} />
        ))}
        {item.files.length > 0 && (
          <ul className="attached">
            {item.files.map(({ contentId, name }) => (
              <li key={contentId} className="chip line">
                <Icon name="page" small />
                <span className="cut">{name}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      <div className="acts end">
        <CopyButton text={item.text} />
        <Act icon="edit" label={say("edit")} onPress={() => actions.edit(item)} />
      </div>
    </div>
  )
})

interface AnswerProps {
  items: MessageItem[]
  calls: CallState[]
  /** Of its calls, those that are open. */
  questions: InboxItem[]
  isFirst: boolean
  /** It is being written. */
  isLive: boolean
  /** The turn has ended with it. */
  isEnd: boolean
  assistant: string
  actions: TalkActions
}

const sameList = (a: readonly unknown[], b: readonly unknown[]) =>
  a.length === b.length && a.every((one, index) => Object.is(one, b[index]))

/** While an answer streams, those before it are not drawn again. */
export const Answer = memo(AnswerView, (before, after) => {
  const { items, calls, questions, ...rest } = before
  return (
    sameList(items, after.items) &&
    sameList(calls, after.calls) &&
    sameList(questions, after.questions) &&
    Object.entries(rest).every(([name, value]) => Object.is(value, after[name as keyof AnswerProps]))
  )
})

function AnswerView({ items, calls, questions, isFirst, isLive, isEnd, assistant, actions }: AnswerProps) {
  const say = useSay()
  const item = items[0]!
  const last = items.at(-1)!
  return (
    <div className={`turn ${isFirst ? "" : "more"}`} data-row={item.id}>
      {isFirst && item.role === "assistant" && <By name={assistant} at={item.at || new Date().toISOString()} />}
      {item.role === "summary" && <p className="label">{say("summary")}</p>}
      {/* Open while it is written if the person opened it, and closed afterwards. */}
      {item.thinking !== "" && <Thinking key={isLive ? "live" : "whole"} item={item} />}
      {item.text !== "" && (
        <div className={isLive ? "live" : ""}>
          <Prose text={item.text} isStreaming={isLive} />
        </div>
      )}
      {item.isCut && (
        <p className="hint">
          <Icon name="stop" small /> {say("cutHere")}
        </p>
      )}
      {item.isTruncated && (
        <p className="hint">
          <Icon name="warning" small /> {say("cutOff")}
        </p>
      )}
      {calls.length > 0 && <Calls calls={calls} isEnd={isEnd} />}
      {calls.map((call) => (
        <CallPage key={call.id} call={call} question={questions.find(({ id }) => id === call.pauseId)} />
      ))}
      {item.role === "assistant" && item.text !== "" && !isLive && (
        <div className="acts">
          <CopyButton text={item.text} />
          <Act icon="again" label={say("again")} onPress={() => actions.again(item.id)} />
          {!item.isCut && <Act icon="fork" label={say("fork")} onPress={() => actions.fork(last)} />}
        </div>
      )}
    </div>
  )
}

/** The page that a call shows; an open question without one is asked by the host itself. */
function CallPage({ call, question }: { call: CallState; question: InboxItem | undefined }) {
  if (call.viewId !== "") {
    return (
      <Boundary place={call.viewId}>
        <Suspense fallback={<div className="card view starting" />}>
          <PageView
            viewId={call.viewId}
            tool={call.tool}
            isWaiting={question !== undefined}
            expiresAt={question?.expiresAt ?? ""}
            fallbackText={call.text}
            pauseId={call.pauseId}
          />
        </Suspense>
      </Boundary>
    )
  }
  return question && question.type !== "approval" ? <Question item={question} /> : null
}

/** Before the first word of an answer. */
export function ThinkingAnswer({ talk, assistant, isFirst }: { talk: TalkState; assistant: string; isFirst: boolean }) {
  const say = useSay()
  const { run } = talk
  if (run.state !== "running") return null
  return (
    <div className={`turn ${isFirst ? "" : "more"}`}>
      {isFirst && <By name={assistant} at={new Date().toISOString()} />}
      {run.retry !== null ? (
        <div className="note" role="status">
          <span className="spin" />
          {say("retrying", { attempt: run.retry.attempt })}
        </div>
      ) : (
        <ThinkingNow key={talk.lastSeq} text={talk.draft?.thinking.text ?? ""} />
      )}
    </div>
  )
}

/** One line with its seconds; screen readers are told once. What is thought is drawn for whoever opens it. */
function ThinkingNow({ text }: { text: string }) {
  const say = useSay()
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setSeconds((now) => now + 1), 1000)
    return () => clearInterval(timer)
  }, [])
  const [isOpen, setOpen] = useState(false)
  const line = (
    <>
      <span className="spin" />
      <span role="status">{say("thinkingNow")}</span>
      {seconds > 0 && (
        <span className="num" aria-hidden="true">
          · {say("seconds", { seconds })}
        </span>
      )}
    </>
  )
  if (text === "") {
    return (
      <p className="think">
        <span className="row">{line}</span>
      </p>
    )
  }
  return (
    <details className="think" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{line}</summary>
      {isOpen && <p className="plain">{text}</p>}
    </details>
  )
}

/** Until the Markdown part has come, the text as it is. */
export function Prose({ text, isStreaming }: { text: string; isStreaming: boolean }) {
  return (
    <PlainOnError text={text}>
      <Suspense fallback={<div className="prose plain">{text}</div>}>
        <Markdown text={text} isStreaming={isStreaming} />
      </Suspense>
    </PlainOnError>
  )
}

function Thinking({ item }: { item: MessageItem }) {
  const say = useSay()
  const locale = useLocale()
  return (
    <details className="think">
      <summary>
        <Icon name="chevron" small className="chev" />
        {item.thoughtMs === null
          ? say("thought")
          : say("thoughtFor", { seconds: formatSeconds(item.thoughtMs, locale) })}
      </summary>
      <p className="plain">{item.thinking}</p>
    </details>
  )
}

interface NoteProps {
  note: NoteItem
  /** Nothing of the answer stands before it. */
  isFirst: boolean
  assistant: string
  actions: TalkActions
}

export function Note({ note, isFirst, assistant, actions }: NoteProps) {
  const say = useSay()
  switch (note.note) {
    case "failed":
      return (
        <div className={isFirst ? "turn" : "turn more"} data-row={note.id}>
          {isFirst && <By name={assistant} at={note.at || new Date().toISOString()} />}
          <div className="note bad" role="alert">
            <Icon name="warning" small />
            <span className="grow">
              <b>{note.text}</b>
              <br />
              {say(note.code === INCOMPLETE ? "runIncomplete" : "runFailed")}
            </span>
          </div>
          <div className="row wraps">
            <button type="button" className="btn main" onClick={() => actions.again(note.id)}>
              <Icon name="again" small />
              {say("tryAgain")}
            </button>
            <a className="btn" href="#/settings">
              {say("otherModel")}
            </a>
          </div>
          {note.code !== "" && (
            <details className="think">
              <summary>
                <Icon name="chevron" small className="chev" />
                {say("details")}
              </summary>
              <p>
                <code>{note.code}</code> · <a href="#/settings/look">{say("makeReport")}</a>
              </p>
            </details>
          )}
        </div>
      )
    case "cancelled":
      return (
        <div className="turn more" data-row={note.id}>
          <div className="row">
            <span className="chip">{say("stopped")}</span>
            <button type="button" className="btn quiet" onClick={() => actions.again(note.id)}>
              {say("tryAgain")}
            </button>
          </div>
        </div>
      )
    case "mend":
      return (
        <div className="turn more" data-row={note.id}>
          <p className="hint">
            <Icon name="again" small /> {note.text}
          </p>
        </div>
      )
    case "model":
      return (
        <div className="turn more" data-row={note.id}>
          <div className="note" role="status">
            <Icon name="again" small />
            <span className="grow plain">{note.text}</span>
          </div>
        </div>
      )
    default:
      return (
        <div className="turn more" data-row={note.id}>
          <details className="think">
            <summary>
              <Icon name="hand" small />
              {say(note.note === "action" ? "actionBeside" : "answeredLate")}
            </summary>
            <p className="plain">{note.text}</p>
          </details>
        </div>
      )
  }
}

function Act({ icon, label, onPress }: { icon: IconName; label: string; onPress: () => void }) {
  return (
    <button type="button" className="ib" aria-label={label} title={label} onClick={onPress}>
      <Icon name={icon} />
    </button>
  )
}

function CopyButton({ text }: { text: string }) {
  const say = useSay()
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return <Act icon={isCopied ? "tick" : "copy"} label={say(isCopied ? "copied" : "copy")} onPress={() => void copy()} />
}

/** An answer that cannot be drawn stands as it is: it must not take the chat down, now and at each reload. */
class PlainOnError extends Component<{ text: string; children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override render() {
    return this.state.hasFailed ? <div className="prose plain">{this.props.text}</div> : this.props.children
  }
}
