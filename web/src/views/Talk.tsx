/** The talk: turns of messages, calls and pages, newest at the end. Older ones come as the person scrolls up. */

import { lazy, memo, Suspense, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react"

import type { TalkFeed } from "../state/feed.ts"
import type { CallState, Item, MessageItem, NoteItem, Talk as TalkState } from "../state/fold.ts"
import type { InboxItem } from "../wire/types.ts"
import { Calls } from "./Calls.tsx"
import { Icon, Mark } from "./icons.tsx"
import { formatTime, useLocale, useSay } from "./language.tsx"
import { Question } from "./Question.tsx"

const Markdown = lazy(() => import("./Markdown.tsx"))
const PageView = lazy(() => import("./PageView.tsx"))

const FIRST_ITEMS = 60
const MORE_ITEMS = 20
/** How near to an end counts as being there. */
const NEAR_PX = 80

export interface TalkActions {
  fork(item: MessageItem): void
  edit(item: MessageItem): void
  sendAgain(item: MessageItem): void
}

interface Props {
  feed: TalkFeed
  talk: TalkState
  questions: InboxItem[]
  assistant: string
  actions: TalkActions
  children?: ReactNode
}

export function Talk({ feed, talk, questions, assistant, actions, children }: Props) {
  const say = useSay()
  const scroller = useRef<HTMLDivElement>(null)
  const column = useRef<HTMLDivElement>(null)
  const [count, setCount] = useState(FIRST_ITEMS)
  const isAtEnd = useRef(true)
  const heightBefore = useRef(0)
  const items = talk.items.slice(-count)
  const hasMore = items.length < talk.items.length || talk.hasOlder

  // Text that grows keeps its end in view, and what is put in front keeps the place: the browser's own anchoring is off.
  const first = items[0]?.id
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && heightBefore.current > 0) element.scrollTop += element.scrollHeight - heightBefore.current
    heightBefore.current = 0
  }, [first])
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  })

  // A page in a frame grows by itself, without anything being drawn here.
  useEffect(() => {
    const element = scroller.current
    if (element === null || column.current === null) return
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight
    })
    observer.observe(column.current)
    return () => observer.disconnect()
  }, [])

  const showMore = () => {
    if (scroller.current) heightBefore.current = scroller.current.scrollHeight
    if (count < talk.items.length) setCount(count + MORE_ITEMS)
    else void feed.loadOlder().then(() => setCount((now) => now + FIRST_ITEMS))
  }
  const onScroll = () => {
    const element = scroller.current
    if (!element) return
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX
    if (element.scrollTop < NEAR_PX && hasMore && heightBefore.current === 0) showMore()
  }

  return (
    <div
      className="scroll talk"
      ref={scroller}
      onScroll={onScroll}
      tabIndex={0}
      aria-label={say("conversation")}
      role="region"
    >
      <div className="column" ref={column}>
        {hasMore && (
          <button type="button" className="btn quiet" onClick={showMore}>
            {say("olderMessages")}
          </button>
        )}
        {children}
        {turnsOf(items).map((turn) => (
          <Turn
            key={turn[0]!.id}
            items={turn}
            talk={talk}
            questions={questions}
            assistant={assistant}
            actions={actions}
          />
        ))}
        <LiveTurn
          talk={talk}
          assistant={assistant}
          isNew={items.at(-1)?.kind !== "message" || isOfPerson(items.at(-1))}
        />
      </div>
    </div>
  )
}

const isOfPerson = (item: Item | undefined) => item?.kind === "message" && item.role === "user"

/** Answers that follow each other are one turn of the agent's. */
function turnsOf(items: readonly Item[]): Item[][] {
  const turns: Item[][] = []
  for (const item of items) {
    const last = turns.at(-1)
    const isSame =
      item.kind === "message" &&
      item.role === "assistant" &&
      last?.at(-1)?.kind === "message" &&
      !isOfPerson(last.at(-1))
    if (isSame) last!.push(item)
    else turns.push([item])
  }
  return turns
}

interface TurnProps {
  items: Item[]
  talk: TalkState
  questions: InboxItem[]
  assistant: string
  actions: TalkActions
}

function Turn({ items, talk, questions, assistant, actions }: TurnProps) {
  const first = items[0]!
  if (first.kind === "note") return <Note note={first} />
  if (first.role === "user") return <OwnMessage item={first} actions={actions} />
  return (
    <div className="turn">
      {first.role === "assistant" && <By name={assistant} at={first.at} />}
      {items.map((item) =>
        item.kind === "message" ? (
          <Answer
            key={item.id}
            item={item}
            calls={item.callKeys.flatMap((key) => talk.calls[key] ?? [])}
            questions={questions}
            actions={actions}
          />
        ) : null,
      )}
    </div>
  )
}

function By({ name, at }: { name: string; at: string }) {
  const locale = useLocale()
  return (
    <div className="by">
      <span className="who agent">
        <Mark />
      </span>
      <span>{name}</span>
      <span className="soft xs">{formatTime(at, locale)}</span>
    </div>
  )
}

const OwnMessage = memo(function OwnMessage({ item, actions }: { item: MessageItem; actions: TalkActions }) {
  const say = useSay()
  return (
    <div className="turn own">
      <div className="me">
        {item.text}
        {item.images.map((image, index) => (
          <img key={index} src={image.src} alt={image.alt} />
        ))}
      </div>
      <div className="acts end">
        <CopyButton text={item.text} />
        <button
          type="button"
          className="ib"
          aria-label={say("again")}
          title={say("again")}
          onClick={() => actions.sendAgain(item)}
        >
          <Icon name="again" />
        </button>
        <button
          type="button"
          className="ib"
          aria-label={say("edit")}
          title={say("edit")}
          onClick={() => actions.edit(item)}
        >
          <Icon name="edit" />
        </button>
      </div>
    </div>
  )
})

interface AnswerProps {
  item: MessageItem
  calls: CallState[]
  questions: InboxItem[]
  actions: TalkActions
}

function Answer({ item, calls, questions, actions }: AnswerProps) {
  const say = useSay()
  return (
    <>
      {item.role === "summary" && <p className="label">{say("summary")}</p>}
      {item.thinking !== "" && <Thinking text={item.thinking} />}
      {item.text !== "" && <Prose text={item.text} isStreaming={false} />}
      {calls.length > 0 && <Calls calls={calls} />}
      {calls.map((call) => (
        <CallPage key={call.id} call={call} question={questions.find(({ id }) => id === call.pauseId)} />
      ))}
      {item.role === "assistant" && item.text !== "" && (
        <div className="acts">
          <CopyButton text={item.text} />
          <button
            type="button"
            className="ib"
            aria-label={say("fork")}
            title={say("fork")}
            onClick={() => actions.fork(item)}
          >
            <Icon name="fork" />
          </button>
        </div>
      )}
    </>
  )
}

/** The page that a call shows; an open question without one is asked by the host itself. */
function CallPage({ call, question }: { call: CallState; question: InboxItem | undefined }) {
  if (call.viewId !== "") {
    return (
      <Suspense>
        <PageView
          viewId={call.viewId}
          isWaiting={question !== undefined}
          fallbackText={call.text}
          pauseId={call.pauseId}
        />
      </Suspense>
    )
  }
  return question && question.type !== "approval" ? <Question item={question} /> : null
}

/** The answer that is being written. */
function LiveTurn({ talk, assistant, isNew }: { talk: TalkState; assistant: string; isNew: boolean }) {
  const say = useSay()
  if (talk.run.state !== "running") return null
  const { draft, run } = talk
  return (
    <div className="turn">
      {isNew && <By name={assistant} at={new Date().toISOString()} />}
      {run.retry !== null && (
        <div className="note">
          <span className="spin" />
          {say("retrying", { attempt: run.retry.attempt })}
        </div>
      )}
      {draft !== null && draft.text !== "" ? (
        <div className="live">
          <Prose text={draft.text} isStreaming />
        </div>
      ) : (
        <p className="think" role="status">
          <span className="row">
            <span className="spin" />
            {say("thinkingNow")}
          </span>
        </p>
      )}
    </div>
  )
}

/** Until the Markdown part has come, the text as it is. */
export function Prose({ text, isStreaming }: { text: string; isStreaming: boolean }) {
  return (
    <Suspense fallback={<div className="prose plain">{text}</div>}>
      <Markdown text={text} isStreaming={isStreaming} />
    </Suspense>
  )
}

function Thinking({ text }: { text: string }) {
  const say = useSay()
  return (
    <details className="think">
      <summary>
        <Icon name="chevron" small className="chev" />
        {say("thought")}
      </summary>
      <p className="plain">{text}</p>
    </details>
  )
}

function Note({ note }: { note: NoteItem }) {
  const say = useSay()
  switch (note.note) {
    case "failed":
      return (
        <div className="turn">
          <div className="note bad" role="alert">
            <Icon name="warning" small />
            <span className="grow">
              <b>{note.text}</b>
              <br />
              {say("runFailed")}
            </span>
          </div>
        </div>
      )
    case "cancelled":
      return (
        <div className="turn">
          <div className="note">{say("stopped")}</div>
        </div>
      )
    default:
      return (
        <div className="turn">
          <details className="think">
            <summary>
              <Icon name="hand" small />
              {say(note.note === "action" ? "actionBeside" : "answeredLate")}
            </summary>
            <p className="plain">{note.text}</p>
          </details>
        </div>
      )
  }
}

function CopyButton({ text }: { text: string }) {
  const say = useSay()
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <button
      type="button"
      className="ib"
      aria-label={isCopied ? say("copied") : say("copy")}
      title={say("copy")}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? "tick" : "copy"} />
    </button>
  )
}
