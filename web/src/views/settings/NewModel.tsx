/** A model of a server's address or of a vendor, with its key. */

import { useState, type ComponentProps } from "react"

import { report } from "../../services/app.ts"
import type { ModelsAnswer } from "../../wire/generated.ts"
import { addModel } from "../../services/settings.ts"
import { Select } from "../Select.tsx"
import { useWords } from "./words.ts"

interface Props {
  models: ModelsAnswer
  onAdded: (now: ModelsAnswer) => void
}

export function NewModel({ models, onAdded }: Props) {
  const words = useWords()
  const [fields, setFields] = useState({ name: "", provider: "", url: "", model: "", key: "" })
  const choose = (field: keyof typeof fields) => (value: string) => setFields({ ...fields, [field]: value })
  const set = (field: keyof typeof fields) => (event: { target: { value: string } }) =>
    choose(field)(event.target.value)
  const isWhole =
    fields.name.trim() !== "" && fields.model.trim() !== "" && (fields.provider !== "" || fields.url !== "")
  const add = async () => {
    const { name, provider, url, model, key } = fields
    const added = await addModel({
      name: name.trim(),
      model: model.trim(),
      ...(provider === "" ? { url: url.trim() } : { provider }),
      ...(key.trim() !== "" && { key: key.trim() }),
    })
    onAdded(added)
  }
  return (
    <form
      className="box-in new-model"
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (isWhole) void add().catch(report)
      }}
    >
      <div className="two">
        <div className="field">
          <label htmlFor="new-from">{words("where")}</label>
          <Select
            id="new-from"
            className="input"
            value={fields.provider}
            options={[
              { value: "", label: words("byAddress") },
              ...models.vendors
                .filter(({ isInstalled }) => isInstalled)
                .map(({ name, title }) => ({ value: name, label: title })),
            ]}
            onChange={choose("provider")}
          />
        </div>
        <Field id="name" label={words("ownName")} value={fields.name} maxLength={200} onChange={set("name")} />
        {fields.provider === "" && (
          <Field
            id="url"
            label={words("address")}
            inputMode="url"
            placeholder="http://127.0.0.1:11434/v1"
            value={fields.url}
            onChange={set("url")}
          />
        )}
        <Field id="model" label={words("modelName")} value={fields.model} onChange={set("model")} />
        {fields.provider === "" && (
          <Field
            id="key"
            label={words("keyOptional")}
            type="password"
            autoComplete="off"
            value={fields.key}
            onChange={set("key")}
          />
        )}
      </div>
      <div className="row ends">
        <button type="submit" className="btn main" disabled={!isWhole}>
          {words("add")}
        </button>
      </div>
    </form>
  )
}

function Field({ id, label, ...input }: ComponentProps<"input"> & { id: string; label: string }) {
  return (
    <div className="field">
      <label htmlFor={`new-${id}`}>{label}</label>
      <input id={`new-${id}`} className="input mono" {...input} />
    </div>
  )
}
