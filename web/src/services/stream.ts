/** The event stream of a session: read, resumed by sequence number after every break, until it is closed. */

import { ApiError, doubtServer, request, segmentOf } from "./api.ts"
import { SseParser } from "../core/sse.ts"
import type { RunEvent } from "../wire/types.ts"

export const FIRST_RETRY_MS = 250
export const MAX_RETRY_MS = 5_000
/** The server sends a comment every 15 s: after three without one the connection is dead, though nobody said so. */
const SILENCE_MS = 45_000

export interface StreamListener {
  /** Events in order; a stored one never comes twice, and never after a missing one. */
  onEvent(event: RunEvent): void
  onConnection(isOpen: boolean): void
  /** The log is not the one that the reader knows: it has to be read anew, and the stream has ended. */
  onReset(): void
  /** The server refuses for good: the session is gone, or the token is. */
  onRefused(error: ApiError): void
}

export type OpenStream = (path: string, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>

/** Why a stored event is not taken: it came already, or one before it is missing. */
export function judgeSeq(last: number, seq: number): "next" | "known" | "gap" {
  if (seq <= last) return "known"
  return seq === last + 1 ? "next" : "gap"
}

class LogReset extends Error {}

export interface Following {
  close(): void
  /** Do not wait for the next attempt. */
  retryNow(): void
}

/** Follow a session after a sequence number, until it is closed. */
export function follow(
  sessionId: string,
  after: number,
  listener: StreamListener,
  open: OpenStream = openStream,
): Following {
  const path = `/api/sessions/${segmentOf(sessionId)}/events`
  return followPath((last) => `${path}?after=${last}`, after, listener, open)
}

/** Follow what changes outside of sessions: the inbox, the list of sessions. Nothing of it is stored. */
export function followAll(listener: StreamListener, open: OpenStream = openStream): Following {
  return followPath(() => "/api/events", 0, listener, open)
}

function followPath(
  pathAfter: (last: number) => string,
  after: number,
  listener: StreamListener,
  open: OpenStream,
): Following {
  const closing = new AbortController()
  let last = after
  let wake: () => void = () => {}

  async function read(signal: AbortSignal, heard: () => void): Promise<void> {
    const body = await open(pathAfter(last), signal)
    listener.onConnection(true)
    const parser = new SseParser()
    const decoder = new TextDecoder()
    const reader = body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      heard()
      for (const { id, data } of parser.push(decoder.decode(value, { stream: true }))) {
        const event = JSON.parse(data) as RunEvent
        if (event.type === "CUSTOM" && event.name === "madang/resync") {
          if (event.value.reason === "gap" || event.value.reason === "beyond") throw new LogReset()
          return
        }
        if (id !== "") {
          const seq = Number(id)
          const place = judgeSeq(last, seq)
          if (place === "known") continue
          if (place === "gap") return // asked again after `last`, the server sends what is missing
          last = seq
          event.seq = seq
        }
        listener.onEvent(event)
      }
    }
  }

  async function loop(): Promise<void> {
    let wait = FIRST_RETRY_MS
    while (!closing.signal.aborted) {
      const attempt = new AbortController()
      const cancel = () => attempt.abort()
      closing.signal.addEventListener("abort", cancel)
      let timer = setTimeout(cancel, SILENCE_MS)
      const heard = () => {
        wait = FIRST_RETRY_MS
        clearTimeout(timer)
        timer = setTimeout(cancel, SILENCE_MS)
      }
      try {
        await read(attempt.signal, heard)
      } catch (error) {
        if (error instanceof LogReset) {
          if (!closing.signal.aborted) listener.onReset()
          return
        }
        if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
          if (!closing.signal.aborted) listener.onRefused(error)
          return
        }
      } finally {
        clearTimeout(timer)
        attempt.abort()
        closing.signal.removeEventListener("abort", cancel)
      }
      if (closing.signal.aborted) return
      doubtServer()
      listener.onConnection(false)
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, wait)
      })
      wait = Math.min(wait * 2, MAX_RETRY_MS)
    }
  }

  const retryNow = () => wake()
  globalThis.addEventListener?.("online", retryNow)
  globalThis.document?.addEventListener("visibilitychange", retryNow)
  void loop()
  return {
    retryNow,
    close() {
      closing.abort()
      wake()
      globalThis.removeEventListener?.("online", retryNow)
      globalThis.document?.removeEventListener("visibilitychange", retryNow)
    },
  }
}

async function openStream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await request("GET", path, { signal, headers: { Accept: "text/event-stream" } })
  if (response.body === null) throw new Error("The stream has no body.")
  return response.body
}
