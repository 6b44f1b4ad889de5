/** All sessions, found by their words, with the archived ones. */

import { useEffect, useState } from "react"

import { app, report } from "../state/app.ts"
import { marksOf } from "../state/marks.ts"
import { routeTo } from "../state/route.ts"
import { useStore } from "../state/store.ts"
import { findSessions } from "../wire/api.ts"
import type { Session, SessionHit, SessionsPage } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { formatAgo, titleOf, useLocale, useSay } from "./language.tsx"
import { SessionMenu } from "./SessionMenu.tsx"
import { groupsOf } from "./Sidebar.tsx"

const TYPING_MS = 200

export default function Sessions() {
  const say = useSay()
  const { sessions } = useStore(app)
  const [query, setQuery] = useState("")
  const [isArchived, setArchived] = useState(false)
  const [page, setPage] = useState<SessionsPage | null>(null)

  // `sessions` too: what was renamed or archived here must show here.
  useEffect(() => {
    let isOld = false
    const timer = setTimeout(
      () => findSessions(query, isArchived).then((found) => !isOld && setPage(found), report),
      query === "" ? 0 : TYPING_MS,
    )
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [query, isArchived, sessions])

  const more = async () => {
    if (page === null) return
    const next = await findSessions(query, isArchived, page.next)
    setPage({ ...next, sessions: [...page.sessions, ...next.sessions], hits: [...page.hits, ...next.hits] })
  }
  return (
    <div className="scroll">
      <div className="wide narrow">
        <div className="page-head">
          <h1>{say("sessions")}</h1>
          <a className="btn main end" href="#/">
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
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
        </div>
        <div className="tabs bar-tabs" role="group" aria-label={say("sessions")}>
          {[false, true].map((isOther) => (
            <button
              key={String(isOther)}
              type="button"
              className="tab"
              aria-pressed={isArchived === isOther}
              onClick={() => setArchived(isOther)}
            >
              {say(isOther ? "archived" : "active")}
              {isArchived === isOther && page !== null && (
                <span className="num">
                  {page.sessions.length}
                  {page.next !== "" && "+"}
                </span>
              )}
            </button>
          ))}
        </div>
        {page?.sessions.length === 0 && (
          <div className="card empty">
            <Icon name="search" />
            <b>{say(query !== "" ? "noSessionFound" : isArchived ? "noArchived" : "noSessions")}</b>
          </div>
        )}
        {groupsOf(page?.sessions ?? []).map(([text, group]) => (
          <section key={text}>
            <h2 className="group">{say(text)}</h2>
            <div className="card list">
              {group.map((session) => (
                <Entry
                  key={session.id}
                  session={session}
                  hit={page?.hits.find(({ sessionId }) => sessionId === session.id)}
                  query={query}
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
      </div>
    </div>
  )
}

function Entry({ session, hit, query }: { session: Session; hit: SessionHit | undefined; query: string }) {
  const say = useSay()
  const locale = useLocale()
  const { me } = useStore(app)
  const assistant = me?.assistants.find(({ id }) => id === session.assistantId)?.name
  const route = { screen: "chat" as const, sessionId: session.id, ...(hit && { messageId: hit.messageId }) }
  return (
    <div className="item">
      <Icon name={session.parentId === "" ? "chat" : "fork"} />
      <a className="grow" href={routeTo(route)}>
        <h3 className="row">
          <span className="cut">
            <Marked text={titleOf(session, say)} query={query} />
          </span>
          <SessionChip session={session} />
        </h3>
        {hit && (
          <p>
            <Marked text={hit.excerpt} query={query} />
          </p>
        )}
        <div className="meta num">{[assistant, formatAgo(session.lastAt, locale)].filter(Boolean).join(" · ")}</div>
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
