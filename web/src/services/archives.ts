/** Archives: fetched, which may take minutes, and saved by the browser; and sent. */

import { saveBlob } from "./save.ts"
import { request, segmentOf } from "./api.ts"
import type { ImportAnswer } from "../wire/generated.ts"

/** All data at once. */
export const saveAll = (kind: "backup" | "export") => save(`/api/data/${kind}`)
export const saveSession = (id: string) => save(`/api/sessions/${segmentOf(id)}/export`)

export async function importSession(archive: Blob): Promise<ImportAnswer> {
  const headers = { "Content-Type": "application/octet-stream" }
  const response = await request("POST", "/api/imports", { body: archive, headers })
  return (await response.json()) as ImportAnswer
}

async function save(path: string): Promise<void> {
  const headers = { "Content-Type": "application/json" }
  const response = await request("POST", path, { body: "{}", headers })
  saveBlob(await response.blob(), nameOf(response.headers.get("content-disposition") ?? ""))
}

function nameOf(disposition: string): string {
  const encoded = /filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1]
  return encoded === undefined ? "madang.zip" : decodeURIComponent(encoded)
}
