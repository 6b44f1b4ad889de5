/** Files that go with the next message: uploaded as they come, kept over a reload. */

import { useEffect, useEffectEvent, useState } from "react"

import type { Upload } from "../wire/types.ts"
import { upload } from "./api.ts"
import { report } from "./app.ts"
import { readFiles, writeFiles } from "./drafts.ts"

export interface Attachment {
  key: number
  name: string
  content: Upload | null
  /** How much of it is there, 0 to 1. */
  progress: number
  abort: AbortController
}

let attachmentCount = 0

const attachmentOf = (name: string, content: Upload | null): Attachment => ({
  key: ++attachmentCount,
  name,
  content,
  progress: content === null ? 0 : 1,
  abort: new AbortController(),
})

export interface Attachments {
  list: readonly Attachment[]
  isUploading: boolean
  add: (files: Iterable<File>) => void
  remove: (attachment: Attachment) => void
  clear: () => void
}

/** `makeSession` is called where there is none yet: a file needs one. */
export function useAttachments(sessionId: string, makeSession: () => Promise<string>): Attachments {
  const [list, setList] = useState<Attachment[]>(() =>
    readFiles(sessionId).map((content) => attachmentOf(content.name, content)),
  )
  useEffect(() => {
    const files = list.flatMap(({ content }) => content ?? [])
    writeFiles(sessionId, files)
  }, [sessionId, list])

  const drop = ({ key }: Attachment) => setList((now) => now.filter((one) => one.key !== key))
  const send = async (files: File[]) => {
    if (files.length === 0) return
    const id = sessionId || (await makeSession())
    for (const file of files) {
      const attachment = attachmentOf(file.name, null)
      const change = (values: Partial<Attachment>) =>
        setList((now) => now.map((one) => (one.key === attachment.key ? { ...one, ...values } : one)))
      setList((now) => [...now, attachment])
      upload(id, file, attachment.abort.signal, (progress) => change({ progress })).then(
        (content) => change({ content, progress: 1 }),
        (error: unknown) => {
          drop(attachment)
          if (!attachment.abort.signal.aborted) report(error)
        },
      )
    }
  }
  return {
    list,
    isUploading: list.some(({ content }) => content === null),
    add: (files) => void send([...files]).catch(report),
    remove: (attachment) => {
      attachment.abort.abort()
      drop(attachment)
    },
    clear: () => setList([]),
  }
}

/**
 * Files that are dropped anywhere in the window: one that misses would else be opened in place of the chat. Returns
 * whether some are over it.
 */
export function useFileDrop(onFiles: (files: FileList) => void): boolean {
  const [isOver, setOver] = useState(false)
  const take = useEffectEvent(onFiles)
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false
    const onDrag = (event: DragEvent) => {
      if (hasFiles(event)) setOver(event.type === "dragover")
    }
    const onDrop = (event: DragEvent) => {
      setOver(false)
      if (event.dataTransfer && hasFiles(event)) take(event.dataTransfer.files)
    }
    document.addEventListener("dragover", onDrag)
    document.addEventListener("dragleave", onDrag)
    document.addEventListener("drop", onDrop)
    return () => {
      document.removeEventListener("dragover", onDrag)
      document.removeEventListener("dragleave", onDrag)
      document.removeEventListener("drop", onDrop)
    }
  }, [])
  return isOver
}
