/** How far a run of this assistant goes by itself. */

import { useRef } from "react"

import type { AssistantDetails, RunLimits } from "../../wire/generated.ts"
import { useWords } from "../settings/words.ts"
import type { Change } from "./change.ts"
import { NumberField } from "./NumberField.tsx"

export function Limits({ details, onChange }: { details: AssistantDetails; onChange: Change }) {
  const words = useWords()
  // What was typed last, also while it is being saved: the next change is made to it.
  const limits = useRef(details.limits)
  const set = (name: keyof RunLimits, value: number | null) => {
    limits.current = { ...limits.current, [name]: value }
    onChange({ limits: given(limits.current) })
  }
  return (
    <div className="box-in three-fields">
      <NumberField
        label={words("limitTurns")}
        value={limits.current.turns ?? null}
        min={1}
        isRequired
        onChange={(value) => set("turns", value)}
      />
      <NumberField
        label={words("limitCalls")}
        value={limits.current.calls ?? null}
        min={1}
        isRequired
        onChange={(value) => set("calls", value)}
      />
      <NumberField
        label={words("limitMinutes")}
        value={limits.current.unattendedMinutes ?? null}
        min={0.1}
        step={0.1}
        isRequired
        onChange={(value) => set("unattendedMinutes", value)}
      />
      <NumberField
        label={words("limitTokens")}
        value={limits.current.tokens ?? null}
        min={1}
        placeholder={words("noLimit")}
        onChange={(value) => set("tokens", value)}
      />
      <NumberField
        label={words("limitCost")}
        hint={words("limitCostHint")}
        value={limits.current.cost ?? null}
        min={0.000001}
        step={0.1}
        placeholder={words("noLimit")}
        onChange={(value) => set("cost", value)}
      />
    </div>
  )
}

/** What is no limit is not said at all. */
function given(limits: RunLimits): RunLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null && value !== undefined))
}
