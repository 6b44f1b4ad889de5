/** Files on their way to the server: a few at a time, in their order. They go on when a panel is closed. */

import { Store } from "./store.ts"

export interface UploadTarget {
  sessionId: string
  /** Where it shows. */
  panel: "files" | "contents"
  name: string
}

export interface Upload extends UploadTarget {
  id: number
  /** null: it waits for others. */
  startedAt: number | null
  /** Of 1; all of it is sent while the server still reads the file. */
  share: number
  cancel: () => void
}

/** What sends the file; it is rejected when the signal is given. */
type Send<T> = (signal: AbortSignal, onProgress: (share: number) => void) => Promise<T>

/** The server takes four, and refuses what waits too long behind them. */
export const MAX_AT_ONCE = 3

export const uploads = new Store<readonly Upload[]>([])

let count = 0
let sending = 0
const waiting: (() => void)[] = []

/** Send a file when it is its turn. Without an answer it was cancelled. */
export async function sendFile<T>(target: UploadTarget, send: Send<T>): Promise<T | undefined> {
  const controller = new AbortController()
  const { signal } = controller
  const id = ++count
  const change = (values: Partial<Upload>) =>
    uploads.set(uploads.get().map((one) => (one.id === id ? { ...one, ...values } : one)))
  uploads.set([...uploads.get(), { ...target, id, startedAt: null, share: 0, cancel: () => controller.abort() }])
  try {
    await turn(signal)
    try {
      change({ startedAt: Date.now() })
      return await send(signal, (share) => change({ share }))
    } finally {
      sending -= 1
      waiting.shift()?.()
    }
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  } finally {
    uploads.set(uploads.get().filter((one) => one.id !== id))
  }
}

/** Wait until one more may be sent; whoever gives up loses their place. */
function turn(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = () => {
      signal.removeEventListener("abort", leave)
      sending += 1
      resolve()
    }
    const leave = () => {
      waiting.splice(waiting.indexOf(begin), 1)
      reject(new DOMException("", "AbortError"))
    }
    if (sending < MAX_AT_ONCE) return begin()
    signal.addEventListener("abort", leave, { once: true })
    waiting.push(begin)
  })
}
