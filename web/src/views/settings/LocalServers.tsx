/** Servers of models on this computer. They are looked for when the person presses the button, and only then. */

import { useState } from "react"

import { report } from "../../services/app.ts"
import { freeName } from "../../core/fields.ts"
import type { LocalServer, ModelsAnswer } from "../../wire/generated.ts"
import { addModel, findLocalServers } from "../../services/settings.ts"
import { Icon } from "../icons.tsx"
import { TryModel } from "./TryModel.tsx"
import { useWords } from "./words.ts"

interface Props {
  known: ModelsAnswer
  onChange: (now: ModelsAnswer) => Promise<void>
}

export function LocalServers({ known, onChange }: Props) {
  const words = useWords()
  const [servers, setServers] = useState<LocalServer[] | null>(null)
  const [isLooking, setLooking] = useState(false)
  const look = async () => {
    setLooking(true)
    try {
      setServers(await findLocalServers())
    } finally {
      setLooking(false)
    }
  }
  return (
    <section className="card" aria-label={words("lookHere")}>
      <div className="row box-row">
        <div className="grow">
          <h2>{words("lookHere")}</h2>
          <p className="hint">{words("lookHint")}</p>
        </div>
        <button type="button" className="btn" disabled={isLooking} onClick={() => void look().catch(report)}>
          <Icon name="search" small />
          {words(isLooking ? "looking" : "lookHere")}
        </button>
      </div>
      <div role="status">
        {servers?.length === 0 && <p className="hint pad">{words("nothingFound")}</p>}
        {servers?.map((server) => (
          <div key={server.url}>
            <p className="group">
              {words("foundOn", { server: server.name, url: server.url })}
              {server.models.length === 0 && ` · ${words("serverEmpty")}`}
            </p>
            <ul className="list">
              {server.models.map((model) => (
                <FoundModel key={model} server={server} model={model} known={known} onChange={onChange} />
              ))}
            </ul>
          </div>
        ))}
      </div>
    </section>
  )
}

function FoundModel({ server, model, known, onChange }: Props & { server: LocalServer; model: string }) {
  const words = useWords()
  const isKnown = known.models.some((one) => one.provider === server.url && one.model === model)
  const add = async () => {
    const names = known.models.map(({ name }) => name)
    await onChange(await addModel({ name: freeName(model, names), url: server.url, model }))
  }
  return (
    <li className="item middle">
      <div className="grow">
        <h3>{model}</h3>
      </div>
      <TryModel name={`${server.url}#${model}`} />
      {isKnown ? (
        <span className="chip ok">
          <Icon name="tick" small />
          {words("added")}
        </span>
      ) : (
        <button
          type="button"
          className="btn"
          aria-label={words("addModel", { name: model })}
          onClick={() => void add().catch(report)}
        >
          {words("add")}
        </button>
      )}
    </li>
  )
}
