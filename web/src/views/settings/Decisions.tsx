/** What the person has allowed for good, and taking it back. */

import { app, report } from "../../services/app.ts"
import { useStore } from "../../services/store.ts"
import { deedOf } from "../../texts.ts"
import type { DecisionAnswer } from "../../wire/generated.ts"
import { forgetDecision } from "../../services/settings.ts"
import { formatTime, useLocale } from "../language.tsx"
import { useWords } from "./words.ts"

export function Decisions({ decisions, onForget }: { decisions: DecisionAnswer[]; onForget: () => Promise<void> }) {
  const words = useWords()
  const locale = useLocale()
  const me = useStore(app, ({ me }) => me)
  const nameOf = (id: string) => me?.assistants.find((one) => one.id === id)?.name || id
  if (decisions.length === 0) return <p className="hint pad">{words("noDecisions")}</p>
  return (
    <ul className="list">
      {decisions.map((one) => (
        <li key={`${one.scope} ${one.scopeId} ${one.tool}`} className="item middle">
          <div className="grow">
            <h3>
              <code>{one.tool}</code>
            </h3>
            <div className="meta dots">
              <span>{deedOf(one.tool, locale)}</span>
              <span>
                {one.scope === "session"
                  ? words("inSession", { title: one.sessionTitle || words("untitled") })
                  : words("toAssistant", { name: nameOf(one.scopeId) })}
              </span>
              <span className="num">{formatTime(one.decidedAt, locale)}</span>
            </div>
          </div>
          <button
            type="button"
            className="btn"
            aria-label={words("forgetTool", { tool: one.tool })}
            onClick={() => void forgetDecision(one).catch(report).then(onForget)}
          >
            {words("forget")}
          </button>
        </li>
      ))}
    </ul>
  )
}
