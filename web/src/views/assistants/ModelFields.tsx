/** The model of an assistant, and what it is asked with. */

import { useState } from "react"

import type { AssistantDetails, ModelsAnswer, OwnOptions } from "../../wire/generated.ts"
import { Select, type Option } from "../Select.tsx"
import { useWords } from "../settings/words.ts"
import type { Change } from "./change.ts"
import { NumberField } from "./NumberField.tsx"

const EFFORTS = ["off", "low", "medium", "high"] as const

type Chosen = { [Name in keyof OwnOptions]: OwnOptions[Name] | null }

interface Props {
  details: AssistantDetails
  models: ModelsAnswer | null
  onChange: Change
}

export function ModelFields({ details, models, onChange }: Props) {
  const words = useWords()
  // What was chosen last, also while it is being saved: the next change is made to it.
  const [options, setOptions] = useState<Chosen>(details.options)
  const [model, setModel] = useState(details.model)
  const names = models?.models.map(({ name }) => name) ?? []
  const usual = models?.default ?? ""
  const set = (change: Chosen) => {
    const now = { ...options, ...change }
    setOptions(now)
    onChange({ options: withoutEmpty(now) })
  }
  return (
    <>
      <div className="field">
        <label htmlFor="assistant-model">{words("model")}</label>
        <Select
          id="assistant-model"
          className="input"
          value={model}
          options={[
            { value: "", label: usual === "" ? words("usualModel") : words("usualModelNamed", { name: usual }) },
            ...(model !== "" && !names.includes(model) ? [model, ...names] : names).map(asOption),
          ]}
          onChange={(name) => {
            setModel(name)
            onChange({ model: name })
          }}
        />
        {models !== null && models.fixed !== "" && (
          <p className="hint">{words("fixedModel", { name: models.fixed })}</p>
        )}
      </div>
      <fieldset className="three-fields">
        <legend className="label">{words("modelSettings")}</legend>
        <NumberField
          label={words("temperature")}
          hint={words("temperatureHint")}
          value={options.temperature ?? null}
          min={0}
          max={2}
          step={0.1}
          onChange={(temperature) => set({ temperature })}
        />
        <NumberField
          label={words("maxOutput")}
          value={options.maxOutputTokens ?? null}
          min={1}
          max={10_000_000}
          onChange={(maxOutputTokens) => set({ maxOutputTokens })}
        />
        <div className="field">
          <label htmlFor="assistant-thinking">{words("thinking")}</label>
          <Select
            id="assistant-thinking"
            className="input"
            value={options.thinking ?? ""}
            options={[
              { value: "", label: words("asModel") },
              ...EFFORTS.map((one) => ({ value: one, label: words(one) })),
            ]}
            onChange={(effort) => set({ thinking: EFFORTS.find((one) => one === effort) ?? null })}
          />
        </div>
      </fieldset>
    </>
  )
}

const asOption = (name: string): Option => ({ value: name, label: name })

/** What is left to the model is not said at all. */
function withoutEmpty(options: Chosen): OwnOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null))
}
