/** The talk of one session, kept up with the server: its newest page, then its events, folded once per frame. */

import { ApiError, getMessages } from "./api.ts"
import { follow, type Following } from "./stream.ts"
import type { PausesValue, RunEvent, SessionsValue } from "../wire/types.ts"
import { fold } from "../core/fold.ts"
import { addImages, addOlder, EMPTY_TALK, oldestSeq, openTalk, type Talk } from "../core/talk.ts"
import { Store, useStore } from "./store.ts"

const PAGE_SIZE = 60
const RETRY_MS = 1_000
/** Between two folds: words that come thirty times a second read as if they flowed, and leave half of the frames free. */
const MIN_FOLD_MS = 30
/** A tab that is not seen gets no animation frames. */
const HIDDEN_FOLD_MS = 250

export interface Feed {
  sessionId: string
  status: "loading" | "ready" | "gone"
  talk: Talk
  isConnected: boolean
  /** Counts what was sent from here: the end of the talk is wanted then. */
  endsWanted: number
}

/** What a stream tells beside the talk. */
export interface FeedListener {
  onSessions(changed: SessionsValue): void
  onInbox(told: PausesValue): void
  /** What was told while no stream was open is not told again. */
  onConnected(): void
  onTokenLost(): void
}

/** Whether a message has images, which are too large for events. */
const hasImages = (event: RunEvent) => event.type === "TEXT_MESSAGE_END" && (event.metadata?.images ?? 0) > 0

export class TalkFeed {
  readonly store: Store<Feed>
  readonly #listener: FeedListener
  #following: Following | null = null
  #pending: RunEvent[] = []
  #isScheduled = false
  #foldedAt = 0
  #isClosed = false
  #isLoadingOlder = false

  constructor(
    readonly sessionId: string,
    listener: FeedListener,
  ) {
    this.store = new Store<Feed>({ sessionId, status: "loading", talk: EMPTY_TALK, isConnected: true, endsWanted: 0 })
    this.#listener = listener
    void this.#open()
  }

  close(): void {
    this.#isClosed = true
    this.#following?.close()
  }

  showEnd(): void {
    this.store.update({ endsWanted: this.store.get().endsWanted + 1 })
  }

  retryNow(): void {
    this.#following?.retryNow()
  }

  async loadOlder(): Promise<void> {
    const { talk } = this.store.get()
    if (!talk.hasOlder || this.#isLoadingOlder) return
    this.#isLoadingOlder = true
    try {
      const page = await getMessages(this.sessionId, oldestSeq(talk), PAGE_SIZE)
      this.store.update({ talk: addOlder(this.store.get().talk, page) })
    } finally {
      this.#isLoadingOlder = false
    }
  }

  async #open(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const page = await getMessages(this.sessionId, undefined, PAGE_SIZE)
        if (this.#isClosed) return
        this.store.update({ status: "ready", isConnected: true, talk: openTalk(page) })
        this.#follow(page.lastSeq)
        return
      } catch (error) {
        if (error instanceof ApiError && error.status < 500) return this.#leave(error)
        this.store.update({ isConnected: false })
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  #follow(after: number): void {
    this.#following = follow(this.sessionId, after, {
      onEvent: (event) => {
        if (event.type === "CUSTOM" && event.name === "madang/sessions") return this.#listener.onSessions(event.value)
        if (event.type === "CUSTOM" && event.name === "madang/pauses") return this.#listener.onInbox(event.value)
        this.#pending.push(event)
        this.#schedule()
      },
      onConnection: (isConnected) => {
        this.store.update({ isConnected })
        if (isConnected) this.#listener.onConnected()
      },
      onReset: () => {
        this.#following?.close()
        void this.#open()
      },
      onRefused: (error) => this.#leave(error),
    })
  }

  #leave(error: ApiError): void {
    this.store.update({ status: "gone" })
    if (error.status === 401) this.#listener.onTokenLost()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    const foldInFrame = () => requestAnimationFrame(() => this.#foldPending())
    const waitMs = this.#foldedAt + MIN_FOLD_MS - performance.now()
    if (document.visibilityState !== "visible") setTimeout(() => this.#foldPending(), HIDDEN_FOLD_MS)
    else if (waitMs > 0) setTimeout(foldInFrame, waitMs)
    else foldInFrame()
  }

  #foldPending(): void {
    this.#isScheduled = false
    this.#foldedAt = performance.now()
    const events = this.#pending
    this.#pending = []
    if (this.#isClosed) return
    const before = this.store.get().talk
    const after = events.reduce(fold, before)
    if (after === before) return
    this.store.update({ talk: after })
    if (events.some(hasImages)) void this.#loadImages()
  }

  async #loadImages(): Promise<void> {
    try {
      const page = await getMessages(this.sessionId, undefined, PAGE_SIZE)
      if (!this.#isClosed) this.store.update({ talk: addImages(this.store.get().talk, page) })
    } catch {
      // They are read again at the next opening.
    }
  }
}

const NO_FEED = new Store<Feed | null>(null)

/** What a feed has, or what `select` takes of it; null where there is no feed. */
export function useFeed(feed: TalkFeed | null): Feed | null
export function useFeed<Selection>(feed: TalkFeed | null, select: (state: Feed | null) => Selection): Selection
export function useFeed(feed: TalkFeed | null, select: (state: Feed | null) => unknown = (state) => state): unknown {
  return useStore<Feed | null, unknown>(feed?.store ?? NO_FEED, select)
}
