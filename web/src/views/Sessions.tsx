/** All sessions, found by their words, by assistant or in the archive; out to a file and back. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react"

import { app, go, notify, report } from "../services/app.ts"
import { countPlaces, hitOf, PLACES, sessionsWith, type Place } from "../core/found.ts"
import { marksOf } from "../core/marks.ts"
import { routeTo } from "../core/route.ts"
import { useFields, useStore } from "../services/store.ts"
import { speakerOf } from "../texts.ts"
import { SESSION_TEXTS } from "../texts/sessions.ts"
import { findSessions } from "../services/api.ts"
import { importSession } from "../services/archives.ts"
import type { Session, SessionHit, SessionsPage, SessionSize } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { formatAgo, titleOf, useLocale, useSay } from "./language.tsx"
import { Select } from "./Select.tsx"
import { SessionMenu } from "./SessionMenu.tsx"
import { groupsOf } from "./Sidebar.tsx"

const TYPING_MS = 200

type Tab = "" | Place | "archived"
/** `ms`: how long the answer took. */
type Found = SessionsPage & { ms: number }

function useOwnSay() {
  const locale = useLocale()
  return useMemo(() => speakerOf(SESSION_TEXTS, locale), [locale])
}

export default function Sessions() {
  const say = useSay()
  const own = useOwnSay()
  const { sessions, me } = useFields(app, "sessions", "me")
  const [query, setQuery] = useState("")
  const [tab, setTab] = useState<Tab>("")
  const [picked, setPicked] = useState<string | null>(null)
  const assistant = me?.assistants.some(({ id }) => id === picked) ? picked : null // it may have been deleted since
  const [page, setPage] = useState<Found | null>(null)
  const words = query.trim()
  const isArchived = tab === "archived"
  const place = words === "" || isArchived ? "" : tab
  const read = useCallback(
    async (after = ""): Promise<Found> => {
      const begun = performance.now()
      const found = await findSessions({
        query: words,
        archived: isArchived ? 1 : 0,
        sized: 1,
        after,
        ...(assistant !== null && { assistant }),
      })
      return { ...found, ms: Math.round(performance.now() - begun) }
    },
    [words, isArchived, assistant],
  )

  // `sessions` too: what was renamed or archived here must show here.
  useEffect(() => {
    let isOld = false
    const timer = setTimeout(
      () => read().then((found) => !isOld && setPage(found), report),
      words === "" ? 0 : TYPING_MS,
    )
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [read, words, sessions])

  const more = async () => {
    if (page === null) return
    const next = await read(page.next)
    const all = {
      ...next,
      sessions: [...page.sessions, ...next.sessions],
      hits: [...page.hits, ...next.hits],
      sizes: [...page.sizes, ...next.sizes],
    }
    setPage((now) => (now === page ? all : now)) // something else may be looked for by now
  }
  const shown = page === null ? [] : sessionsWith(page, words, place)
  return (
    <div className="scroll">
      <div className="wide narrow">
        <div className="page-head">
          <h1>{say("sessions")}</h1>
          <span className="end" />
          <ImportButton />
          <a className="btn main" href="#/">
            <Icon name="plus" small />
            {say("newSession")}
          </a>
        </div>
        <div className="search">
          <Icon name="search" />
          <input
            className="input"
            type="search"
            autoFocus={matchMedia("(hover: hover)").matches}
            aria-label={say("findSession")}
            placeholder={say("findSession")}
            aria-keyshortcuts="/"
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
          {query === "" && <kbd className="end-slot kbd hide-phone">/</kbd>}
        </div>
        <div className="row bar-tabs">
          <Tabs page={page} query={words} tab={place === "" && !isArchived ? "" : tab} onTab={setTab} />
          <AssistantFilter value={assistant} onChange={setPicked} />
        </div>
        {page !== null && shown.length === 0 && (
          <div className="card empty">
            <Icon name="search" />
            <b>{say(words !== "" ? "noSessionFound" : isArchived ? "noArchived" : "noSessions")}</b>
          </div>
        )}
        {groupsOf(shown).map(([text, group]) => (
          <section key={text}>
            <h2 className="group">{say(text)}</h2>
            <div className="card list">
              {group.map((session) => (
                <Entry
                  key={session.id}
                  session={session}
                  hit={page === null ? undefined : hitOf(page, session.id, place)}
                  size={page?.sizes.find(({ sessionId }) => sessionId === session.id)}
                  query={words}
                />
              ))}
            </div>
          </section>
        ))}
        {page !== null && page.next !== "" && (
          <button type="button" className="btn quiet older" onClick={() => void more().catch(report)}>
            {say("moreSessions")}
          </button>
        )}
        {page !== null && words !== "" && shown.length > 0 && (
          <p className="hint found-foot" role="status">
            {own("places", { places: sum(countPlaces(page, words), place), sessions: shown.length, ms: page.ms })}
            {page.hasMoreHits && ` ${own("morePlaces")}`}
          </p>
        )}
      </div>
    </div>
  )
}

const sum = (counts: Record<Place, number>, place: Place | "") =>
  place === "" ? PLACES.reduce((total, one) => total + counts[one], 0) : counts[place]

/** All of them or the archive; of what was found, also by where the words are. */
function Tabs({ page, query, tab, onTab }: { page: Found | null; query: string; tab: Tab; onTab: (tab: Tab) => void }) {
  const say = useSay()
  const own = useOwnSay()
  const counts = page === null || query === "" || tab === "archived" ? null : countPlaces(page, query)
  const tabs: Tab[] = query === "" ? ["", "archived"] : ["", ...PLACES, "archived"]
  const countOf = (one: Tab) => {
    if (page === null) return ""
    if (counts !== null && one !== "archived") return `${sum(counts, one)}${page.hasMoreHits ? "+" : ""}`
    return one === tab ? `${page.sessions.length}${page.next === "" ? "" : "+"}` : ""
  }
  return (
    <div className="tabs grow" role="group" aria-label={say("sessions")}>
      {tabs.map((one) => (
        <button key={one} type="button" className="tab" aria-pressed={one === tab} onClick={() => onTab(one)}>
          {one === "archived" ? say("archived") : own(one === "" ? "all" : one)}
          {countOf(one) !== "" && <span className="num">{countOf(one)}</span>}
        </button>
      ))}
    </div>
  )
}

/** Where there is more than one assistant. */
function AssistantFilter({ value, onChange }: { value: string | null; onChange: (id: string | null) => void }) {
  const own = useOwnSay()
  const me = useStore(app, ({ me }) => me)
  const assistants = me?.assistants ?? []
  if (assistants.length < 2) return null
  const index = assistants.findIndex(({ id }) => id === value)
  return (
    <Select
      className="btn quiet"
      aria-label={own("assistant")}
      value={String(index)}
      options={[
        { value: "-1", label: own("everyAssistant") },
        ...assistants.map(({ name }, number) => ({ value: String(number), label: name || own("defaultAssistant") })),
      ]}
      onChange={(number) => onChange(assistants[Number(number)]?.id ?? null)}
    />
  )
}

function ImportButton() {
  const own = useOwnSay()
  const say = useSay()
  const picker = useRef<HTMLInputElement>(null)
  const [isBusy, setBusy] = useState(false)
  const read = async (archive: File) => {
    setBusy(true)
    try {
      const { sessionId, title } = await importSession(archive)
      notify(own("imported", { title: title || say("untitled") }))
      go({ screen: "chat", sessionId })
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <input
        ref={picker}
        type="file"
        accept=".zip,application/zip"
        hidden
        onChange={(event) => {
          const archive = event.target.files?.[0]
          event.target.value = ""
          if (archive) void read(archive).catch(report)
        }}
      />
      <button
        type="button"
        className="btn"
        title={own("importHint")}
        disabled={isBusy}
        onClick={() => picker.current?.click()}
      >
        {isBusy ? <span className="spin" /> : <Icon name="upload" small />}
        {own("import")}
      </button>
    </>
  )
}

interface EntryProps {
  session: Session
  hit: SessionHit | undefined
  size: SessionSize | undefined
  query: string
}

function Entry({ session, hit, size, query }: EntryProps) {
  const say = useSay()
  const own = useOwnSay()
  const locale = useLocale()
  const me = useStore(app, ({ me }) => me)
  const isForeign = session.client !== ""
  const assistant = me?.assistants.find(({ id }) => id === session.assistantId)?.name
  const route = { screen: "chat" as const, sessionId: session.id, ...(hit && { messageId: hit.messageId }) }
  const meta = [
    isForeign ? own("client") : assistant,
    size?.messages ? own("messages", { count: size.messages }) : "",
    size?.calls ? own("calls", { count: size.calls }) : "",
    formatAgo(session.lastAt, locale),
  ]
  return (
    <div className="item">
      <Icon
        name={isForeign ? "plug" : session.parentId !== "" ? "fork" : hit?.kind === "returned" ? "tools" : "chat"}
      />
      <a className="grow" href={routeTo(route)}>
        <h3 className="row">
          <span className="cut">
            <Marked text={titleOf(session, say)} query={query} />
          </span>
          <SessionChip session={session} />
          {isForeign && (
            <span className="chip line">
              <Icon name="plug" small />
              <span className="cut">{session.client}</span>
            </span>
          )}
        </h3>
        {hit && (
          <p className="passage">
            <Marked text={hit.excerpt} query={query} />
          </p>
        )}
        <div className="meta num">{meta.filter(Boolean).join(" · ")}</div>
      </a>
      <SessionMenu session={session} />
    </div>
  )
}

function SessionChip({ session }: { session: Session }) {
  const say = useSay()
  if (session.openPauses > 0)
    return (
      <span className="chip wait">
        <span className="dot" />
        {say("yourTurn")}
      </span>
    )
  if (session.run?.state === "running")
    return (
      <span className="chip on">
        <span className="dot run" />
        {say("running")}
      </span>
    )
  return null
}

function Marked({ text, query }: { text: string; query: string }) {
  return marksOf(text, query).map(([isMarked, piece], index) => (isMarked ? <mark key={index}>{piece}</mark> : piece))
}
