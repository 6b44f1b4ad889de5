/**
 * A choice of the system's own, with our arrow; no other file draws a `select`.
 *
 * It never shows what is not so: a browser draws the first option in place of a value that has none, so that such a value
 * is drawn as nothing chosen. That is a mistake of whoever uses it, and is told as one while the front end is developed.
 */

import type { ComponentProps } from "react"

import { Icon } from "./icons.tsx"
import { useSay } from "./language.tsx"

export interface Option {
  value: string
  label: string
}

interface Props extends Omit<ComponentProps<"select">, "value" | "onChange" | "children" | "multiple"> {
  value: string
  options: readonly Option[]
  onChange: (value: string) => void
}

export function Select({ className, value, options, onChange, ...rest }: Props) {
  const say = useSay()
  const isThere = options.some((option) => option.value === value)
  if (!isThere && process.env.NODE_ENV !== "production")
    console.error(`A Select has no option for its value ${JSON.stringify(value)}.`)
  return (
    <span className="pick-frame">
      <select
        className={`pick ${className}`}
        {...rest}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        {!isThere && (
          <option value={value} hidden disabled>
            {say("choose")}
          </option>
        )}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <Icon name="down" small />
    </span>
  )
}
