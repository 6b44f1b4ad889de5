/** When the person is asked, in words, and what they have allowed for good. */

import { listDecisions } from "../../services/settings.ts"
import { Decisions } from "./Decisions.tsx"
import { useLoaded } from "./loaded.ts"
import { useWords } from "./words.ts"

const RULES = [
  ["policyAllow", "policyAllowText", "chip ok"],
  ["policyAsk", "policyAskText", "chip wait"],
  ["policyDeny", "policyDenyText", "chip bad"],
] as const

export default function Rules() {
  const words = useWords()
  const { value, reload } = useLoaded(listDecisions)
  return (
    <>
      <section className="card" aria-label={words("policy")}>
        <h2>{words("policy")}</h2>
        <dl className="box-in rules">
          {RULES.map(([name, text, chip]) => (
            <div key={name} className="rule">
              <dt>
                <span className={chip}>{words(name)}</span>
              </dt>
              <dd>{words(text)}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section className="card" aria-label={words("decisions")}>
        <h2>{words("decisions")}</h2>
        <p className="hint pad">{words("decisionsHint")}</p>
        {value !== null && <Decisions decisions={value} onForget={reload} />}
      </section>
    </>
  )
}
