/** Saves changes as they are made, one request after the other: what is changed meanwhile goes with the next one. */

import { Store } from "./store.ts"

export interface Saving {
  status: "saved" | "saving" | "failed"
  /** When it was saved last; 0: not yet. */
  savedAt: number
}

interface Saved {
  version: number
}

export class Saver<Patch extends object, Answer extends Saved> {
  readonly store = new Store<Saving>({ status: "saved", savedAt: 0 })
  #pending: Patch | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #running: Promise<void> | null = null

  constructor(
    private version: number,
    private readonly send: (patch: Patch & { version: number }) => Promise<Answer>,
    private readonly onSaved: (answer: Answer) => void,
    /** What was pending is gone: the caller shows how things stand. */
    private readonly onError: (error: unknown) => void,
    private readonly delayMs = 500,
  ) {}

  change(patch: Patch): void {
    this.#pending = { ...this.#pending, ...patch } as Patch
    this.store.update({ status: "saving" })
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.flush(), this.delayMs)
  }

  /** Save what is pending now, and wait for it. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#running
    if (this.#pending === null) return
    this.#running = this.#save(this.#pending)
    this.#pending = null
    await this.#running
    this.#running = null
    if (this.#pending !== null) await this.flush()
  }

  /** Go on from another version, which was read after a refusal. */
  restart(version: number): void {
    this.version = version
  }

  async #save(patch: Patch): Promise<void> {
    try {
      const answer = await this.send({ ...patch, version: this.version })
      this.version = answer.version
      this.store.set({ status: this.#pending === null ? "saved" : "saving", savedAt: Date.now() })
      this.onSaved(answer)
    } catch (error) {
      this.#pending = null
      this.store.update({ status: "failed" })
      this.onError(error)
    }
  }
}
