/** Settings in five tabs, each with an address. */

import { Suspense, useEffect, useRef } from "react"

import { part } from "../../services/parts.ts"
import { routeTo } from "../../core/route.ts"
import type { WordKey } from "../../texts/settings.ts"
import { Look } from "./Look.tsx"
import { useWords } from "./words.ts"

const Models = part(() => import("./Models.tsx"))
const Rules = part(() => import("./Rules.tsx"))
const Data = part(() => import("./Data.tsx"))
const Clients = part(() => import("./Clients.tsx"))

const TABS = [
  { id: "models", word: "tabModels", View: Models },
  { id: "look", word: "tabLook", View: Look },
  { id: "rules", word: "tabRules", View: Rules },
  { id: "data", word: "tabData", View: Data },
  { id: "clients", word: "tabClients", View: Clients },
] as const satisfies readonly { id: string; word: WordKey; View: unknown }[]

export default function Settings({ tab }: { tab: string }) {
  const words = useWords()
  const current = TABS.find(({ id }) => id === tab) ?? TABS[0]
  const tabs = useRef<HTMLElement>(null)
  // On a phone there are more of them than fit.
  useEffect(() => {
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" })
  }, [current])
  return (
    <div className="scroll">
      <div className="wide narrow">
        <div className="page-head">
          <h1>{words("settings")}</h1>
        </div>
        <nav ref={tabs} className="tabs" aria-label={words("settings")}>
          {TABS.map(({ id, word }) => (
            <a
              key={id}
              className="tab"
              href={routeTo({ screen: "settings", tab: id })}
              aria-current={id === current.id ? "page" : undefined}
            >
              {words(word)}
            </a>
          ))}
          <a className="tab only-phone" href="#/assistants">
            {words("assistants")}
          </a>
        </nav>
        <Suspense>
          <div className="stack">
            <current.View />
          </div>
        </Suspense>
      </div>
    </div>
  )
}
