/** The frame of the application: which screen is shown, keys that work everywhere, notices. */

import { Suspense, useEffect, useState } from "react"

import { app, dismiss, go, report, retryNow, togglePanel, type AppState } from "../services/app.ts"
import { useFeed } from "../services/feed.ts"
import { questionsOf } from "../core/inbox.ts"
import { checkBuild, part } from "../services/parts.ts"
import { routeTo } from "../core/route.ts"
import { findSession } from "../core/sessions.ts"
import { useFields, useStore } from "../services/store.ts"
import { speaker } from "../texts.ts"
import { stopRun } from "../services/api.ts"
import type { Session } from "../wire/types.ts"
import { Boundary } from "./Boundary.tsx"
import { Chat } from "./Chat.tsx"
import { Icon, Mark } from "./icons.tsx"
import { LocaleContext, useLocale, useSay } from "./language.tsx"
import { PanelSlot, usePanelOpen } from "./PanelSlot.tsx"
import { BottomTabs, Sidebar, stepSession } from "./Sidebar.tsx"

const Inbox = part(() => import("./Inbox.tsx"))
const Sessions = part(() => import("./Sessions.tsx"))
const Manual = part(() => import("./Manual.tsx"))
const Settings = part(() => import("./settings/Settings.tsx"))
const Assistants = part(() => import("./assistants/Assistants.tsx"))
const Palette = part(() => import("./Palette.tsx"))
const PageRequestDialog = part(async () => ({ default: (await import("./Dialogs.tsx")).PageRequestDialog }))
const LinkDialog = part(async () => ({ default: (await import("./Dialogs.tsx")).LinkDialog }))

/** After this the server is not coming back by itself: the bar says what to do. */
const GONE_S = 20

export function App() {
  const { status, route, feed } = useFields(app, "status", "route", "feed")
  const locale = useStore(app, (state) => openSession(state)?.locale ?? state.locale)
  const isPanelOpen = usePanelOpen()
  const panelFeed = route.screen === "chat" && isPanelOpen && feed?.sessionId === route.sessionId ? feed : null

  useEffect(() => {
    // A file that is dropped beside its place is not opened in place of the application.
    const keepPage = (event: DragEvent) => event.preventDefault()
    document.addEventListener("keydown", onKey)
    document.addEventListener("dragover", keepPage)
    document.addEventListener("drop", keepPage)
    return () => {
      document.removeEventListener("keydown", onKey)
      document.removeEventListener("dragover", keepPage)
      document.removeEventListener("drop", keepPage)
    }
  }, [])

  return (
    <LocaleContext value={locale}>
      {status === "ready" ? (
        <div className={panelFeed === null ? "app" : "app with-panel"}>
          <Sidebar />
          <main className="stage">
            <ConnectionBar />
            <OutageBar />
            <OutdatedBar />
            <Boundary place={routeTo(route)}>
              <Suspense>
                <Screen />
              </Suspense>
            </Boundary>
          </main>
          {panelFeed !== null && <PanelSlot key={panelFeed.sessionId} feed={panelFeed} />}
          <BottomTabs />
        </div>
      ) : (
        <NotReady />
      )}
      <DocumentHead />
      <Notices />
      <Overlays />
    </LocaleContext>
  )
}

const openSession = (state: AppState): Session | undefined =>
  state.route.screen === "chat" ? findSession(state, state.route.sessionId) : undefined

/** What the document says of itself: language, title and theme. Draws nothing. */
function DocumentHead() {
  const locale = useLocale()
  const theme = useStore(app, ({ theme }) => theme)
  const title = useStore(app, (state) => openSession(state)?.title)
  const questionCount = useStore(app, ({ inbox }) => questionsOf(inbox).length)
  useEffect(() => {
    document.documentElement.lang = locale
    const name = speaker(locale)("madang")
    document.title = `${questionCount > 0 ? `(${questionCount}) ` : ""}${title ? `${title} · ` : ""}${name}`
  }, [locale, questionCount, title])
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }, [theme])
  return null
}

/** What stands over every screen. */
function Overlays() {
  const { route, isPaletteOpen, link, pageRequest } = useFields(app, "route", "isPaletteOpen", "link", "pageRequest")
  return (
    <Boundary place={`${routeTo(route)} ${isPaletteOpen}`}>
      {isPaletteOpen && (
        <Suspense>
          <Palette />
        </Suspense>
      )}
      {link !== null && (
        <Suspense>
          <LinkDialog />
        </Suspense>
      )}
      {pageRequest !== null && (
        <Suspense>
          <PageRequestDialog />
        </Suspense>
      )}
    </Boundary>
  )
}

function Screen() {
  const route = useStore(app, ({ route }) => route)
  switch (route.screen) {
    case "chat":
      return <Chat sessionId={route.sessionId} messageId={route.messageId ?? ""} />
    case "inbox":
      return <Inbox itemId={route.itemId} />
    case "sessions":
      return <Sessions />
    case "manual":
      return <Manual toolName={route.tool} />
    case "settings":
      return <Settings tab={route.tab} />
    case "assistants":
      return <Assistants assistantId={route.assistantId} />
  }
}

/** The database does not answer: nothing can be stored, and nothing is lost. */
function OutageBar() {
  const say = useSay()
  const feed = useStore(app, ({ feed }) => feed)
  const outage = useFeed(feed, (state) => state?.talk.outage ?? "")
  if (outage === "") return null
  return (
    <div className="note wait flat" role="status">
      <Icon name="plug" small />
      <span className="grow">
        {outage}
        <br />
        <span className="xs">{say("runsWait")}</span>
      </span>
    </div>
  )
}

/** Never a dialog: what is on the screen and what was typed stays. */
function ConnectionBar() {
  const say = useSay()
  const { feed, lostAt } = useFields(app, "feed", "lostAt")
  const isCut = useFeed(feed, (state) => state?.isConnected === false)
  const isLost = lostAt !== 0 || isCut
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    setSeconds(0)
    if (!isLost) return
    const timer = setInterval(() => setSeconds((now) => now + 1), 1000)
    return () => {
      clearInterval(timer)
      void checkBuild() // who is back may have been upgraded
    }
  }, [isLost])
  if (!isLost) return null
  return (
    <div className="note wait flat" role="status">
      <Icon name="plug" small />
      <span className="grow">
        {say("connectionLost")}
        <span aria-hidden="true" className="num">
          {seconds > 0 && ` · ${say("seconds", { seconds })}`}
        </span>
        <br />
        <span className="xs">{say(seconds < GONE_S ? "nothingLost" : "serverGone")}</span>
      </span>
      <button type="button" className="btn quiet" onClick={retryNow}>
        {say("now")}
      </button>
    </div>
  )
}

/** Before it breaks at the first part that is not there any more. */
function OutdatedBar() {
  const say = useSay()
  const isOutdated = useStore(app, ({ isOutdated }) => isOutdated)
  if (!isOutdated) return null
  return (
    <div className="note wait flat" role="status">
      <Icon name="warning" small />
      <span className="grow">
        {say("outdated")}
        <br />
        <span className="xs">{say("draftsStay")}</span>
      </span>
      <button type="button" className="btn" onClick={() => location.reload()}>
        {say("reloadPage")}
      </button>
    </div>
  )
}

function NotReady() {
  const say = useSay()
  const status = useStore(app, ({ status }) => status)
  if (status === "starting")
    return (
      <p className="vh" role="status">
        {say("loading")}
      </p>
    )
  return (
    <main>
      <div className="welcome" role="alert">
        <div className="yard">
          <Mark />
        </div>
        <h1>
          {say(status === "unreachable" ? "unreachable" : status === "launch_failed" ? "launchFailed" : "noToken")}
        </h1>
        <p>{say("noTokenHint")}</p>
        <pre className="code">madang web</pre>
        {status === "unreachable" && (
          <p className="row" role="status">
            <span className="spin" />
            {say("stillTrying")}
          </p>
        )}
      </div>
    </main>
  )
}

function Notices() {
  const say = useSay()
  const notices = useStore(app, ({ notices }) => notices)
  return (
    <div className="notices" role="status">
      {notices.map((notice) => (
        <div key={notice.id} className={`note raised ${notice.isError ? "bad" : ""}`}>
          <span className="grow">{notice.text}</span>
          {notice.undo && (
            <button
              type="button"
              className="btn quiet"
              onClick={() => {
                notice.undo?.()
                dismiss(notice.id)
              }}
            >
              {say("undo")}
            </button>
          )}
          <button type="button" className="ib" aria-label={say("close")} onClick={() => dismiss(notice.id)}>
            <Icon name="cross" small />
          </button>
        </div>
      ))}
    </div>
  )
}

let isAfterG = false

/** ⌘K palette, ⌘. panel, ⌥↑↓ sessions, `g i` inbox, Esc stops; `/` belongs to the composer where it has the focus. */
function onKey(event: KeyboardEvent): void {
  if (event.isComposing || event.defaultPrevented || app.get().status !== "ready") return
  const isCommand = event.metaKey || event.ctrlKey
  const isTyping = (event.target as HTMLElement).closest?.("input, textarea, select, [contenteditable]") !== null
  const wasAfterG = isAfterG
  isAfterG = false
  if (isCommand && event.key.toLowerCase() === "k") {
    event.preventDefault()
    app.update({ isPaletteOpen: true })
  } else if (isCommand && event.key === ".") {
    event.preventDefault()
    togglePanel()
  } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault()
    void stepSession(event.key === "ArrowDown" ? 1 : -1)
  } else if (event.key === "Escape") {
    if (app.get().isPaletteOpen)
      app.update({ isPaletteOpen: false }) // it may be on its way yet
    else stopWhatRuns()
  } else if (!isTyping && !isCommand && event.key === "/") {
    event.preventDefault()
    // A screen that lists something has a field of its own.
    const field = document.querySelector<HTMLElement>('main [aria-keyshortcuts="/"]')
    if (field?.checkVisibility()) field.focus()
    else app.update({ isPaletteOpen: true })
  } else if (!isTyping && !isCommand && event.key === "g") {
    isAfterG = true
  } else if (!isTyping && wasAfterG && event.key === "i") {
    go({ screen: "inbox", itemId: "" })
  }
}

function stopWhatRuns(): void {
  const { route, feed } = app.get()
  if (route.screen !== "chat" || feed?.sessionId !== route.sessionId) return
  if (document.querySelector("[role=dialog], [role=alertdialog], [role=menu]")) return
  if (feed.store.get().talk.run.state === "running") void stopRun(feed.sessionId).catch(report)
}
