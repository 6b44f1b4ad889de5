/** All sessions, found by their words, with the archived ones. */

import { useEffect, useState } from "react"

import { report } from "../state/app.ts"
import { app } from "../state/app.ts"
import { routeTo } from "../state/route.ts"
import { useStore } from "../state/store.ts"
import { findSessions } from "../wire/api.ts"
import type { SessionsPage } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { formatTime, useLocale, useSay } from "./language.tsx"
import { SessionMenu } from "./SessionMenu.tsx"
import { groupsOf, SessionDot } from "./Sidebar.tsx"

const TYPING_MS = 200

export default function Sessions() {
  const say = useSay()
  const locale = useLocale()
  const { sessions } = useStore(app)
  const [query, setQuery] = useState("")
  const [isArchived, setArchived] = useState(false)
  const [page, setPage] = useState<SessionsPage | null>(null)

  // `sessions` too: what was renamed or archived here must show here.
  useEffect(() => {
    let isOld = false
    const timer = setTimeout(() => {
      findSessions(query, isArchived).then((found) => !isOld && setPage(found), report)
    }, TYPING_MS)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [query, isArchived, sessions])

  return (
    <div className="scroll">
      <div className="wide">
        <div className="page-head">
          <h1>{say("sessions")}</h1>
          <span className="end" />
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
            aria-label={say("findSession")}
            placeholder={say("findSession")}
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
        </div>
        <div className="seg" role="group" aria-label={say("sessions")}>
          <button type="button" aria-pressed={!isArchived} onClick={() => setArchived(false)}>
            {say("active")}
          </button>
          <button type="button" aria-pressed={isArchived} onClick={() => setArchived(true)}>
            {say("archived")}
          </button>
        </div>
        {page?.sessions.length === 0 && (
          <div className="card empty">{say(query === "" ? "noSessions" : "noSessionFound")}</div>
        )}
        {groupsOf(page?.sessions ?? []).map(([text, group]) => (
          <section key={text} aria-label={say(text)}>
            <div className="group">{say(text)}</div>
            <div className="card list">
              {group.map((session) => (
                <div key={session.id} className="item">
                  <a className="grow" href={routeTo({ screen: "chat", sessionId: session.id })}>
                    <h3 className="row">
                      <span className="cut">{session.title || say("untitled")}</span>
                      <SessionDot session={session} />
                    </h3>
                    {page?.hits
                      .filter(({ sessionId }) => sessionId === session.id)
                      .slice(0, 1)
                      .map((hit) => (
                        <p key={hit.messageId}>{hit.excerpt}</p>
                      ))}
                    <div className="meta num">{formatTime(session.lastAt, locale)}</div>
                  </a>
                  <SessionMenu session={session} />
                </div>
              ))}
            </div>
          </section>
        ))}
      </div>
    </div>
  )
}
