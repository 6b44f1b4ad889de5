/** Branches are sessions of their own: what was said stays where it is. */

import { forkSession, listStateRows, sendMessage, upload } from "./api.ts"
import type { ServiceStates, Upload } from "../wire/types.ts"
import { go, refreshSoon } from "./app.ts"
import { writeDraft, writeFiles } from "./drafts.ts"
import type { MessageItem } from "../core/items.ts"

type Content = ServiceStates["content"]["contents"][number]

/** As many as a session takes from a chat. */
const MAX_CONTENTS = 100

/** A new session with the talk up to a message. */
export async function forkAfter(sessionId: string, item: MessageItem): Promise<void> {
  show((await forkSession(sessionId, item.id, false)).id)
}

/** A message of the person's back in its field, with all that it had, in a session that ends before it. */
export async function editInBranch(sessionId: string, item: MessageItem): Promise<void> {
  const { id } = await forkSession(sessionId, item.id, true)
  writeFiles(id, await attach(id, item))
  writeDraft(id, item.text)
  show(id)
}

/** The same message once more. */
export async function askInBranch(sessionId: string, item: MessageItem): Promise<void> {
  const { id } = await forkSession(sessionId, item.id, true)
  const attachments = (await attach(id, item)).map(({ contentId, name }) => ({ contentId, name }))
  show(id)
  await sendMessage(id, { text: item.text, attachments })
}

function show(sessionId: string): void {
  refreshSoon()
  go({ screen: "chat", sessionId })
}

/** A fork has copies of contents, with ids of their own; images are in their message alone, and are sent anew. */
async function attach(sessionId: string, { files, images }: MessageItem): Promise<Upload[]> {
  const { signal } = new AbortController()
  const sent = images.map(({ src, alt }) => upload(sessionId, fileOf(src, alt), signal, () => {}))
  const copies = files.length > 0 ? await listContents(sessionId) : []
  const kept = files.flatMap(({ name }) => copies.find(({ filename }) => filename === name) ?? [])
  return [
    ...kept.map(({ contentId, filename, size }) => ({ contentId, name: filename, size })),
    ...(await Promise.all(sent)),
  ]
}

async function listContents(sessionId: string): Promise<Content[]> {
  const newest = { under: "", page: 1, pageSize: MAX_CONTENTS }
  return (await listStateRows<Content>(sessionId, "content", "contents", newest)).rows
}

/** The file in a `data:` address. */
export function fileOf(src: string, name: string): File {
  const [, type = "", data = ""] = /^data:([^;]+);base64,(.*)$/.exec(src) ?? []
  return new File([Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0))], name || "image", { type })
}
