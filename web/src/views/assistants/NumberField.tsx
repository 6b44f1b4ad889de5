/** A number that may be left out. What is no number within its bounds is kept in the field and not told. */

import { useId, useState } from "react"

import { isTaken } from "../../core/fields.ts"

interface Props {
  label: string
  hint?: string
  value: number | null
  min: number
  max?: number
  step?: number
  placeholder?: string
  /** An empty field is not taken: it has to have a number. */
  isRequired?: boolean
  onChange: (value: number | null) => void
}

export function NumberField({ label, hint, value, min, max, step = 1, placeholder, isRequired, onChange }: Props) {
  const id = useId()
  const [text, setText] = useState(value === null ? "" : String(value))
  const isWrong = !isTaken(text, min, max, step) || (text === "" && isRequired === true)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input num"
        inputMode={step < 1 ? "decimal" : "numeric"}
        value={text}
        placeholder={placeholder}
        aria-invalid={isWrong}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => {
          const now = event.target.value.trim()
          setText(now)
          if (!isTaken(now, min, max, step) || (now === "" && isRequired)) return
          onChange(now === "" ? null : Number(now))
        }}
      />
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
    </div>
  )
}
