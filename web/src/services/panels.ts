/** What panels share: the pages of long lists, and the calls and uploads that the person makes there. */

import { useCallback, useEffect, useRef, useState } from "react"

import { callTool, listStateRows, readFile, upload, uploadFile } from "./api.ts"
import type { ServiceStates, ToolOutcome } from "../wire/types.ts"
import { nameOf } from "../core/tree.ts"
import { notify, report } from "./app.ts"
import { saveBlob } from "./save.ts"
import { sendFile } from "./uploads.ts"

/** Call a tool as the person. A refusal is told in the tool's own words; then there is no outcome. */
export async function act(
  sessionId: string,
  tool: string,
  args: Record<string, unknown>,
): Promise<ToolOutcome | undefined> {
  try {
    const outcome = await callTool(sessionId, tool, args)
    if (!outcome.isError) return outcome
    const error = outcome.data["error"] as { message?: string; hint?: string } | undefined
    notify(error?.message ?? outcome.text, { isError: true })
  } catch (error) {
    report(error)
  }
  return undefined
}

export interface Rows<Row> {
  rows: readonly Row[]
  total: number
  isLoading: boolean
  loadMore: () => void
}

interface PageQuery {
  sessionId: string
  service: keyof ServiceStates
  list: string
  under?: string
  /** Rows that the state has, which are the first page; without them the first page is read too. */
  first?: { rows: readonly unknown[]; total: number }
  pageSize: number
  /** The state: when it is another one, what was read besides it is read again. */
  state: unknown
}

/** The rows of a list in a service's state: the window that the state has, then pages as they are asked for. */
export function useRows<Row>({ sessionId, service, list, under = "", first, pageSize, state }: PageQuery): Rows<Row> {
  const [pages, setPages] = useState<{ rows: readonly Row[]; total: number }>({ rows: [], total: 0 })
  const [wanted, setWanted] = useState(first === undefined ? 1 : 0)
  const [isLoading, setLoading] = useState(false)
  const firstPage = first === undefined ? 1 : 2

  useEffect(() => {
    if (wanted === 0) return
    let isStale = false
    setLoading(true)
    const numbers = Array.from({ length: wanted }, (_, index) => firstPage + index)
    Promise.all(numbers.map((page) => listStateRows<Row>(sessionId, service, list, { under, page, pageSize })))
      .then((answers) => {
        if (isStale) return
        setPages({ rows: answers.flatMap(({ rows }) => rows), total: answers.at(-1)!.total })
      }, report)
      .finally(() => !isStale && setLoading(false))
    return () => {
      isStale = true
    }
  }, [sessionId, service, list, under, pageSize, firstPage, wanted, state])

  const rows = first === undefined ? pages.rows : [...(first.rows as Row[]), ...pages.rows]
  const total = first?.total ?? pages.total
  const hasMore = rows.length < total
  const loadMore = useCallback(() => {
    if (hasMore && !isLoading) setWanted((count) => count + 1)
  }, [hasMore, isLoading])
  return { rows, total, isLoading, loadMore }
}

const FIRST_MOUNTED = 30
const MORE_MOUNTED = 20

/** How many rows are mounted: a screenful first, more as its end comes into view. Put `end` behind the last one. */
export function useMounted(count: number): {
  mounted: number
  end: (element: Element | null) => void
  mountMore: () => void
} {
  const [limit, setLimit] = useState(FIRST_MOUNTED)
  const observer = useRef<IntersectionObserver | null>(null)
  const mountMore = useCallback(() => setLimit((value) => value + MORE_MOUNTED), [])
  const end = useCallback(
    (element: Element | null) => {
      observer.current?.disconnect()
      if (element === null) return
      observer.current = new IntersectionObserver(
        (entries) => {
          if (entries.some(({ isIntersecting }) => isIntersecting)) mountMore()
        },
        { rootMargin: "200px" },
      )
      observer.current.observe(element)
    },
    [mountMore],
  )
  useEffect(() => () => observer.current?.disconnect(), [])
  return { mounted: Math.min(limit, count), end, mountMore }
}

/** Put a file into the workspace; false if it was cancelled, or refused in words. */
export async function putFile(sessionId: string, path: string, file: Blob): Promise<boolean> {
  const target = { sessionId, panel: "files", name: path } as const
  return (await reported(sendFile(target, (...how) => uploadFile(sessionId, path, file, ...how)))) !== undefined
}

/** Make a file a content of the session, and return its id. */
export async function addContent(sessionId: string, file: File): Promise<string | undefined> {
  const target = { sessionId, panel: "contents", name: file.name } as const
  return (await reported(sendFile(target, (...how) => upload(sessionId, file, ...how))))?.contentId
}

/** Save a file of the workspace where the browser saves files. */
export async function downloadFile(sessionId: string, path: string): Promise<void> {
  try {
    saveBlob(await readFile(sessionId, path), nameOf(path))
  } catch (error) {
    report(error)
  }
}

async function reported<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    report(error)
    return undefined
  }
}
