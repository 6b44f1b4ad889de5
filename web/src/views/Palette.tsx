/** One field that finds tools and sessions: ⌘K, or / where nothing is typed. */

import { useEffect, useState } from "react"
import { Dialog, Modal, ModalOverlay } from "react-aria-components"

import { app, go, report, startTour } from "../state/app.ts"
import type { Route } from "../state/route.ts"
import { useStore } from "../state/store.ts"
import { deedOf } from "../texts.ts"
import { listTools } from "../wire/api.ts"
import type { Tool } from "../wire/types.ts"
import { AriaLocale } from "./AriaLocale.tsx"
import { Icon, type IconName } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"

const MAX_FOUND = 40

interface Place {
  key: string
  label: string
  detail: string
  icon: IconName
  route: Route
  act?: () => void
}

export default function Palette() {
  const say = useSay()
  const locale = useLocale()
  const { sessions, feed } = useStore(app)
  const [tools, setTools] = useState<Tool[]>([])
  const [query, setQuery] = useState("")
  const [index, setIndex] = useState(0)
  const sessionId = feed?.sessionId ?? sessions[0]?.id ?? ""

  useEffect(() => {
    if (sessionId !== "") listTools(sessionId).then(setTools, report)
  }, [sessionId])

  const places: Place[] = [
    { key: "new", label: say("newSession"), detail: "", icon: "plus", route: { screen: "chat", sessionId: "" } },
    { key: "inbox", label: say("inbox"), detail: "g i", icon: "inbox", route: { screen: "inbox", itemId: "" } },
    { key: "manual", label: say("manualMode"), detail: "", icon: "tools", route: { screen: "manual", tool: "" } },
    {
      key: "tour",
      label: say("tour"),
      detail: "",
      icon: "spark",
      route: { screen: "chat", sessionId: "" },
      act: startTour,
    },
    ...tools.map((tool): Place => ({
      key: `t-${tool.name}`,
      label: tool.name,
      detail: locale === "ko" ? deedOf(tool.name, locale) : tool.title,
      icon: "tools",
      route: { screen: "manual", tool: tool.name },
    })),
    ...sessions.map((session): Place => ({
      key: `s-${session.id}`,
      label: session.title || say("untitled"),
      detail: "",
      icon: "chat",
      route: { screen: "chat", sessionId: session.id },
    })),
  ]
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = places
    .filter(({ label, detail }) => words.every((word) => `${label} ${detail}`.toLowerCase().includes(word)))
    .slice(0, MAX_FOUND)
  const current = Math.min(index, found.length - 1)

  const close = () => app.update({ isPaletteOpen: false })
  const choose = (place: Place | undefined) => {
    if (!place) return
    close()
    if (place.act) place.act()
    else go(place.route)
  }
  return (
    <AriaLocale>
      <ModalOverlay className="scrim" isOpen isDismissable onOpenChange={(isOpen) => !isOpen && close()}>
        <Modal className="modal palette">
          <Dialog className="dialog" aria-label={say("palette")}>
            <div className="search">
              <Icon name="search" />
              <input
                className="input"
                autoFocus
                role="combobox"
                aria-expanded="true"
                aria-controls="palette-list"
                aria-activedescendant={found[current] ? `palette-${found[current].key}` : undefined}
                aria-label={say("palette")}
                placeholder={say("palette")}
                value={query}
                onChange={(event) => {
                  setQuery(event.target.value)
                  setIndex(0)
                }}
                onKeyDown={(event) => {
                  if (event.nativeEvent.isComposing) return
                  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
                  if (step !== undefined) {
                    event.preventDefault()
                    setIndex((current + step + found.length) % Math.max(found.length, 1))
                  } else if (event.key === "Enter") {
                    event.preventDefault()
                    choose(found[current])
                  }
                }}
              />
            </div>
            <ul id="palette-list" role="listbox" aria-label={say("palette")} className="found">
              {found.map((place, number) => (
                <li
                  key={place.key}
                  id={`palette-${place.key}`}
                  role="option"
                  aria-selected={number === current}
                  className="nav"
                  onClick={() => choose(place)}
                  ref={number === current ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined}
                >
                  <Icon name={place.icon} />
                  <span className="cut">{place.label}</span>
                  <span className="soft xs cut grow">{place.detail}</span>
                </li>
              ))}
            </ul>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </AriaLocale>
  )
}
