/** Models: which one is used, what was found on this computer, keys, and what left this computer. */

import { useState } from "react"

import { refreshMe, report } from "../../services/app.ts"
import type { ModelAnswer, ModelsAnswer } from "../../wire/generated.ts"
import { listModels, removeModel, setDefaultModel } from "../../services/settings.ts"
import { Icon } from "../icons.tsx"
import { useLocale } from "../language.tsx"
import { Ask } from "./Ask.tsx"
import { KeyField } from "./KeyField.tsx"
import { useLoaded } from "./loaded.ts"
import { Loading } from "./Loading.tsx"
import { LocalServers } from "./LocalServers.tsx"
import { NewModel } from "./NewModel.tsx"
import { Requests } from "./Requests.tsx"
import { TryModel } from "./TryModel.tsx"
import { useWords } from "./words.ts"

const MANY = 6

export default function Models() {
  const { value, set, reload } = useLoaded(listModels)
  if (value === null) return <Loading />
  const update = async (now?: ModelsAnswer) => {
    if (now) set(now)
    else await reload()
    await refreshMe()
  }
  return (
    <>
      <ModelChoice models={value} onChange={update} />
      <LocalServers known={value} onChange={update} />
      {value.keyPlace === "file" && <KeyWarning path={value.keyFile} />}
      <Vendors models={value} onChange={update} />
      <Requests />
    </>
  )
}

interface Props {
  models: ModelsAnswer
  onChange: (now?: ModelsAnswer) => Promise<void>
}

function ModelChoice({ models, onChange }: Props) {
  const words = useWords()
  const [query, setQuery] = useState("")
  const [isAdding, setAdding] = useState(false)
  const [removing, setRemoving] = useState("")
  const found = models.models.filter(({ name, model, provider }) =>
    `${name} ${model} ${provider}`.toLowerCase().includes(query.trim().toLowerCase()),
  )
  // Shown at once; what the server says counts.
  const [pressed, setPressed] = useState<string | null>(null)
  const chosen = pressed ?? models.default
  const choose = async (name: string) => {
    setPressed(name)
    try {
      await setDefaultModel(name)
      await onChange()
    } finally {
      setPressed(null)
    }
  }
  return (
    <section className="card choice" aria-label={words("modelToUse")}>
      <div className="row choice-head">
        <div className="grow">
          <h2>{words("modelToUse")}</h2>
          <p className="hint">
            {models.fixed === "" ? words("modelToUseHint") : words("fixedModel", { name: models.fixed })}
          </p>
        </div>
        {models.models.length > MANY && (
          <div className="search find-model">
            <Icon name="search" />
            <input
              className="input"
              type="search"
              aria-label={words("findModel")}
              placeholder={words("findModel")}
              value={query}
              onChange={(event) => setQuery(event.target.value)}
            />
          </div>
        )}
      </div>
      <div role="radiogroup" aria-label={words("modelToUse")}>
        {found.map((model) => (
          <ModelRow
            key={model.name}
            model={model}
            isChosen={chosen === model.name}
            onChoose={() => void choose(model.name).catch(report)}
            onRemove={() => setRemoving(model.name)}
          />
        ))}
        <label className={chosen === "" ? "opt row-opt on" : "opt row-opt"}>
          <input type="radio" name="model" checked={chosen === ""} onChange={() => void choose("").catch(report)} />
          <span className="grow">
            <b>{words("noModel")}</b>
            <span className="hint block">{words("noModelHint")}</span>
          </span>
        </label>
      </div>
      <div className="row choice-foot">
        <button type="button" className="btn" aria-expanded={isAdding} onClick={() => setAdding(!isAdding)}>
          <Icon name="plus" small />
          {words("addProvider")}
        </button>
        <span className="hint">{words("addProviderHint")}</span>
      </div>
      {isAdding && (
        <NewModel
          models={models}
          onAdded={(now) => {
            setAdding(false)
            void onChange(now)
          }}
        />
      )}
      {removing !== "" && (
        <Ask
          title={words("removeModelAsk", { name: removing })}
          button={words("removeModel")}
          onConfirm={() => {
            void removeModel(removing).then(() => onChange(), report)
          }}
          onClose={() => setRemoving("")}
        >
          <p>{words("removeModelText")}</p>
        </Ask>
      )}
    </section>
  )
}

interface RowProps {
  model: ModelAnswer
  isChosen: boolean
  onChoose: () => void
  onRemove: () => void
}

function ModelRow({ model, isChosen, onChoose, onRemove }: RowProps) {
  const words = useWords()
  const locale = useLocale()
  const details = [
    model.name === model.model ? "" : model.model,
    model.provider,
    model.windowTokens ? words("window", { count: model.windowTokens.toLocaleString(locale) }) : "",
    model.hasPrices ? words("pricesKnown") : "",
  ].filter(Boolean)
  return (
    <div className={isChosen ? "opt row-opt on" : "opt row-opt"}>
      <label className="row grow choose">
        <input type="radio" name="model" checked={isChosen} onChange={onChoose} />
        <span className="grow">
          <span className="row names">
            <b>{model.name}</b>
            {model.isLocal && (
              <span className="chip ok">
                <Icon name="lock" small />
                {words("thisComputer")}
              </span>
            )}
            {model.key.place === "missing" && <span className="chip bad">{words("keyMissing")}</span>}
          </span>
          <span className="hint num block">{details.join(" · ")}</span>
        </span>
      </label>
      <TryModel name={model.name} />
      {model.isConfigured && (
        <button
          type="button"
          className="ib"
          aria-label={`${words("removeModel")}: ${model.name}`}
          title={words("removeModel")}
          onClick={onRemove}
        >
          <Icon name="cross" small />
        </button>
      )}
    </div>
  )
}

function KeyWarning({ path }: { path: string }) {
  const words = useWords()
  return (
    <p className="note wait" role="note">
      <Icon name="warning" small />
      <span>{words("keyToFile", { path })}</span>
    </p>
  )
}

/** A key for each vendor, and for each model that has one of its own. */
function Vendors({ models, onChange }: Props) {
  const words = useWords()
  const own = models.models.filter(({ key, isConfigured }) => isConfigured && key.name !== "")
  const vendors = models.vendors.filter(({ name, key }) => name === key.name)
  const owners = own.filter(({ key }) => !vendors.some(({ name }) => name === key.name))
  return (
    <section className="card" aria-label={words("vendors")}>
      <h2>{words("vendors")}</h2>
      <div className="box-in">
        {vendors.map((vendor) => (
          <KeyField
            key={vendor.name}
            title={vendor.title}
            answer={vendor.key}
            path={models.keyFile}
            hint={words("vendorHint", { url: vendor.url })}
            onChange={() => onChange()}
          />
        ))}
        {owners.map((model) => (
          <KeyField
            key={model.name}
            title={model.name}
            answer={model.key}
            path={models.keyFile}
            hint={words("vendorHint", { url: model.provider })}
            onChange={() => onChange()}
          />
        ))}
      </div>
    </section>
  )
}
