/** The ways to every screen: a sidebar, and five tabs at the bottom of a phone. */

import { app, go, refresh } from "../services/app.ts"
import { questionsOf } from "../core/inbox.ts"
import type { Route } from "../core/route.ts"
import { routeTo } from "../core/route.ts"
import { useFields } from "../services/store.ts"
import type { TextKey } from "../texts.ts"
import type { Session } from "../wire/types.ts"
import { Icon, Mark, type IconName } from "./icons.tsx"
import { COMMAND_KEY, titleOf, useSay } from "./language.tsx"

const DAY_MS = 86_400_000
const MAX_SESSIONS = 60

const PLACES: { route: Route; text: TextKey; icon: IconName }[] = [
  { route: { screen: "inbox", itemId: "" }, text: "inbox", icon: "inbox" },
  { route: { screen: "sessions" }, text: "sessions", icon: "search" },
  { route: { screen: "manual", tool: "" }, text: "manualMode", icon: "tools" },
]
const ASSISTANTS = { route: { screen: "assistants", assistantId: "" }, text: "assistants", icon: "person" } as const
const SETTINGS = { route: { screen: "settings", tab: "" }, text: "settings", icon: "settings" } as const

export function Sidebar() {
  const say = useSay()
  const { route, sessions, inbox } = useFields(app, "route", "sessions", "inbox")
  return (
    <nav className="side" aria-label={say("main")}>
      <a className="brand" href="#/">
        <Mark />
        <span>{say("madang")}</span>
      </a>
      <a className="nav new" href="#/">
        <Icon name="plus" />
        <span className="grow">{say("newSession")}</span>
        <kbd className="kbd">{COMMAND_KEY}K</kbd>
      </a>
      {[...PLACES, ASSISTANTS].map((place) => (
        <Place
          key={place.text}
          {...place}
          isHere={route.screen === place.route.screen}
          count={place.text === "inbox" ? questionsOf(inbox).length : 0}
        />
      ))}
      {groupsOf(sessions.slice(0, MAX_SESSIONS)).map(([text, group]) => (
        <section key={text}>
          <h2>{say(text)}</h2>
          {group.map((session) => (
            <SessionLink
              key={session.id}
              session={session}
              isHere={route.screen === "chat" && route.sessionId === session.id}
            />
          ))}
        </section>
      ))}
      <div className="foot">
        <Place {...SETTINGS} isHere={route.screen === "settings"} count={0} />
        <div className="nav still">
          <span className="dot ok" />
          <span className="grow cut xs">{say("onlyHere")}</span>
        </div>
      </div>
    </nav>
  )
}

export function BottomTabs() {
  const say = useSay()
  const { route, inbox, feed } = useFields(app, "route", "inbox", "feed")
  const questionCount = questionsOf(inbox).length
  const chat: Route = { screen: "chat", sessionId: feed?.sessionId ?? "" }
  return (
    <nav className="bottom" aria-label={say("main")}>
      {[{ route: chat, text: "chat" as const, icon: "chat" as const }, ...PLACES, SETTINGS].map((place) => (
        <a
          key={place.text}
          href={routeTo(place.route)}
          aria-current={route.screen === place.route.screen ? "page" : undefined}
        >
          <Icon name={place.icon} />
          {say(place.text)}
          {place.text === "inbox" && questionCount > 0 && <span className="count">{questionCount}</span>}
        </a>
      ))}
    </nav>
  )
}

interface PlaceProps {
  route: Route
  text: TextKey
  icon: IconName
  isHere: boolean
  count: number
}

function Place({ route, text, icon, isHere, count }: PlaceProps) {
  const say = useSay()
  return (
    <a className="nav" href={routeTo(route)} aria-current={isHere ? "page" : undefined}>
      <Icon name={icon} />
      <span className="grow cut">{say(text)}</span>
      {count > 0 && <span className="count">{count}</span>}
    </a>
  )
}

function SessionLink({ session, isHere }: { session: Session; isHere: boolean }) {
  const say = useSay()
  return (
    <a
      className="nav"
      href={routeTo({ screen: "chat", sessionId: session.id })}
      aria-current={isHere ? "page" : undefined}
    >
      <span className="grow cut">{titleOf(session, say)}</span>
      <SessionDot session={session} />
    </a>
  )
}

export function SessionDot({ session }: { session: Session }) {
  const say = useSay()
  if (session.openPauses > 0)
    return <span className="dot wait" role="img" aria-label={say("waiting")} title={say("waiting")} />
  if (session.run?.state === "running")
    return <span className="dot run" role="img" aria-label={say("running")} title={say("running")} />
  return null
}

/** Pinned ones first, then by how long ago. */
export function groupsOf(sessions: readonly Session[], now = Date.now()): [TextKey, Session[]][] {
  const today = new Date(now).setHours(0, 0, 0, 0)
  const groups: [TextKey, (session: Session) => boolean][] = [
    ["pinnedSessions", ({ isPinned }) => isPinned],
    ["today", ({ lastAt }) => Date.parse(lastAt) >= today],
    ["lastWeek", ({ lastAt }) => Date.parse(lastAt) >= today - 7 * DAY_MS],
    ["earlier", () => true],
  ]
  let rest = [...sessions]
  return groups.flatMap(([text, belongs]) => {
    const group = rest.filter(belongs)
    rest = rest.filter((session) => !belongs(session))
    return group.length > 0 ? [[text, group] as [TextKey, Session[]]] : []
  })
}

/** Move to the session before or after the one that is open. One that is not in the list yet is looked for first. */
export async function stepSession(step: 1 | -1): Promise<void> {
  const { route } = app.get()
  const here = route.screen === "chat" ? route.sessionId : ""
  if (here !== "" && !app.get().sessions.some(({ id }) => id === here)) await refresh()
  const order = groupsOf(app.get().sessions.slice(0, MAX_SESSIONS)).flatMap(([, group]) => group)
  const index = order.findIndex(({ id }) => id === here)
  const next = order[index < 0 ? 0 : index + step]
  if (next) go({ screen: "chat", sessionId: next.id })
}
