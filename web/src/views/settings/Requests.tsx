/** Requests that left this computer, by host. */

import { listRequests } from "../../services/settings.ts"
import { formatTime, useLocale } from "../language.tsx"
import { useLoaded } from "./loaded.ts"
import { useWords } from "./words.ts"

export function Requests() {
  const words = useWords()
  const locale = useLocale()
  const { value } = useLoaded(listRequests)
  if (value === null) return null
  const total = value.hosts.reduce((sum, { count }) => sum + count, 0)
  return (
    <section className="card" aria-label={words("requests")}>
      <div className="row box-row">
        <div className="grow">
          <h2>{words("requests")}</h2>
          <p className="hint">{words("requestsHint", { days: value.days })}</p>
        </div>
        <span className="num big">{total.toLocaleString(locale)}</span>
      </div>
      {value.hosts.length === 0 ? (
        <p className="hint pad">{words("noRequests")}</p>
      ) : (
        <ul className="list">
          {value.hosts.map((one) => (
            <li key={`${one.host} ${one.purpose}`} className="item middle">
              <div className="grow">
                <h3 className="mono">{one.host}</h3>
                <div className="meta dots">
                  <span>{words("forModel")}</span>
                  <span className="num">{words("lastTime", { time: formatTime(one.lastAt, locale) })}</span>
                </div>
              </div>
              <span className="num">{words("times", { count: one.count.toLocaleString(locale) })}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
