/** The talk: what was said, newest at the end. Older ones come as the person scrolls up, and far ones are let go. */

import { useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react"

import type { TalkFeed } from "../services/feed.ts"
import type { Item, MessageItem } from "../core/items.ts"
import type { Talk as TalkState } from "../core/talk.ts"
import type { Draft } from "../core/writing.ts"
import { rowsOf, type Row } from "../core/rows.ts"
import { AT_END, boundsOf, showItem, showNewer, showOlder, trim } from "../core/window.ts"
import type { InboxItem } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { useSay } from "./language.tsx"
import type { TalkActions } from "./talkActions.ts"
import { Answer, Note, OwnMessage, ThinkingAnswer } from "./Turn.tsx"

/** How near to an end counts as being there. */
const NEAR_PX = 80
/** What was looked for is marked so long. */
const FOUND_MS = 1_500

interface Props {
  feed: TalkFeed
  talk: TalkState
  questions: readonly InboxItem[]
  assistant: string
  actions: TalkActions
  /** Counts what this tab has sent: its own words are always seen. */
  endsWanted: number
  /** A message to show, of a deep link or a search. */
  target: string
  children?: ReactNode
}

export function Talk({ feed, talk, questions, assistant, actions, endsWanted, target, children }: Props) {
  const say = useSay()
  const scroller = useRef<HTMLDivElement>(null)
  const column = useRef<HTMLDivElement>(null)
  const [shown, setShown] = useState(AT_END)
  const [isAway, setAway] = useState(false)
  const isAtEnd = useRef(true)
  const isLoading = useRef(false)
  const lastTop = useRef(0)
  const anchor = useRef<{ id: string; top: number } | null>(null)
  /** The message that is to be shown, until it was. */
  const sought = useRef("")

  const { items, calls, draft, run } = talk
  const keyOf = useLiveKeys(items, draft)
  const { start, end } = boundsOf(items, shown)
  const hasOlder = start > 0 || talk.hasOlder
  const hasNewer = end < items.length
  const rows = useMemo(() => {
    const waits = new Set(questions.map(({ id }) => id))
    const isMounted = (item: Item, index: number) =>
      (index >= start && index < end) ||
      // A page that waits is never taken down: what was typed into it would be lost.
      (item.kind === "message" && item.callKeys.some((key) => waits.has(calls[key]?.pauseId ?? "")))
    return rowsOf(items.filter(isMounted), calls)
  }, [items, calls, questions, start, end])

  const isWriting = run.state === "running" && draft !== null && draft.text !== "" && !hasNewer
  const live: Row | null = isWriting
    ? { kind: "answer", id: draftKey(draft), items: [itemOfDraft(draft)], isFirst: rows.at(-1)?.kind !== "answer" }
    : null
  const shownRows = live === null ? rows : [...rows, live]

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

  return (
    <div className="talk-frame">
      <div
        className="scroll talk"
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        aria-label={say("conversation")}
        role="region"
      >
        <div className="column" ref={column}>
          {hasOlder && (
            <button type="button" className="btn quiet older" onClick={() => void older()}>
              {say("olderMessages")}
            </button>
          )}
          {children}
          {shownRows.map((row, index) => (
            <RowView
              key={keyOf(row.id)}
              row={row}
              isLive={row === live}
              isEnd={index === shownRows.length - 1 && run.state !== "running" && !hasNewer}
              talk={talk}
              questions={questions}
              assistant={assistant}
              actions={actions}
            />
          ))}
          {!hasNewer && live === null && (
            <ThinkingAnswer talk={talk} assistant={assistant} isFirst={rows.at(-1)?.kind !== "answer"} />
          )}
        </div>
      </div>
      {isAway && (
        <button type="button" className="btn to-end" onClick={jumpToEnd}>
          <Icon name="down" small />
          {say("jumpToEnd")}
        </button>
      )}
    </div>
  )
}

const holds = (row: Row, id: string) =>
  row.id === id || (row.kind === "answer" && row.items.some((one) => one.id === id))

const draftKey = ({ runId, messageNo }: Draft) => `${runId}:${messageNo}`

const itemOfDraft = (draft: Draft): MessageItem => ({
  kind: "message",
  id: draftKey(draft),
  role: "assistant",
  seq: 0,
  at: "",
  text: draft.text,
  thinking: draft.thinking.text,
  thoughtMs: null,
  images: [],
  files: [],
  callKeys: [],
  model: "",
  isCut: false,
  isTruncated: false,
})

/**
 * The key of a row. An answer keeps the one that it had while it was written: its thousands of words are not drawn anew
 * when it is stored.
 */
function useLiveKeys(items: readonly Item[], draft: Draft | null): (id: string) => string {
  const keys = useRef(new Map<string, string>())
  const writing = useRef<{ key: string; lastId: string } | null>(null)
  const key = draft === null ? "" : draftKey(draft)
  const lastId = items.findLast((item) => item.kind === "message" && item.role === "assistant")?.id ?? ""
  const before = writing.current
  if (before !== null && key !== before.key && lastId !== before.lastId) keys.current.set(lastId, before.key)
  if (key === "") writing.current = null
  else if (key !== before?.key) writing.current = { key, lastId }
  return (id) => keys.current.get(id) ?? id
}

interface RowProps {
  row: Row
  isLive: boolean
  isEnd: boolean
  talk: TalkState
  questions: readonly InboxItem[]
  assistant: string
  actions: TalkActions
}

function RowView({ row, isLive, isEnd, talk, questions, assistant, actions }: RowProps) {
  switch (row.kind) {
    case "own":
      return <OwnMessage item={row.item} actions={actions} />
    case "note":
      return <Note note={row.note} isFirst={row.isFirst} assistant={assistant} actions={actions} />
    case "answer": {
      const keys = row.items.flatMap(({ callKeys }) => callKeys)
      const calls = keys.flatMap((key) => talk.calls[key] ?? [])
      return (
        <Answer
          items={row.items}
          calls={calls}
          questions={questions.filter(({ id }) => calls.some(({ pauseId }) => pauseId === id))}
          isFirst={row.isFirst}
          isLive={isLive}
          isEnd={isEnd}
          assistant={assistant}
          actions={actions}
        />
      )
    }
  }
}
