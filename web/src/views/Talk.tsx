/** The talk: what was said, newest at the end. Older ones come as the person scrolls up, and far ones are let go. */

import { useRef, type ReactNode } from "react"

import type { TalkFeed } from "../services/feed.ts"
import type { Item, MessageItem } from "../core/items.ts"
import type { Talk as TalkState } from "../core/talk.ts"
import type { Draft } from "../core/writing.ts"
import type { Row } from "../core/rows.ts"
import type { InboxItem } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { useSay } from "./language.tsx"
import type { TalkActions } from "./talkActions.ts"
import { useTalkScroll } from "./talkScroll.ts"
import { Answer, Note, OwnMessage, ThinkingAnswer } from "./Turn.tsx"

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
  const { items, draft, run } = talk
  const keyOf = useLiveKeys(items, draft)
  const scroll = useTalkScroll({ feed, talk, questions, endsWanted, target })
  const { rows, hasNewer } = scroll

  const isWriting = run.state === "running" && draft !== null && draft.text !== "" && !hasNewer
  const live: Row | null = isWriting
    ? { kind: "answer", id: draftKey(draft), items: [itemOfDraft(draft)], isFirst: rows.at(-1)?.kind !== "answer" }
    : null
  const shownRows = live === null ? rows : [...rows, live]

  return (
    <div className="talk-frame">
      <div
        className="scroll talk"
        ref={scroll.scroller}
        onScroll={scroll.onScroll}
        tabIndex={0}
        aria-label={say("conversation")}
        role="region"
      >
        <div className="column" ref={scroll.column}>
          {scroll.hasOlder && (
            <button type="button" className="btn quiet older" onClick={() => void scroll.older()}>
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
      {scroll.isAway && (
        <button type="button" className="btn to-end" onClick={scroll.jumpToEnd}>
          <Icon name="down" small />
          {say("jumpToEnd")}
        </button>
      )}
    </div>
  )
}

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
