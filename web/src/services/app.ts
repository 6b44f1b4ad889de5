/** What the whole application shares, and the only places that change it. */

import {
  ApiError,
  borrowToken,
  createSession,
  deleteSession,
  doubtServer,
  forgetToken,
  getMe,
  getSession,
  hasToken,
  keepWantedPlace,
  lendToken,
  listInbox,
  listSessions,
  takeLaunchCode,
  Unreachable,
  updateSession,
} from "./api.ts"
import type { InboxItem, Locale, Me, PausesValue, Session, SessionsValue } from "../wire/types.ts"
import { followAll, type Following } from "./stream.ts"
import { nextAssistant } from "../core/choices.ts"
import { TalkFeed, type FeedListener } from "./feed.ts"
import { mergeInbox } from "../core/inbox.ts"
import { dropOwn } from "./manual.ts"
import { parseRoute, routeTo, type Route } from "../core/route.ts"
import { speaker } from "../texts.ts"
import { mergeSessions } from "../core/sessions.ts"
import { Store } from "./store.ts"
import { NEW_TOUR, type Tour } from "../core/tour.ts"
import { readTour, writeTour } from "./tour.ts"

const REFRESH_AFTER_MS = 150
const START_RETRY_MS = 1_000
const NOTICE_MS = 6_000
const LOCALE_KEY = "madang.locale"
const THEME_KEY = "madang.theme"
const PANEL_KEY = "madang.panel"

export type Theme = "system" | "light" | "dark"

export interface Notice {
  id: number
  text: string
  isError: boolean
  undo?: () => void
}

/** What a page of another server wants to do in the person's name, and waits for their word. */
export interface PageRequest {
  kind: "message" | "file"
  server: string
  text: string
  answer: (isAllowed: boolean) => void
}

export interface AppState {
  status: "starting" | "unreachable" | "no_token" | "launch_failed" | "ready"
  me: Me | null
  route: Route
  sessions: readonly Session[]
  /** The open session, where it is archived or older than those in the list. */
  opened: Session | null
  inbox: readonly InboxItem[]
  feed: TalkFeed | null
  /** Since when the server is not reached, on screens without a stream; 0 while it is. */
  lostAt: number
  /** The server was upgraded: it has no longer what this page would load. */
  isOutdated: boolean
  locale: Locale
  theme: Theme
  /** Whose the person wants the next session to be; empty: they have not said. */
  nextAssistantId: string
  /** The session that was made for files before its first message. */
  madeSessionId: string
  notices: readonly Notice[]
  isPaletteOpen: boolean
  /** The panels as a column beside the talk. */
  isPanelOpen: boolean
  /** The panels over the talk, where there is no room beside it: only ever by a press. */
  isSheetOpen: boolean
  tour: Tour
  /** An address that a page or an answer wants to open, until the person says whether. */
  link: { url: string; answer: (isAllowed: boolean) => void } | null
  pageRequest: PageRequest | null
}

export const app = new Store<AppState>({
  status: "starting",
  me: null,
  route: parseRoute(location.hash),
  sessions: [],
  opened: null,
  inbox: [],
  feed: null,
  lostAt: 0,
  isOutdated: false,
  locale: readLocale() ?? (isKorean(navigator.language) ? "ko" : "en"),
  theme: readTheme(),
  nextAssistantId: "",
  madeSessionId: "",
  notices: [],
  isPaletteOpen: false,
  isPanelOpen: localStorage.getItem(PANEL_KEY) !== "closed",
  isSheetOpen: false,
  tour: readTour(),
  link: null,
  pageRequest: null,
})

/** Start: trade the launch code, then read what the first screen needs; try again until the server answers. */
export async function start(): Promise<void> {
  try {
    await takeLaunchCode()
  } catch (error) {
    if (!hasToken()) return waitForLaunch(error instanceof ApiError ? "launch_failed" : "unreachable")
  }
  if (!hasToken() && !(await borrowToken())) return waitForLaunch()
  lendToken()
  for (;;) {
    try {
      const [me, sessions, inbox] = await Promise.all([getMe(), listSessions(), listInbox()])
      app.update({
        status: "ready",
        me,
        sessions,
        inbox,
        // English is what both fall back to: Korean in either is somebody's choice.
        locale: readLocale() ?? (isKorean(navigator.language) ? "ko" : me.locale),
        route: parseRoute(location.hash),
      })
      break
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return loseToken()
      app.update({ status: "unreachable" })
      await new Promise((resolve) => setTimeout(resolve, START_RETRY_MS))
    }
  }
  followRoute()
  window.addEventListener("hashchange", followRoute)
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") return
    doubtServer() // a browser may have let the tab sleep, and it would hear only later that the stream has ended
    void refresh()
    void refreshMe() // models and assistants may have been changed in the tab that was looked at
  })
}

/** A tab that is not let in goes on when a launch address is put into it, at the place that it was opened for. */
function waitForLaunch(status: "no_token" | "launch_failed" | "unreachable" = "no_token"): void {
  keepWantedPlace()
  app.update({ status, feed: null })
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#launch=")) location.reload()
    else keepWantedPlace()
  })
}

export function go(route: Route): void {
  location.hash = routeTo(route)
}

/** Without a step in the history: moving among things that were found. */
export function goQuietly(route: Route): void {
  location.replace(routeTo(route))
}

function followRoute(): void {
  const route = parseRoute(location.hash)
  const isInPanel = route.screen === "chat" && (route.file !== undefined || route.playbook !== undefined)
  app.update({
    route,
    isSheetOpen: isInPanel && matchMedia(NARROW).matches,
    ...(isInPanel && { isPanelOpen: true }),
  })
  if (route.screen === "chat" && route.sessionId !== "") openFeed(route.sessionId)
  else followOutside()
}

let outside: Following | null = null

/** Where no session is open, a stream of its own tells of the inbox and the sessions. */
function followOutside(): void {
  if (app.get().feed !== null || outside !== null) return
  outside = followAll({
    onEvent: (event) => {
      if (event.type !== "CUSTOM") return
      if (event.name === "madang/sessions") takeSessions(event.value)
      else if (event.name === "madang/pauses") takeInbox(event.value)
    },
    onConnection: (isOpen) => {
      const { lostAt } = app.get()
      if (isOpen === (lostAt === 0)) return
      app.update({ lostAt: isOpen ? 0 : Date.now() })
      if (isOpen) refreshSoon()
    },
    onReset: () => leaveOutside(),
    onRefused: report,
  })
}

function leaveOutside(): void {
  outside?.close()
  outside = null
  app.update({ lostAt: 0 })
}

export function retryNow(): void {
  outside?.retryNow()
  app.get().feed?.retryNow()
  void refresh()
}

/** One stream is open at a time. It stays open on other screens, for it also tells of the inbox. */
export function openFeed(sessionId: string): void {
  const { feed } = app.get()
  if (feed?.sessionId === sessionId && feed.store.get().status !== "gone") return
  feed?.close()
  leaveOutside()
  app.update({ feed: new TalkFeed(sessionId, feedListener) })
  void readOpened()
}

async function readOpened(): Promise<void> {
  const { feed, sessions } = app.get()
  if (feed === null || sessions.some(({ id }) => id === feed.sessionId)) return
  const opened = await getSession(feed.sessionId).catch(() => null)
  if (app.get().feed === feed) app.update({ opened })
}

export const feedListener: FeedListener = {
  onSessions: takeSessions,
  onInbox: takeInbox,
  onConnected: refreshSoon,
  onTokenLost: loseToken,
}

/** Put in what the stream has told of the list of sessions: nothing is asked for that. */
function takeSessions(changed: SessionsValue): void {
  if (changed.isIncomplete || refreshes > 0) return refreshSoon() // an answer on its way may be the older one
  const { sessions, feed, opened } = app.get()
  app.update({
    sessions: mergeSessions(sessions, changed),
    opened: changed.sessions.find(({ id }) => id === feed?.sessionId) ?? opened,
  })
}

/** Put in what the stream has told of the inbox; only what it has not told is asked for. */
function takeInbox(told: PausesValue): void {
  const inbox = refreshes > 0 ? null : mergeInbox(app.get().inbox, told)
  if (inbox === null) return refreshSoon()
  app.update({ inbox })
}

/** Read anew what the first screen needs: models and assistants have changed. */
export async function refreshMe(): Promise<void> {
  try {
    app.update({ me: await getMe() })
  } catch (error) {
    report(error)
  }
}

let refreshTimer: ReturnType<typeof setTimeout> | undefined
/** Counts what makes an answer that is still on its way out of date. */
let listsVersion = 0
let refreshes = 0

/** Once for all that changes within a moment; changes that never end do not put it off for ever. */
export function refreshSoon(): void {
  refreshTimer ??= setTimeout(() => {
    refreshTimer = undefined
    void refresh()
  }, REFRESH_AFTER_MS)
}

export async function refresh(): Promise<void> {
  const version = ++listsVersion
  refreshes++
  try {
    const [sessions, inbox] = await Promise.all([listSessions(), listInbox()])
    if (version !== listsVersion) return // a later one is on its way, and may be here first
    app.update({ sessions, inbox })
    await readOpened()
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) loseToken()
  } finally {
    refreshes--
  }
}

/** Take what is settled out of the inbox before it is read again. */
export function dropFromInbox(pauseId: string): void {
  listsVersion++
  app.update({ inbox: app.get().inbox.filter(({ id }) => id !== pauseId) })
}

export function loseToken(): void {
  forgetToken()
  app.get().feed?.close()
  leaveOutside()
  waitForLaunch()
}

/* Sessions */

export async function newSession(): Promise<Session> {
  const { locale, ...shared } = app.get()
  const { id: assistantId } = nextAssistant(shared)
  const session = await createSession({ locale, ...(assistantId !== "" && { assistantId }) })
  app.update({ sessions: [session, ...app.get().sessions] })
  return session
}

export async function changeSession(id: string, values: Parameters<typeof updateSession>[1]): Promise<void> {
  await updateSession(id, values)
  await refresh()
}

export async function archiveSession(session: Session, text: string): Promise<void> {
  await changeSession(session.id, { isArchived: true })
  leave(session.id)
  notify(text, { undo: () => void changeSession(session.id, { isArchived: false }) })
}

export async function removeSession(id: string): Promise<void> {
  await deleteSession(id)
  dropOwn(id)
  leave(id)
  await refresh()
}

function leave(sessionId: string): void {
  const { feed, route } = app.get()
  if (feed?.sessionId === sessionId) {
    feed.close()
    app.update({ feed: null })
    followOutside()
  }
  if (route.screen === "chat" && route.sessionId === sessionId) go({ screen: "chat", sessionId: "" })
}

/* Notices */

let noticeCount = 0

export function notify(text: string, options: { isError?: boolean; undo?: () => void } = {}): void {
  const { isError = false, undo } = options
  const notice: Notice = { id: ++noticeCount, text, isError, ...(undo && { undo }) }
  app.update({ notices: [...app.get().notices, notice] })
  setTimeout(() => dismiss(notice.id), NOTICE_MS)
}

export function dismiss(id: number): void {
  app.update({ notices: app.get().notices.filter((notice) => notice.id !== id) })
}

/** Tell the person of an error of the server's in its own words: it has spoken in their language. */
export function report(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) return loseToken()
  if (error instanceof ApiError) notify([error.message, error.hint].filter(Boolean).join(" "), { isError: true })
  else if (error instanceof Unreachable) notify(speaker(app.get().locale)("unreachable"), { isError: true })
  else throw error
}

/* The tour of the first run */

export function setTour(tour: Tour): void {
  writeTour(tour)
  app.update({ tour })
}

/** From the menu: from its beginning. */
export function startTour(): void {
  setTour({ ...NEW_TOUR, isWanted: true })
  go({ screen: "chat", sessionId: "" })
}

/* Addresses outside */

/** Ask the person before an address is opened. One at a time: a page cannot pile them up. */
export function askLink(url: string): Promise<boolean> {
  if (app.get().link !== null) return Promise.resolve(false)
  return new Promise((answer) => app.update({ link: { url, answer } }))
}

export function answerLink(isAllowed: boolean): void {
  const { link } = app.get()
  app.update({ link: null })
  link?.answer(isAllowed)
}

/** Ask the person before a page of another server speaks for them or leaves a file. One at a time, as above. */
export function askForPage(kind: PageRequest["kind"], server: string, text: string): Promise<boolean> {
  if (app.get().pageRequest !== null) return Promise.resolve(false)
  return new Promise((answer) => app.update({ pageRequest: { kind, server, text, answer } }))
}

export function answerPage(isAllowed: boolean): void {
  const { pageRequest } = app.get()
  app.update({ pageRequest: null })
  pageRequest?.answer(isAllowed)
}

/* Choices of this browser */

export function setLocale(locale: Locale): void {
  localStorage.setItem(LOCALE_KEY, locale)
  app.update({ locale })
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(THEME_KEY, theme)
  app.update({ theme })
}

export const NARROW = "(max-width: 1180px)"

export function togglePanel(): void {
  const { isPanelOpen, isSheetOpen } = app.get()
  if (matchMedia(NARROW).matches) return app.update({ isSheetOpen: !isSheetOpen })
  localStorage.setItem(PANEL_KEY, isPanelOpen ? "closed" : "open")
  app.update({ isPanelOpen: !isPanelOpen })
}

function isKorean(language: string): boolean {
  return language.startsWith("ko")
}

function readLocale(): Locale | null {
  const value = localStorage.getItem(LOCALE_KEY)
  return value === "ko" || value === "en" ? value : null
}

function readTheme(): Theme {
  const value = localStorage.getItem(THEME_KEY)
  return value === "light" || value === "dark" ? value : "system"
}
