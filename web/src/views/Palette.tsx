/** One field that finds sessions, tools, playbooks, files and screens: ⌘K, or / where nothing is typed. */

import { useEffect, useState } from "react"
import { Dialog, Modal, ModalOverlay } from "react-aria-components"

import { app, go, refreshSoon, report, startTour } from "../services/app.ts"
import type { Route } from "../core/route.ts"
import { useFields } from "../services/store.ts"
import { deedOf } from "../texts.ts"
import { callTool, createSession, listTools } from "../services/api.ts"
import type { Tool } from "../wire/types.ts"
import { AriaLocale } from "./AriaLocale.tsx"
import { Icon, type IconName } from "./icons.tsx"
import { titleOf, useLocale, useSay } from "./language.tsx"

const MAX_FOUND = 40
const MAX_KNOWN = 12
const MAX_OF_KIND = 8
const MIN_QUERY_CHARS = 2
const TYPING_MS = 200

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
  const { sessions, feed, me } = useFields(app, "sessions", "feed", "me")
  const [tools, setTools] = useState<Tool[]>([])
  const [query, setQuery] = useState("")
  const [index, setIndex] = useState(0)
  const sessionId = feed?.sessionId ?? sessions[0]?.id ?? ""

  useEffect(() => {
    if (sessionId !== "") listTools(sessionId).then(setTools, report)
  }, [sessionId])

  const { playbooks, files } = useFound(sessionId, query.trim())

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
    {
      key: "assistants",
      label: say("assistants"),
      detail: "",
      icon: "person",
      route: { screen: "assistants", assistantId: "" },
    },
    { key: "settings", label: say("settings"), detail: "", icon: "settings", route: { screen: "settings", tab: "" } },
    ...(me?.assistants ?? []).slice(0, MAX_OF_KIND).map((one): Place => ({
      key: `a-${one.id}`,
      label: say("newSession"),
      detail: one.name || one.id,
      icon: "person",
      route: { screen: "assistants", assistantId: one.id },
      act: () => void newSessionOf(one.id).catch(report),
    })),
    ...sessions.map((session): Place => ({
      key: `s-${session.id}`,
      label: titleOf(session, say),
      detail: "",
      icon: "chat",
      route: { screen: "chat", sessionId: session.id },
    })),
  ]
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = ({ label, detail }: Place) => words.every((word) => `${label} ${detail}`.toLowerCase().includes(word))
  // What the server has found stands before the tail of what is known here: it is what the words mean.
  const known = places.filter(matches)
  const found = [
    ...known.slice(0, MAX_KNOWN),
    ...playbooks.map((one): Place => ({
      key: `p-${one.id}`,
      label: one.goal,
      detail: say("playbook"),
      icon: "book",
      route: { screen: "chat", sessionId, playbook: one.id },
    })),
    ...files.map(({ path }): Place => ({
      key: `f-${path}`,
      label: path,
      detail: say("file"),
      icon: "page",
      route: { screen: "chat", sessionId, file: path },
    })),
    ...known.slice(MAX_KNOWN),
  ].slice(0, MAX_FOUND)
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

async function newSessionOf(assistantId: string): Promise<void> {
  const { id } = await createSession({ assistantId, locale: app.get().locale })
  refreshSoon()
  go({ screen: "chat", sessionId: id })
}

interface Found {
  playbooks: { id: string; goal: string }[]
  files: { path: string }[]
}
const NOTHING: Found = { playbooks: [], files: [] }

/** Playbooks and files by words: the person's own searches, made when they stop typing. */
function useFound(sessionId: string, query: string): Found {
  const [found, setFound] = useState<Found>(NOTHING)
  useEffect(() => {
    if (sessionId === "" || query.length < MIN_QUERY_CHARS) return setFound(NOTHING)
    let isStale = false
    const search = async () => {
      const pattern = `*${query.replace(/[[\]{}*?\\]/g, "?")}*`
      const [playbooks, files] = await Promise.allSettled([
        callTool(sessionId, "list_playbooks", { query, page: 1, pageSize: MAX_OF_KIND }),
        callTool(sessionId, "search_files", { pattern }),
      ])
      if (isStale) return
      // A service that is off, or failed, has nothing to find.
      const page = playbooks.status === "fulfilled" ? playbooks.value.data["page"] : undefined
      const rows = files.status === "fulfilled" ? files.value.data["files"] : undefined
      setFound({
        playbooks: (page as { items?: Found["playbooks"] } | undefined)?.items ?? [],
        files: ((rows as Found["files"] | undefined) ?? []).slice(0, MAX_OF_KIND),
      })
    }
    const timer = setTimeout(() => void search(), TYPING_MS)
    return () => {
      isStale = true
      clearTimeout(timer)
    }
  }, [sessionId, query])
  return found
}
