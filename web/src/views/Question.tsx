/** A question, a choice or a wait, in the host's own form: in the inbox, and in the talk where no page asks it. */

import { useState, type FormEvent } from "react"
import { Checkbox, CheckboxGroup, Radio, RadioGroup } from "react-aria-components"

import { settleItem } from "../state/app.ts"
import type { InboxItem, Settlement } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { askerOf, formatLeft, useLocale, useSay } from "./language.tsx"

export function Question({ item, onSettled }: { item: InboxItem; onSettled?: () => void }) {
  const say = useSay()
  const locale = useLocale()
  const [text, setText] = useState("")
  const [values, setValues] = useState<string[]>([])
  const [isBusy, setBusy] = useState(false)

  const send = async (settlement: Settlement) => {
    setBusy(true)
    const isSettled = await settleItem(item, settlement)
    setBusy(false)
    if (isSettled) onSettled?.()
  }
  const settlement = settlementOf(item, text, values)
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (settlement !== null && !isBusy) void send(settlement)
  }
  const left = formatLeft(item.expiresAt, locale)

  return (
    <section className="card view waiting" aria-label={say("question")} id={`pause-${item.id}`}>
      <div className="bar-top">
        <Icon name={item.type === "wait" ? "hand" : "question"} small />
        <b>{say("question")}</b>
        <span className="soft xs cut grow">
          {[askerOf(item, say), left && say("timeLeft", { time: left })].filter(Boolean).join(" · ")}
        </span>
        <span className="chip wait">
          <span className="dot" />
          {say("yourTurn")}
        </span>
      </div>
      <form className="box-in" onSubmit={onSubmit}>
        <h2>{item.type === "model" ? say("yourModelTurn") : item.text || item.title}</h2>
        <Field item={item} text={text} setText={setText} values={values} setValues={setValues} />
        <div className="row wraps">
          <button type="submit" className="btn main lg" disabled={settlement === null || isBusy}>
            {say(item.type === "wait" ? "goOn" : item.type === "model" ? "sayAsModel" : "send")}
          </button>
          {item.type !== "wait" && item.type !== "model" && (
            <button
              type="button"
              className="btn quiet lg"
              disabled={isBusy}
              onClick={() => void send({ decline: true })}
            >
              {say("dontAnswer")}
            </button>
          )}
        </div>
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
      return (
        <RadioGroup
          className="opts"
          aria-label={item.text || item.title}
          value={values[0] ?? null}
          onChange={(value) => setValues([value])}
        >
          {item.choices.map(({ value, label }) => (
            <Radio key={value} value={value} className={({ isSelected }) => `opt ${isSelected ? "on" : ""}`}>
              <span className="tick" />
              {label}
            </Radio>
          ))}
        </RadioGroup>
      )
    case "multiselect":
      return (
        <CheckboxGroup className="opts" aria-label={item.text || item.title} value={values} onChange={setValues}>
          {item.choices.map(({ value, label }) => (
            <Checkbox key={value} value={value} className={({ isSelected }) => `opt many ${isSelected ? "on" : ""}`}>
              <span className="tick" />
              {label}
            </Checkbox>
          ))}
        </CheckboxGroup>
      )
    default:
      return item.hint === "" ? null : <p className="hint">{item.hint}</p>
  }
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
