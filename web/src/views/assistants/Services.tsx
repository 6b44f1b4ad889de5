/** Which services an assistant has: on, asking first, or off, and what their tools cost in every request. */

import { useRef, useState } from "react"

import { serviceHint } from "../../texts/settings.ts"
import type { AssistantDetails, ModelsAnswer, ServiceAnswer } from "../../wire/generated.ts"
import { useLocale } from "../language.tsx"
import { Select } from "../Select.tsx"
import { useWords } from "../settings/words.ts"
import type { Change } from "./change.ts"

type Mode = ServiceAnswer["mode"]

interface Props {
  details: AssistantDetails
  models: ModelsAnswer | null
  onChange: Change
}

export function Services({ details, models, onChange }: Props) {
  const words = useWords()
  const locale = useLocale()
  const [modes, setModes] = useState<Record<string, Mode>>(() =>
    Object.fromEntries(details.services.map(({ name, mode }) => [name, mode])),
  )
  // What each was before it was turned off.
  const before = useRef<Record<string, Mode>>({})
  const set = (name: string, mode: Mode) => {
    const now = { ...modes, [name]: mode }
    setModes(now)
    onChange({ services: now })
  }
  const tokens = details.services
    .filter(({ name }) => modes[name] !== "off")
    .reduce((sum, service) => sum + service.tokens, 0)
  const model = models?.fixed || details.model || models?.default
  const window = models?.models.find(({ name }) => name === model)?.windowTokens
  const percent = window ? Math.max(1, Math.round((100 * tokens) / window)) : null
  return (
    <section className="card" aria-label={words("services")}>
      <h2>{words("services")}</h2>
      <p className="hint pad">{words("servicesHint")}</p>
      <ul className="list">
        {details.services.map((service) => {
          const mode = modes[service.name] ?? service.mode
          const isOn = mode !== "off"
          return (
            <li key={service.name} className="item middle">
              <div className="grow">
                <h3>{service.title}</h3>
                <div className="meta dots">
                  <span title={service.description}>{serviceHint(service.name, service.description, locale)}</span>
                  <span className="num">{words("toolCount", { count: service.toolCount })}</span>
                  {service.runsCode && <span className="chip line">{words("runsCode")}</span>}
                  {service.reachesOut && <span className="chip line">{words("reachesOut")}</span>}
                  {service.status === "error" && <span className="chip bad">{words("serviceFailed")}</span>}
                </div>
              </div>
              {isOn ? (
                <Select
                  className="pick-mode"
                  aria-label={words("modeOf", { name: service.title })}
                  value={mode}
                  options={[
                    { value: "on", label: words("allow") },
                    { value: "ask", label: words("askFirst") },
                  ]}
                  onChange={(value) => set(service.name, value === "ask" ? "ask" : "on")}
                />
              ) : (
                <span className="soft small pick-mode">{words("off")}</span>
              )}
              <button
                type="button"
                className={isOn ? "switch on" : "switch"}
                role="switch"
                aria-checked={isOn}
                aria-label={service.title}
                onClick={() => {
                  if (isOn) before.current[service.name] = mode
                  set(service.name, isOn ? "off" : (before.current[service.name] ?? "on"))
                }}
              />
            </li>
          )
        })}
      </ul>
      <div className="box-in tight">
        <div className="row small">
          <span className="grow">{words("toolTokens")}</span>
          <b className="num">{words("tokens", { count: tokens.toLocaleString(locale) })}</b>
        </div>
        {percent !== null && (
          <>
            <progress className="meter" max={100} value={percent} aria-label={words("toolTokens")} />
            <p className="hint">{words("ofWindow", { percent })}</p>
          </>
        )}
      </div>
    </section>
  )
}
