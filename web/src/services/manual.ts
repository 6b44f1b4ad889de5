/** What this tab keeps of the manual screen: the calls that the person made, by session, and the session it is in. */

import type { MadeCall } from "../core/made.ts"

const KEY = "madang.calls."
const SESSION_KEY = "madang.manual"

export function readOwn(sessionId: string): MadeCall[] {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(KEY + sessionId) ?? "[]")
    return Array.isArray(value) ? (value as MadeCall[]) : []
  } catch {
    return []
  }
}

export function writeOwn(sessionId: string, calls: readonly MadeCall[]): void {
  write(KEY + sessionId, JSON.stringify(calls))
}

export function dropOwn(sessionId: string): void {
  sessionStorage.removeItem(KEY + sessionId)
}

/** The session that the manual screen of this tab is in. */
export function readManualSession(): string {
  return sessionStorage.getItem(SESSION_KEY) ?? ""
}

export function writeManualSession(sessionId: string): void {
  write(SESSION_KEY, sessionId)
}

function write(key: string, text: string): void {
  try {
    sessionStorage.setItem(key, text)
  } catch {
    // The storage is full: what is shown stays until the next reload.
  }
}
