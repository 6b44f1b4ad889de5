/** The panel of a service that has none of its own: its state, drawn from the schema as values, lists and tables. */

import type { JsonSchema, ServiceInfo } from "../../wire/types.ts"
import { formatTime, useLocale } from "../language.tsx"
import type { PanelProps } from "./props.ts"
import { failureOf, NoState } from "./parts.tsx"
import type { PanelSay } from "./words.ts"

const MAX_ROWS = 100

/** Whether a service's state has anything to draw. */
export const isPlain = ({ stateSchema }: ServiceInfo): boolean => Object.keys(stateSchema.properties ?? {}).length > 0

export function PlainPanel({ talk, service, say }: PanelProps & { service: ServiceInfo }) {
  const state = (talk.services as Readonly<Record<string, object | undefined>>)[service.name]
  if (state === undefined || failureOf(state) !== "") return <NoState state={state} say={say} />
  return (
    <>
      <h2>{service.title}</h2>
      <p className="hint">{service.description}</p>
      <Fields
        value={state as Record<string, unknown>}
        schema={service.stateSchema}
        root={service.stateSchema}
        say={say}
      />
    </>
  )
}

interface PartProps<T> {
  value: T
  schema: JsonSchema
  root: JsonSchema
  say: PanelSay
}

function Fields({ value, schema, root, say }: PartProps<Record<string, unknown>>) {
  const properties = resolve(schema, root).properties ?? {}
  const plain = Object.entries(properties).filter(([name]) => !isStructured(value[name]))
  const structured = Object.entries(properties).filter(([name]) => isStructured(value[name]))
  return (
    <>
      {plain.length > 0 && (
        <dl className="values">
          {plain.map(([name, part]) => (
            <div key={name}>
              <dt>
                {titleOf(name, part)}
                <Description schema={part} />
              </dt>
              <dd>
                <Value value={value[name]} schema={part} root={root} say={say} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {structured.map(([name, part]) => (
        <section key={name}>
          <h3 className="sec">{titleOf(name, part)}</h3>
          <Description schema={part} />
          <Structured value={value[name]} schema={part} root={root} say={say} name={titleOf(name, part)} />
        </section>
      ))}
    </>
  )
}

function Structured({ value, schema, root, say, name }: PartProps<unknown> & { name: string }) {
  const resolved = resolve(schema, root)
  if (!Array.isArray(value))
    return <Fields value={value as Record<string, unknown>} schema={resolved} root={root} say={say} />
  if (value.length === 0) return <p className="hint">{say("emptyList")}</p>
  const items = resolve(resolved.items ?? {}, root)
  const rows = value.slice(0, MAX_ROWS) as unknown[]
  const left = value.length > MAX_ROWS && (
    <p className="hint">{say("firstOf", { shown: MAX_ROWS, count: value.length })}</p>
  )
  const columns = Object.entries(items.properties ?? {})
  if (columns.length === 0)
    return (
      <>
        <ul className="card list">
          {rows.map((row, index) => (
            <li key={index} className="item low small">
              <Value value={row} schema={items} root={root} say={say} />
            </li>
          ))}
        </ul>
        {left}
      </>
    )
  return (
    <>
      <div className="table-scroll card" tabIndex={0} role="region" aria-label={name}>
        <table className="plain">
          <thead>
            <tr>
              {columns.map(([column, part]) => (
                <th key={column} scope="col">
                  {titleOf(column, part)}
                  <Description schema={part} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {columns.map(([column, part]) => (
                  <td key={column}>
                    <Value value={(row as Record<string, unknown>)[column]} schema={part} root={root} say={say} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {left}
    </>
  )
}

/** One value. What has a shape of its own inside a table is told as JSON. */
function Value({ value, say }: PartProps<unknown>) {
  const locale = useLocale()
  if (value === null || value === undefined || value === "") return <span className="soft">–</span>
  if (typeof value === "boolean") return say(value ? "yes" : "no")
  if (typeof value === "number") return <span className="num">{value.toLocaleString(locale)}</span>
  if (typeof value === "string") return /^\d{4}-\d\d-\d\dT/.test(value) ? formatTime(value, locale) : value
  return <code className="xs">{JSON.stringify(value)}</code>
}

const isStructured = (value: unknown): boolean => typeof value === "object" && value !== null

function Description({ schema }: { schema: JsonSchema }) {
  return schema.description === undefined ? null : <span className="hint field-hint">{schema.description}</span>
}

/** As the schema calls it; where that only repeats the field's name, `lastRunAt` is told as “Last run at”. */
function titleOf(name: string, { title = "" }: JsonSchema): string {
  if (title !== "" && lettersOf(title) !== lettersOf(name)) return title
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const lettersOf = (text: string) => text.replace(/[\s_]/g, "").toLowerCase()

function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (schema.$ref !== undefined) return root.$defs?.[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)] ?? {}
  const alternative = schema.anyOf?.find(({ type }) => type !== "null")
  return alternative === undefined ? schema : resolve(alternative, root)
}
