/** A question, a choice or a wait, in the host's own form: in the inbox, and in the talk where no page asks it. */

import { useState, type FormEvent, type ReactNode } from "react"

import { openFeed } from "../services/app.ts"
import { settleItem } from "../services/settling.ts"
import type { InboxItem, Settlement } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { askerOf, formatLeft, useLocale, useSay } from "./language.tsx"

interface Props {
  item: InboxItem
  /** In the inbox: whose it is, and the way to its session. */
  meta?: string
  link?: ReactNode
  children?: ReactNode
}

export function Question({ item, meta, link, children }: Props) {
  const say = useSay()
  const locale = useLocale()
  const [text, setText] = useState("")
  const [values, setValues] = useState<string[]>([])
  const [isBusy, setBusy] = useState(false)

  const send = async (settlement: Settlement) => {
    setBusy(true)
    await settleItem(item, settlement)
    setBusy(false)
  }
  const settlement = settlementOf(item, text, values)
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (settlement !== null && !isBusy) void send(settlement)
  }
  const left = formatLeft(item.expiresAt, locale)
  const about = meta ?? [askerOf(item, say), left && say("timeLeft", { time: left })].filter(Boolean).join(" · ")

  return (
    <section className="card view waiting" aria-label={say("question")} id={`pause-${item.id}`}>
      <div className="bar-top">
        <Icon name={item.type === "wait" ? "hand" : "question"} small />
        <b>{say(item.type === "wait" ? "waitTitle" : "question")}</b>
        <span className="soft xs cut grow">{about}</span>
        {link ?? (
          <span className="chip wait">
            <span className="dot" />
            {say("yourTurn")}
          </span>
        )}
      </div>
      <form className="box-in" onSubmit={onSubmit}>
        <h2>{item.type === "model" ? say("yourModelTurn") : item.text || item.title}</h2>
        <Field item={item} text={text} setText={setText} values={values} setValues={setValues} />
        <div className="row wraps">
          <button type="submit" className="btn main lg" disabled={settlement === null || isBusy}>
            {say(item.type === "wait" ? "goOn" : item.type === "model" ? "sayAsModel" : "send")}
          </button>
          {item.type === "model" && (
            <a className="btn lg" href="#/manual" onClick={() => openFeed(item.sessionId)}>
              <Icon name="tools" small />
              {say("callAsModel")}
            </a>
          )}
          {item.canDecline && (
            <button
              type="button"
              className="btn quiet lg"
              disabled={isBusy}
              onClick={() => void send({ decline: true })}
            >
              {say("dontAnswer")}
            </button>
          )}
          {link && (
            <span className="hint end hide-phone">
              <kbd className="kbd">J</kbd> <kbd className="kbd">K</kbd> {say("nextPrevious")}
            </span>
          )}
        </div>
        {children}
      </form>
    </section>
  )
}

interface FieldProps {
  item: InboxItem
  text: string
  setText: (text: string) => void
  values: string[]
  setValues: (values: string[]) => void
}

function Field({ item, text, setText, values, setValues }: FieldProps) {
  const say = useSay()
  switch (item.type) {
    case "text":
    case "model":
      return (
        <textarea
          className="input"
          rows={3}
          aria-label={say("yourAnswer")}
          placeholder={item.hint}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && !event.nativeEvent.isComposing) {
              event.currentTarget.form?.requestSubmit()
            }
          }}
        />
      )
    case "select":
    case "choice":
    case "multiselect":
      return (
        <>
          <Options item={item} values={values} setValues={setValues} />
          {item.leftOut > 0 && <p className="hint">{say("leftOut", { count: item.leftOut })}</p>}
        </>
      )
    default:
      return item.hint === "" ? null : <p className="hint">{item.hint}</p>
  }
}

function Options({ item, values, setValues }: Pick<FieldProps, "item" | "values" | "setValues">) {
  const isMany = item.type === "multiselect"
  const choose = (value: string, isOn: boolean) =>
    setValues(isMany ? (isOn ? [...values, value] : values.filter((one) => one !== value)) : [value])
  return (
    <div className="opts" role={isMany ? "group" : "radiogroup"} aria-label={item.text || item.title}>
      {item.choices.map(({ value, label }) => (
        <label key={value} className={`opt ${isMany ? "many" : ""} ${values.includes(value) ? "on" : ""}`}>
          <input
            type={isMany ? "checkbox" : "radio"}
            name={`answer-${item.id}`}
            checked={values.includes(value)}
            onChange={(event) => choose(value, event.target.checked)}
          />
          <span className="tick" />
          {label}
        </label>
      ))}
    </div>
  )
}

/** What sending would say; null while there is nothing to send. */
function settlementOf(item: InboxItem, text: string, values: string[]): Settlement | null {
  switch (item.type) {
    case "text":
      return text.trim() === "" ? null : { answer: text }
    case "model":
      return text.trim() === "" ? null : { say: text }
    case "select":
    case "choice":
      return values[0] === undefined ? null : { answer: values[0] }
    case "multiselect":
      return values.length === 0 ? null : { answer: values }
    case "wait":
      return { answer: "" }
    case "approval":
      return null
  }
}
