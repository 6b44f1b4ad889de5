/** The fields of a tool, with the schema's own words and bounds. */

import { useId } from "react"

import type { Entries, Entry, FormField, Problem } from "../core/schema.ts"
import type { Say } from "../texts.ts"
import { Icon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"
import { Select } from "./Select.tsx"

const MAX_SEGMENTS = 5

interface Props {
  fields: FormField[]
  entries: Entries
  problems: Record<string, Problem>
  onChange: (name: string, entry: Entry) => void
}

export function SchemaForm({ fields, entries, problems, onChange }: Props) {
  return fields.map((field) => (
    <Field
      key={field.name}
      field={field}
      entry={entries[field.name] ?? ""}
      problem={problems[field.name]}
      onChange={(entry) => onChange(field.name, entry)}
    />
  ))
}

interface FieldProps {
  field: FormField
  entry: Entry
  problem: Problem | undefined
  onChange: (entry: Entry) => void
}

function Field({ field, entry, problem, onChange }: FieldProps) {
  const say = useSay()
  const locale = useLocale()
  const id = useId()
  const hint = problem === undefined ? hintOf(field, say) : problemOf(problem, field, say)
  return (
    <div className="field" role="group" aria-labelledby={`${id}-label`}>
      <label htmlFor={id} id={`${id}-label`}>
        <span>{field.name}</span>{" "}
        {field.isRequired ? <span className="must">*</span> : <span className="hint">{say("optional")}</span>}
      </label>
      <Control field={field} entry={entry} id={id} isBad={problem !== undefined} onChange={onChange} />
      {field.description !== "" && locale === "en" && <p className="hint">{field.description}</p>}
      {hint !== "" && (
        <p className={`hint ${problem === undefined ? "" : "bad"}`} id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface ControlProps {
  field: FormField
  entry: Entry
  id: string
  isBad: boolean
  onChange: (entry: Entry) => void
}

function Control({ field, entry, id, isBad, onChange }: ControlProps) {
  const say = useSay()
  const text = Array.isArray(entry) ? "" : entry
  const common = { id, "aria-invalid": isBad, "aria-describedby": `${id}-hint`, className: "input" }
  const placeholder = field.default === undefined || field.default === null ? "" : String(field.default)
  switch (field.kind) {
    case "choice":
    case "boolean": {
      if (field.kind === "choice" && field.options.length <= MAX_SEGMENTS)
        return <Segments field={field} entry={text} onChange={onChange} />
      const options =
        field.kind === "choice"
          ? field.options.map((one) => ({ value: one, label: one }))
          : [
              { value: "true", label: say("yes") },
              { value: "false", label: say("no") },
            ]
      return (
        <Select
          {...common}
          value={text}
          options={[{ value: "", label: say("notSet") }, ...options]}
          onChange={onChange}
        />
      )
    }
    case "texts":
      return <Texts field={field} entry={Array.isArray(entry) ? entry : []} id={id} onChange={onChange} />
    case "number":
    case "integer":
      return (
        <input
          {...common}
          inputMode="decimal"
          value={text}
          placeholder={placeholder}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    default: {
      const rows = field.kind === "json" ? 4 : field.isLong ? 2 : 1
      if (rows === 1)
        return (
          <input
            {...common}
            value={text}
            placeholder={placeholder}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      const className = field.kind === "json" ? "input mono" : "input"
      return (
        <textarea
          {...common}
          className={className}
          rows={rows}
          value={text}
          placeholder={placeholder}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    }
  }
}

/** Few choices are all seen at once; pressing the chosen one again leaves it open. */
function Segments({ field, entry, onChange }: { field: FormField; entry: string; onChange: (entry: string) => void }) {
  return (
    <div className="seg" role="group" aria-label={field.name}>
      {field.options.map((option) => (
        <button
          key={option}
          type="button"
          aria-pressed={entry === option}
          onClick={() => onChange(entry === option ? "" : option)}
        >
          {option}
        </button>
      ))}
    </div>
  )
}

function Texts({
  field,
  entry,
  id,
  onChange,
}: {
  field: FormField
  entry: string[]
  id: string
  onChange: (entry: string[]) => void
}) {
  const say = useSay()
  const rows = entry.length === 0 ? [""] : entry
  return (
    <div className="opts">
      {rows.map((row, index) => (
        <div key={index} className="row">
          <input
            id={index === 0 ? id : undefined}
            className="input"
            aria-label={`${field.name} ${index + 1}`}
            value={row}
            onChange={(event) => onChange(rows.with(index, event.target.value))}
          />
          <button
            type="button"
            className="ib"
            aria-label={`${say("remove")}: ${field.name} ${index + 1}`}
            onClick={() => onChange(rows.toSpliced(index, 1))}
          >
            <Icon name="cross" />
          </button>
        </div>
      ))}
      <button type="button" className="btn quiet starts" onClick={() => onChange([...rows, ""])}>
        <Icon name="plus" small />
        {say("addItem")}
      </button>
    </div>
  )
}

function hintOf({ kind, min, max }: FormField, say: Say): string {
  if (kind === "text") return max === undefined ? "" : say("textLength", { max: max.toLocaleString() })
  if (kind !== "number" && kind !== "integer") return ""
  return rangeOf(min, max, say)
}

function rangeOf(min: number | undefined, max: number | undefined, say: Say): string {
  if (min !== undefined && max !== undefined)
    return say("between", { min: min.toLocaleString(), max: max.toLocaleString() })
  if (min !== undefined) return say("atLeast", { min: min.toLocaleString() })
  return max === undefined ? "" : say("atMost", { max: max.toLocaleString() })
}

function problemOf(problem: Problem, field: FormField, say: Say): string {
  return problem === "between"
    ? field.kind === "text"
      ? hintOf(field, say)
      : rangeOf(field.min, field.max, say)
    : say(problem)
}
