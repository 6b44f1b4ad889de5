/** How one assistant is set up. What is changed is saved at once, and holds from the next turn on. */

import { Suspense, useCallback, useEffect, useRef, useState } from "react"

import { go, notify, refreshMe, report } from "../../services/app.ts"
import { part } from "../../services/parts.ts"
import { Saver } from "../../services/saver.ts"
import { useStore } from "../../services/store.ts"
import { ApiError } from "../../services/api.ts"
import type { AssistantDetails, AssistantPatch } from "../../wire/generated.ts"
import { changeAssistant, createAssistant, deleteAssistant, getAssistant, listModels } from "../../services/settings.ts"
import { Icon } from "../icons.tsx"
import { formatTime, useLocale } from "../language.tsx"
import { Ask } from "../settings/Ask.tsx"
import { Decisions } from "../settings/Decisions.tsx"
import { useLoaded } from "../settings/loaded.ts"
import { useWords } from "../settings/words.ts"
import type { Change } from "./change.ts"
import { Limits } from "./Limits.tsx"
import { ModelFields } from "./ModelFields.tsx"
import { Services } from "./Services.tsx"

const TryChat = part(() => import("./TryChat.tsx"))

export function Editor({ id }: { id: string }) {
  const words = useWords()
  const { value, isGone, set } = useLoaded(useCallback(() => getAssistant(id), [id]))
  if (isGone) return <div className="scroll empty">{words("notThere")}</div>
  if (value === null) return <div className="scroll" aria-busy="true" />
  return <OpenEditor details={value} onDetails={set} />
}

function OpenEditor({ details, onDetails }: { details: AssistantDetails; onDetails: (now: AssistantDetails) => void }) {
  const words = useWords()
  const locale = useLocale()
  const { value: models } = useLoaded(listModels)
  const [isTrying, setTrying] = useState(false)
  const [isDeleting, setDeleting] = useState(false)
  const { id } = details
  const draft = useDraft(details, onDetails)
  const { saver, name, generation } = draft
  const change: Change = (patch) => saver.change(patch)
  const shown = name || (details.isDefault ? words("defaultName") : id)

  const copy = async () => {
    await saver.flush()
    const made = await createAssistant(words("copyName", { name: shown }), id)
    await refreshMe()
    go({ screen: "assistants", assistantId: made.id })
  }
  const remove = async () => {
    await deleteAssistant(id, details.version)
    await refreshMe()
    notify(words("assistantDeleted", { name: shown }))
    go({ screen: "assistants", assistantId: "" })
  }
  return (
    <div className={isTrying ? "beside" : "beside alone"}>
      <div className="scroll">
        <div className="wide">
          <div className="page-head">
            <a className="ib" href="#/assistants" aria-label={words("back")}>
              <Icon name="back" />
            </a>
            <h1>{shown}</h1>
            <SavedChip saver={saver} locale={locale} />
            <span className="end" />
            <button type="button" className="btn quiet" onClick={() => void copy().catch(report)}>
              {words("duplicate")}
            </button>
            <button
              type="button"
              className="btn main"
              aria-expanded={isTrying}
              onClick={() => void saver.flush().then(() => setTrying(!isTrying))}
            >
              <Icon name="chat" small />
              {words("tryIt")}
            </button>
            <p>{words("editorHint")}</p>
          </div>
          <div className="split editor">
            <div className="stack">
              <section className="card box-in">
                <Wording draft={draft} placeholder={shown} />
                <ModelFields key={`m${generation}`} details={details} models={models} onChange={change} />
              </section>
              <section className="card" aria-label={words("limits")}>
                <h2>{words("limits")}</h2>
                <p className="hint pad">{words("limitsHint")}</p>
                <Limits key={`l${generation}`} details={details} onChange={change} />
              </section>
            </div>
            <div className="stack">
              <Services key={`s${generation}`} details={details} models={models} onChange={change} />
              <section className="card" aria-label={words("decisions")}>
                <h2>{words("decisions")}</h2>
                <p className="hint pad">{words("decisionsHint")}</p>
                <Decisions decisions={details.decisions} onForget={async () => onDetails(await getAssistant(id))} />
              </section>
              {!details.isDefault && (
                <button type="button" className="btn no start" onClick={() => setDeleting(true)}>
                  {words("deleteAssistant")}
                </button>
              )}
            </div>
          </div>
        </div>
      </div>
      {isTrying && (
        <Suspense>
          <TryChat key={id} assistantId={id} name={shown} onClose={() => setTrying(false)} />
        </Suspense>
      )}
      {isDeleting && (
        <Ask
          title={words("deleteAssistantAsk", { name: shown })}
          button={words("delete")}
          onConfirm={() => void remove().catch(report)}
          onClose={() => setDeleting(false)}
        >
          <p>{words("deleteAssistantText", { count: details.sessionCount })}</p>
          {details.isInConfig && <p>{words("deleteAssistantConfig")}</p>}
        </Ask>
      )}
    </div>
  )
}

/** What is typed, and the saver that takes it. */
interface Draft {
  saver: Saver<Omit<AssistantPatch, "version">, AssistantDetails>
  name: string
  instructions: string
  setName: (name: string) => void
  setInstructions: (instructions: string) => void
  /** Fields keep what is typed in them; after a refusal they are drawn anew. */
  generation: number
}

function useDraft(details: AssistantDetails, onDetails: (now: AssistantDetails) => void): Draft {
  const words = useWords()
  const { id } = details
  const [name, setName] = useState(details.name)
  const [instructions, setInstructions] = useState(details.instructions)
  const [generation, setGeneration] = useState(0)
  const wordsNow = useRef(words)
  wordsNow.current = words
  // One for as long as the assistant is open: its versions follow each other.
  const [saver] = useState(
    () =>
      new Saver<Omit<AssistantPatch, "version">, AssistantDetails>(
        details.version,
        (patch) => changeAssistant(id, patch),
        (answer) => {
          onDetails(answer)
          void refreshMe()
        },
        (error) => {
          if (!(error instanceof ApiError)) return report(error)
          notify(error.status === 409 ? wordsNow.current("changedElsewhere") : error.message, { isError: true })
          void getAssistant(id).then((now) => {
            onDetails(now)
            setName(now.name)
            setInstructions(now.instructions)
            saver.restart(now.version)
            setGeneration((number) => number + 1)
          }, report)
        },
      ),
  )
  useEffect(() => () => void saver.flush(), [saver])
  return { saver, name, instructions, setName, setInstructions, generation }
}

/** The fields that are only words: the name and the instructions. */
function Wording({ draft, placeholder }: { draft: Draft; placeholder: string }) {
  const words = useWords()
  const locale = useLocale()
  const { saver, name, instructions, setName, setInstructions } = draft
  return (
    <>
      <div className="field">
        <label htmlFor="assistant-name">{words("assistantName")}</label>
        <input
          id="assistant-name"
          className="input"
          value={name}
          placeholder={placeholder}
          maxLength={200}
          onChange={(event) => {
            setName(event.target.value)
            if (event.target.value.trim() !== "") saver.change({ name: event.target.value })
          }}
        />
      </div>
      <div className="field">
        <label htmlFor="assistant-instructions">{words("instructions")}</label>
        <textarea
          id="assistant-instructions"
          className="input"
          rows={9}
          value={instructions}
          maxLength={90_000}
          onChange={(event) => {
            setInstructions(event.target.value)
            saver.change({ instructions: event.target.value })
          }}
        />
        <p className="hint">{words("instructionsHint", { count: instructions.length.toLocaleString(locale) })}</p>
      </div>
    </>
  )
}

function SavedChip({ saver, locale }: { saver: Pick<Saver<object, AssistantDetails>, "store">; locale: "en" | "ko" }) {
  const words = useWords()
  const { status, savedAt } = useStore(saver.store)
  if (status === "saved" && savedAt === 0) return null
  return (
    <span className={`chip ${status === "saved" ? "ok" : status === "failed" ? "bad" : "line"}`} role="status">
      {status === "saved" && <Icon name="tick" small />}
      {status === "saving"
        ? words("saving")
        : status === "failed"
          ? words("notSaved")
          : words("saved", { time: formatTime(new Date(savedAt).toISOString(), locale) })}
    </span>
  )
}
