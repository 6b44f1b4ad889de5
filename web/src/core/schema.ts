/** A form from a JSON schema: which fields it has, what stands in them, and the arguments they make. Pure. */

import type { JsonSchema } from "../wire/types.ts"

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "texts" | "json"

export interface FormField {
  name: string
  kind: FieldKind
  isRequired: boolean
  description: string
  /** Of a choice. */
  options: string[]
  default: unknown
  min: number | undefined
  max: number | undefined
  isLong: boolean
}

/** What stands in a field: a text, or a list of them. Empty is left out. */
export type Entry = string | string[]
export type Entries = Readonly<Record<string, Entry>>
export type Problem = "required" | "badJson" | "badNumber" | "between"

/** From this length on a text gets several lines. */
const LONG_TEXT_CHARS = 300

export function fieldsOf(schema: JsonSchema): FormField[] {
  const required = new Set(schema.required ?? [])
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    fieldOf(name, resolve(property, schema), required.has(name)),
  )
  return [...fields.filter(({ isRequired }) => isRequired), ...fields.filter(({ isRequired }) => !isRequired)]
}

function fieldOf(name: string, schema: JsonSchema, isRequired: boolean): FormField {
  const kind = kindOf(schema)
  const isText = kind === "text"
  return {
    name,
    kind,
    isRequired,
    description: schema.description ?? "",
    options: (schema.enum ?? []).map(String),
    default: schema.default,
    min: isText ? schema.minLength : schema.minimum,
    max: isText ? schema.maxLength : schema.maximum,
    isLong: isText && (schema.maxLength ?? Infinity) >= LONG_TEXT_CHARS,
  }
}

function kindOf(schema: JsonSchema): FieldKind {
  if (schema.enum?.every((one) => typeof one === "string")) return "choice"
  switch (schema.type) {
    case "string":
      return "text"
    case "integer":
    case "number":
    case "boolean":
      return schema.type
    case "array":
      return schema.items?.type === "string" ? "texts" : "json"
    default:
      return "json"
  }
}

/** Follow references within the document, and look through "or null". */
function resolve(schema: JsonSchema, root: JsonSchema, depth = 0): JsonSchema {
  if (depth > 8) return {}
  const name = schema.$ref?.match(/^#\/\$defs\/(.+)$/)?.[1]
  const target = name === undefined ? undefined : root.$defs?.[name]
  if (target) return { ...resolve(target, root, depth + 1), ...withoutRef(schema) }
  const others = (schema.anyOf ?? schema.oneOf ?? []).filter(({ type }) => type !== "null")
  if (others.length === 1) {
    const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema
    return { ...resolve(others[0]!, root, depth + 1), ...rest }
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null")
    return types.length === 1 ? { ...schema, type: types[0]! } : schema
  }
  return schema
}

function withoutRef({ $ref: _ref, ...rest }: JsonSchema): JsonSchema {
  return rest
}

/** Make the arguments of a call. What is left empty is left out: the tool has defaults of its own. */
export function argumentsOf(
  fields: FormField[],
  entries: Entries,
): { values: Record<string, unknown>; problems: Record<string, Problem> } {
  const values: Record<string, unknown> = {}
  const problems: Record<string, Problem> = {}
  for (const field of fields) {
    const entry = entries[field.name] ?? ""
    const isEmpty = Array.isArray(entry) ? entry.every((one) => one === "") : entry === ""
    if (isEmpty) {
      if (field.isRequired) problems[field.name] = "required"
      continue
    }
    const result = valueOf(field, entry)
    if ("problem" in result) problems[field.name] = result.problem
    else values[field.name] = result.value
  }
  return { values, problems }
}

function valueOf(field: FormField, entry: Entry): { value: unknown } | { problem: Problem } {
  if (Array.isArray(entry)) return { value: entry.filter((one) => one !== "") }
  switch (field.kind) {
    case "number":
    case "integer":
      return numberOf(field, entry)
    case "boolean":
      return { value: entry === "true" }
    case "json":
      try {
        return { value: JSON.parse(entry) as unknown }
      } catch {
        return { problem: "badJson" }
      }
    case "text": {
      const length = [...entry].length
      return length > (field.max ?? Infinity) || length < (field.min ?? 0) ? { problem: "between" } : { value: entry }
    }
    default:
      return { value: entry }
  }
}

function numberOf({ kind, min, max }: FormField, entry: string): { value: number } | { problem: Problem } {
  const value = Number(entry)
  if (!Number.isFinite(value) || (kind === "integer" && !Number.isInteger(value))) return { problem: "badNumber" }
  return value < (min ?? -Infinity) || value > (max ?? Infinity) ? { problem: "between" } : { value }
}

/** Put arguments back into a form; what does not fit a field is shown as JSON by the caller. */
export function entriesOf(fields: FormField[], values: Record<string, unknown>): Entries {
  const entries: Record<string, Entry> = {}
  for (const { name, kind } of fields) {
    const value = values[name]
    if (value === undefined || value === null) continue
    if (kind === "texts" && Array.isArray(value)) entries[name] = value.map(String)
    else entries[name] = kind === "json" ? JSON.stringify(value, null, 2) : String(value)
  }
  return entries
}
