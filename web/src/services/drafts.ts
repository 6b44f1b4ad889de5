/**
 * What was typed or added and not sent, by session: it survives a reload, a change of session and, unless another tab
 * has written since, the end of its tab. Each tab has its own: what one sends is not taken from under another.
 */

import type { Upload } from "../wire/types.ts"

const TEXT = "madang.draft."
const FILES = "madang.files."
const MADE = "madang.made"

export function readDraft(sessionId: string): string {
  return read(TEXT + sessionId) ?? ""
}

export function writeDraft(sessionId: string, text: string): void {
  write(TEXT + sessionId, text)
}

/** Files that are in the content store already. */
export function readFiles(sessionId: string): Upload[] {
  try {
    const value: unknown = JSON.parse(read(FILES + sessionId) ?? "[]")
    return Array.isArray(value) ? value.filter(isUpload) : []
  } catch {
    return []
  }
}

export function writeFiles(sessionId: string, files: readonly Upload[]): void {
  write(FILES + sessionId, files.length === 0 ? "" : JSON.stringify(files))
}

/** The session that was made for the files of a message whose session is not opened yet. */
export function readMadeSession(): string {
  return read(MADE) ?? ""
}

export function writeMadeSession(id: string): void {
  write(MADE, id)
}

function read(key: string): string | null {
  return sessionStorage.getItem(key) ?? localStorage.getItem(key)
}

function write(key: string, text: string): void {
  const before = read(key)
  if (text === (before ?? "")) return // of another tab, maybe, which still writes it
  try {
    if (text === "") {
      sessionStorage.removeItem(key)
      if (localStorage.getItem(key) === before) localStorage.removeItem(key)
    } else {
      sessionStorage.setItem(key, text)
      localStorage.setItem(key, text)
    }
  } catch {
    // The storage is full: the text is still in its field.
  }
}

function isUpload(value: unknown): value is Upload {
  return (
    typeof value === "object" &&
    value !== null &&
    "contentId" in value &&
    typeof value.contentId === "string" &&
    "name" in value &&
    typeof value.name === "string" &&
    "size" in value &&
    typeof value.size === "number"
  )
}
