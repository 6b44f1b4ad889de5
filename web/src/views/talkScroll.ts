/** Where a talk stands: it stays at its end or at what is read, whatever grows, and goes to what is looked for. */

import { useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react"

import type { Item } from "../core/items.ts"
import { rowsOf, type Row } from "../core/rows.ts"
import type { Talk } from "../core/talk.ts"
import { AT_END, boundsOf, showItem, showNewer, showOlder, trim } from "../core/window.ts"
import type { TalkFeed } from "../services/feed.ts"
import type { InboxItem } from "../wire/types.ts"

/** How near to an end counts as being there. */
const NEAR_PX = 80
/** What was looked for is marked so long. */
const FOUND_MS = 1_500

interface Options {
  feed: TalkFeed
  talk: Talk
  questions: readonly InboxItem[]
  endsWanted: number
  target: string
}

export interface TalkScroll {
  /** What is mounted of the talk, and whether there is more beyond it. */
  rows: readonly Row[]
  hasOlder: boolean
  hasNewer: boolean
  scroller: RefObject<HTMLDivElement | null>
  column: RefObject<HTMLDivElement | null>
  /** Far from the end: a button leads back. */
  isAway: boolean
  onScroll: () => void
  older: () => Promise<void>
  jumpToEnd: () => void
}

export function useTalkScroll({ feed, talk, questions, endsWanted, target }: Options): TalkScroll {
  const { items } = talk
  const [shown, setShown] = useState(AT_END)
  const { start, end } = boundsOf(items, shown)
  const hasOlder = start > 0 || talk.hasOlder
  const hasNewer = end < items.length
  const rows = useRows(talk, questions, start, end)
  const scroller = useRef<HTMLDivElement>(null)
  const column = useRef<HTMLDivElement>(null)
  const [isAway, setAway] = useState(false)
  const isAtEnd = useRef(true)
  const isLoading = useRef(false)
  const lastTop = useRef(0)
  const anchor = useRef<{ id: string; top: number } | null>(null)
  /** The message that is to be shown, until it was. */
  const sought = useRef("")

  /** Remember what is at the top of what is seen: it stays there, whatever is put before or taken away. */
  const keepPlace = () => {
    const element = scroller.current
    const top = element?.getBoundingClientRect().top ?? 0
    const row = [...(column.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])].find(
      (one) => one.getBoundingClientRect().bottom > top,
    )
    anchor.current = row ? { id: row.dataset.row!, top: row.getBoundingClientRect().top } : null
  }
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const kept = anchor.current
    anchor.current = null
    const row = kept && column.current?.querySelector(`[data-row="${CSS.escape(kept.id)}"]`)
    if (!kept || !row) return
    element.scrollTop += row.getBoundingClientRect().top - kept.top
    lastTop.current = element.scrollTop
  })

  // After the draw that has it, whenever that is.
  useLayoutEffect(() => {
    const row = sought.current === "" ? undefined : rows.find((one) => holds(one, sought.current))
    const place = row && column.current?.querySelector(`[data-row="${CSS.escape(row.id)}"]`)
    if (!place) return
    sought.current = ""
    place.scrollIntoView({ block: "center" })
    lastTop.current = scroller.current?.scrollTop ?? 0
    place.animate([{ background: "var(--mark)" }, { background: "transparent" }], FOUND_MS)
  })

  // Whoever is at the end stays there, whatever grows: a stream, or a page in its frame, without anything being drawn
  // here. Before the paint, and once a frame: each write of the place is a layout.
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null || column.current === null) return
    const observer = new ResizeObserver(() => {
      if (!isAtEnd.current) return
      element.scrollTop = element.scrollHeight
      lastTop.current = element.scrollTop
    })
    observer.observe(column.current)
    observer.observe(element) // what stands below it grows too
    return () => observer.disconnect()
  }, [])

  useEffect(() => {
    if (isAtEnd.current) setShown((now) => trim(items, now))
  }, [items])

  // A message that is not loaded yet is looked for further up.
  const seek = useEffectEvent(() => {
    const around = showItem(items, target)
    if (around === null) {
      void feed.loadOlder()
      return
    }
    isAtEnd.current = false
    sought.current = target
    setShown(around)
  })
  // Only until it is found: what comes later must not pull the person back to it.
  const searched = target !== "" && talk.hasOlder && showItem(items, target) === null ? items.length : -1
  useEffect(() => {
    if (target !== "") seek()
  }, [target, searched])

  const older = async () => {
    if (isLoading.current) return
    isLoading.current = true
    try {
      if (start === 0) await feed.loadOlder()
      keepPlace()
      setShown((now) => showOlder(feed.store.get().talk.items, now))
    } finally {
      isLoading.current = false
    }
  }
  const newer = () => {
    keepPlace()
    setShown((now) => showNewer(items, now))
  }
  const jumpToEnd = () => {
    isAtEnd.current = true
    setShown(AT_END)
    setAway(false)
    if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight
  }
  const isFirstDraw = useRef(true)
  useEffect(() => {
    if (!isFirstDraw.current) jumpToEnd()
    isFirstDraw.current = false
  }, [endsWanted])
  const onScroll = () => {
    const element = scroller.current
    if (!element) return
    const left = element.scrollHeight - element.scrollTop - element.clientHeight
    // Only a person leaves the end: what grows below before it is scrolled to does not.
    if (left < NEAR_PX) isAtEnd.current = !hasNewer
    else if (element.scrollTop < lastTop.current - 1) isAtEnd.current = false
    lastTop.current = element.scrollTop
    setAway(left > element.clientHeight || hasNewer)
    if (element.scrollTop < NEAR_PX && hasOlder) void older()
    else if (left < NEAR_PX && hasNewer) newer()
  }
  return { rows, hasOlder, hasNewer, scroller, column, isAway, onScroll, older, jumpToEnd }
}

function useRows({ items, calls }: Talk, questions: readonly InboxItem[], start: number, end: number): Row[] {
  return useMemo(() => {
    const waits = new Set(questions.map(({ id }) => id))
    const isMounted = (item: Item, index: number) =>
      (index >= start && index < end) ||
      // A page that waits is never taken down: what was typed into it would be lost.
      (item.kind === "message" && item.callKeys.some((key) => waits.has(calls[key]?.pauseId ?? "")))
    return rowsOf(items.filter(isMounted), calls)
  }, [items, calls, questions, start, end])
}

const holds = (row: Row, id: string) =>
  row.id === id || (row.kind === "answer" && row.items.some((one) => one.id === id))
