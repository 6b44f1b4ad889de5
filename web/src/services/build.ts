/** Whether the server still has the front end that runs here, and loading late parts of it. */

import { trustServer } from "./api.ts"

const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 5_000
const TIMEOUT_MS = 10_000
/** A part that the right server does not give so often cannot be had: some browsers remember a failure. */
export const MAX_FAILURES = 3

/**
 * Another build has files of other names. `null`: the server is not reached, or is not ours: whoever took its port must
 * not bring the person to load a page of theirs.
 */
export async function isSameBuild(): Promise<boolean | null> {
  const script = document.querySelector("script[type=module]")?.getAttribute("src")
  try {
    await trustServer()
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await fetch("/", { credentials: "omit", cache: "no-store", redirect: "error", signal })
    return response.ok ? (await response.text()).includes(`"${script}"`) : null
  } catch {
    return null
  }
}

interface Server {
  /** Throws unless the server has shown that it is ours: what it gives would run here, and could read the token. */
  trustServer: () => Promise<void>
  doubtServer: () => void
  isSameBuild: () => Promise<boolean | null>
  onOtherBuild: () => void
  wait?: (ms: number) => Promise<void>
}

export class PartLoader {
  readonly #server: Required<Server>

  constructor(server: Server) {
    this.#server = { wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)), ...server }
  }

  /** Load a part as soon as the server is there. From one with another build nothing comes, for the page is too old. */
  async load<T>(load: () => Promise<T>): Promise<T> {
    const { trustServer, doubtServer, isSameBuild, onOtherBuild, wait } = this.#server
    let failures = 0
    for (let ms = FIRST_RETRY_MS; ; ms = Math.min(ms * 2, MAX_RETRY_MS)) {
      try {
        await trustServer()
        return await load()
      } catch (error) {
        doubtServer()
        const isSame = await isSameBuild()
        if (isSame === false) {
          onOtherBuild()
          return new Promise(() => {})
        }
        if (isSame && ++failures === MAX_FAILURES) throw error
      }
      await wait(ms)
    }
  }
}
