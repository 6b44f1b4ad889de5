/** A page of stored messages, as items and calls of a talk. Pure. */

import type { CallPart, CallRecord, Message, MessagesPage, Note, Part } from "../wire/types.ts"
import type { CallState, Item, NoteItem } from "./items.ts"

export const NEW_CALL: CallState = {
  id: "",
  tool: "",
  arguments: "",
  isRunning: true,
  outcome: "",
  text: "",
  data: null,
  dataLeftOut: 0,
  tookMs: null,
  viewId: "",
  pauseId: "",
  pause: null,
}

/** The messages of a page and what is told between them, in their order. */
export function itemsOf(page: MessagesPage): Item[] {
  return [...page.messages.flatMap(itemOf), ...page.notes.map(noteOf)].sort((a, b) => a.seq - b.seq)
}

const noteOf = ({ seq, note, text, code, retryHelps, at }: Note): NoteItem => ({
  kind: "note",
  id: `${note}-${seq}`,
  note,
  seq,
  at,
  text,
  code,
  retryHelps,
})

function itemOf(message: Message): Item[] {
  if (message.role === "tool") return [] // its results are in `calls`
  const { id, role, seq, createdAt, kind, model } = message
  const texts = (type: "text" | "thinking", between: string) =>
    message.parts.flatMap((part) => (part.type === type && !("file" in part) ? [part.text] : [])).join(between)
  if (kind === "action" || kind === "answered_late" || kind === "mend" || kind === "check") {
    const note = kind === "check" ? "mend" : kind
    return [{ kind: "note", id, note, seq, at: createdAt, text: texts("text", ""), code: "", retryHelps: false }]
  }
  return [
    {
      kind: "message",
      id,
      role,
      seq,
      at: createdAt,
      text: texts("text", ""),
      thinking: texts("thinking", "\n\n"),
      thoughtMs: thoughtMsOf(message.parts),
      images: message.parts.flatMap(imageOf),
      files: message.parts.flatMap(fileOf),
      callKeys: message.parts.flatMap((part) => (part.type === "call" ? [keyOf(id, part.id)] : [])),
      model,
      isCut: kind === "stopped",
      isTruncated: kind === "cut",
    },
  ]
}

function thoughtMsOf(parts: readonly Part[]): number | null {
  const times = parts.flatMap((part) =>
    part.type === "thinking" && part.text !== "" && part.tookMs !== undefined ? [part.tookMs] : [],
  )
  return times.length > 0 ? times.reduce((sum, one) => sum + one) : null
}

function fileOf(part: Part): { name: string; contentId: string }[] {
  return part.type === "text" && part.file !== undefined && part.file.contentId !== "" ? [part.file] : []
}

/** Kinds that can hold no script. */
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"])

function imageOf(part: Part): { src: string; alt: string }[] {
  if (part.type !== "image" || !IMAGE_TYPES.has(part.mimeType)) return []
  return [{ src: `data:${part.mimeType};base64,${part.data}`, alt: part.alt ?? "" }]
}

export const keyOf = (messageId: string, callId: string) => `${messageId}/${callId}`

function* writtenCalls(page: MessagesPage): Generator<[key: string, part: CallPart]> {
  for (const { id, parts } of page.messages) {
    for (const part of parts) if (part.type === "call") yield [keyOf(id, part.id), part]
  }
}

export function keysOf(page: MessagesPage): Record<string, string> {
  return Object.fromEntries([...writtenCalls(page)].map(([key, { id }]) => [id, key]))
}

export function callsOf(page: MessagesPage): Record<string, CallState> {
  return Object.fromEntries([...writtenCalls(page)].map(([key, part]) => [key, callOf(part, page.calls[key])]))
}

function callOf({ id, tool, arguments: args }: CallPart, record: CallRecord | undefined): CallState {
  const written = { ...NEW_CALL, id, tool, arguments: args }
  if (record === undefined) return written
  const { outcome, text, data, dataLeftOut, tookMs, view, pauseId, pause } = record
  const isRunning = outcome === ""
  return { ...written, isRunning, outcome, text, data, dataLeftOut, tookMs, viewId: view?.id ?? "", pauseId, pause }
}
