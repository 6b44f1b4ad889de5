/** The form of a tool, from its schema or as JSON, and the call that it makes. */

import { useMemo, useState, type ReactNode } from "react"

import { report } from "../services/app.ts"
import { argumentsOf, entriesOf, fieldsOf, type Entries, type FormField, type Problem } from "../core/schema.ts"
import { deedOf, doesPause } from "../texts.ts"
import type { Tool } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { COMMAND_KEY, useLocale, useSay } from "./language.tsx"
import { SchemaForm } from "./SchemaForm.tsx"

interface ToolFormProps {
  tool: Tool
  /** What stands above the fields: what becomes of a call here. */
  note: ReactNode
  values: Record<string, unknown>
  /** The last call is still being made. */
  isPending: boolean
  onCall: (values: Record<string, unknown>) => Promise<void>
}

export function ToolForm({ tool, note, values: first, isPending, onCall }: ToolFormProps) {
  const say = useSay()
  const fields = useMemo(() => fieldsOf(tool.inputSchema), [tool])
  const [entries, setEntries] = useState<Entries>(() => entriesOf(fields, first))
  const [problems, setProblems] = useState<Record<string, Problem>>({})
  const [json, setJson] = useState<string | null>(null)
  const [isSending, setSending] = useState(false)
  const isBusy = isSending || isPending

  const call = async (values: Record<string, unknown>) => {
    setSending(true)
    try {
      await onCall(values)
    } catch (error) {
      report(error)
    } finally {
      setSending(false)
    }
  }
  const submit = () => {
    if (isBusy) return
    if (json !== null) {
      const values = parseObject(json)
      setProblems(values === null ? { "": "badJson" } : {})
      if (values !== null) void call(values)
      return
    }
    const made = argumentsOf(fields, entries)
    setProblems(made.problems)
    if (Object.keys(made.problems).length === 0) void call(made.values)
  }
  const toggleJson = () => {
    const values = json === null ? null : parseObject(json)
    if (json === null) setJson(JSON.stringify(argumentsOf(fields, entries).values, null, 2))
    else if (values === null) setProblems({ "": "badJson" })
    else {
      setEntries(entriesOf(fields, values))
      setProblems({})
      setJson(null)
    }
  }
  return (
    <section aria-label={say("arguments")}>
      <form
        className="box-in"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.nativeEvent.isComposing || !(event.metaKey || event.ctrlKey)) return
          event.preventDefault()
          submit()
        }}
      >
        <div>
          <div className="row">
            <h2 className="mono">{tool.name}</h2>
            {doesPause(tool.name) && <span className="chip wait">{say("pausesAgent")}</span>}
          </div>
          <About tool={tool} fields={fields} />
        </div>
        {note}
        {json === null ? (
          <SchemaForm
            fields={fields}
            entries={entries}
            problems={problems}
            onChange={(name, entry) => setEntries({ ...entries, [name]: entry })}
          />
        ) : (
          <div className="field">
            <textarea
              className="input mono"
              rows={10}
              aria-label={say("arguments")}
              value={json}
              onChange={(event) => setJson(event.target.value)}
            />
            {problems[""] && <p className="hint bad">{say("badJson")}</p>}
          </div>
        )}
        <div className="row wraps">
          <button type="submit" className="btn main lg" disabled={isBusy}>
            <Icon name="play" small />
            {say(isBusy ? "calling" : "call")}
          </button>
          <button type="button" className="btn quiet lg" onClick={toggleJson}>
            {say(json === null ? "asJson" : "asForm")}
          </button>
          <span className="hint end hide-phone">
            <kbd className="kbd">{COMMAND_KEY.trim()}</kbd>
            <kbd className="kbd">↵</kbd>
          </span>
        </div>
      </form>
    </section>
  )
}

/** What the tool is for. The words of its schema are an agent's, and English: beside Korean they are shown when wanted. */
function About({ tool, fields }: { tool: Tool; fields: FormField[] }) {
  const say = useSay()
  const locale = useLocale()
  if (locale === "en") return <p className="small about">{tool.description}</p>
  return (
    <>
      <p className="small about">{deedOf(tool.name, locale)}</p>
      <details className="think">
        <summary>
          <Icon name="chevron" small className="chev" />
          {say("agentsWords")}
        </summary>
        <p lang="en">{tool.description}</p>
        {fields.map(
          ({ name, description }) =>
            description !== "" && (
              <p key={name} lang="en">
                <b>{name}</b> {description}
              </p>
            ),
        )}
      </details>
    </>
  )
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
