/** All assistants, or the one that is being set up. */

import { useState } from "react"

import { go, report } from "../../services/app.ts"
import { routeTo } from "../../core/route.ts"
import { createAssistant, listAssistants } from "../../services/settings.ts"
import { Icon } from "../icons.tsx"
import { useLoaded } from "../settings/loaded.ts"
import { useWords } from "../settings/words.ts"
import { Editor } from "./Editor.tsx"

export default function Assistants({ assistantId }: { assistantId: string }) {
  return assistantId === "" ? <AssistantList /> : <Editor key={assistantId} id={assistantId} />
}

function AssistantList() {
  const words = useWords()
  const { value } = useLoaded(listAssistants)
  const [name, setName] = useState("")
  const create = async () => {
    const made = await createAssistant(name.trim())
    go({ screen: "assistants", assistantId: made.id })
  }
  return (
    <div className="scroll">
      <div className="wide narrow">
        <div className="page-head">
          <h1>{words("assistants")}</h1>
          <p>{words("assistantsHint")}</p>
        </div>
        <ul className="card list">
          {value?.map((one) => (
            <li key={one.id}>
              <a className="item middle" href={routeTo({ screen: "assistants", assistantId: one.id })}>
                <Icon name="person" />
                <div className="grow">
                  <h2 className="item-title">{one.name || (one.isDefault ? words("defaultName") : one.id)}</h2>
                  <div className="meta dots">
                    <span>{one.model || words("usualModel")}</span>
                    <span className="num">{words("sessionsOf", { count: one.sessionCount })}</span>
                  </div>
                </div>
                {one.isDefault && <span className="chip line">{words("defaultAssistant")}</span>}
                <Icon name="chevron" small />
              </a>
            </li>
          ))}
        </ul>
        <form
          className="row new-one"
          onSubmit={(event) => {
            event.preventDefault()
            if (name.trim() !== "") void create().catch(report)
          }}
        >
          <input
            className="input"
            aria-label={words("assistantName")}
            placeholder={words("assistantName")}
            value={name}
            maxLength={200}
            onChange={(event) => setName(event.target.value)}
          />
          <button type="submit" className="btn main" disabled={name.trim() === ""}>
            <Icon name="plus" small />
            {words("newAssistant")}
          </button>
        </form>
      </div>
    </div>
  )
}
