/** Whether the server is still ours: when it has ended, a program of another account may have taken its port. */

const TIMEOUT_MS = 5_000

export type Verdict = "ours" | "another" | "unreachable"
export type Ask = (path: string) => Promise<Response>

/**
 * What this tab knows of the server. The page itself came from it, so at first it is ours. Once it was lost, it has to
 * show that it knows the tab's token before it is sent that token again.
 */
export class ServerTrust {
  readonly #origin: string
  readonly #ask: Ask
  #verdict: Promise<Verdict> | null = Promise.resolve("ours")

  constructor(origin: string, ask: Ask = askServer) {
    this.#origin = origin
    this.#ask = ask
  }

  /** It may be another one from now on. */
  doubt(): void {
    this.#verdict = null
  }

  /** Ask the server, if it is in doubt; all who wait share the question. */
  async judge(token: string): Promise<Verdict> {
    for (;;) {
      const asked = (this.#verdict ??= this.#prove(token))
      const verdict = await asked
      if (this.#verdict !== asked) continue // in doubt again meanwhile
      if (verdict !== "ours") this.#verdict = null
      return verdict
    }
  }

  async #prove(token: string): Promise<Verdict> {
    const nonce = hexOf(crypto.getRandomValues(new Uint8Array(32)))
    try {
      const response = await this.#ask(`/api/hello?nonce=${nonce}`)
      const answer: unknown = response.ok ? await response.json() : null
      if (typeof answer !== "object" || answer === null || !("proof" in answer)) return "unreachable"
      return answer.proof === (await proofOf(token, this.#origin, nonce)) ? "ours" : "another"
    } catch {
      return "unreachable" // it does not answer, or is no Madang
    }
  }
}

/** As `server_proof` has it. The origin is in it, so that no server can pass on what one at another port says. */
export async function proofOf(token: string, origin: string, nonce: string): Promise<string> {
  const bytes = new TextEncoder()
  const algorithm = { name: "HMAC", hash: "SHA-256" }
  const key = await crypto.subtle.importKey("raw", bytes.encode(token), algorithm, false, ["sign"])
  const text = `madang hello\n${origin}\n${nonce}`
  return hexOf(new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes.encode(text))))
}

const hexOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

function askServer(path: string): Promise<Response> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  return fetch(path, { credentials: "omit", cache: "no-store", redirect: "error", signal })
}
