/** Everything that waits for the person, from every session and client. */

import { Suspense, useEffect, useState } from "react"

import { app, go, refresh, report } from "../services/app.ts"
import { questionsOf, sortInbox } from "../core/inbox.ts"
import { itemsOf } from "../core/page.ts"
import { part } from "../services/parts.ts"
import { routeTo } from "../core/route.ts"
import { useStore } from "../services/store.ts"
import { getMessages } from "../services/api.ts"
import type { InboxItem } from "../wire/types.ts"
import { Gate } from "./Gate.tsx"
import { Icon } from "./icons.tsx"
import { askerOf, formatAgo, formatLeft, formatTime, useLocale, useSay } from "./language.tsx"
import { Question } from "./Question.tsx"

const InboxHistory = part(() => import("./InboxHistory.tsx"))
const AnsweredToday = part(async () => ({ default: (await import("./InboxHistory.tsx")).AnsweredToday }))
const STATES = ["open", "answered", "over"] as const
const LINES_BEFORE = 3
/** Less than this is left: it is said in the list. */
const SOON_MS = 86_400_000

/** `itemId`: what is open and chosen, or the tab of what is over: ids are no words. */
export default function Inbox({ itemId }: { itemId: string }) {
  const say = useSay()
  const state = STATES.find((one) => one === itemId) ?? "open"
  const inbox = useStore(app, ({ inbox }) => inbox)
  const sorted = sortInbox(inbox)
  const items = [...questionsOf(sorted), ...sorted.filter(({ type }) => type === "model")]
  const chosen = items.find(({ id }) => id === itemId) ?? items[0]

  useEffect(() => void refresh(), [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping =
        (event.target as HTMLElement).closest("input:not([type=radio], [type=checkbox]), textarea") !== null
      const step = { j: 1, k: -1 }[event.key]
      if (isTyping || event.isComposing || event.metaKey || event.ctrlKey || !chosen || state !== "open") return
      if (event.key === "Enter" && event.target === document.body && chosen.sessionId !== "") {
        go({ screen: "chat", sessionId: chosen.sessionId })
      }
      const next = step === undefined ? undefined : items[items.indexOf(chosen) + step]
      if (next) go({ screen: "inbox", itemId: next.id })
    }
    document.addEventListener("keydown", onKey)
    return () => document.removeEventListener("keydown", onKey)
  })

  const approvals = items.filter(({ type }) => type === "approval")
  const questions = questionsOf(items).filter(({ type }) => type !== "approval")
  const turns = items.filter(({ type }) => type === "model")
  const count = approvals.length + questions.length
  return (
    <div className="scroll">
      <div className="wide">
        <div className="page-head">
          <h1>{say("inbox")}</h1>
          <div className="end seg" role="group" aria-label={say("inbox")}>
            {STATES.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={one === state}
                onClick={() => go({ screen: "inbox", itemId: one === "open" ? "" : one })}
              >
                {one === "answered"
                  ? say("answeredTab")
                  : one === "over"
                    ? say("overTab")
                    : count > 0
                      ? say("waitingCount", { count })
                      : say("waitingTab")}
              </button>
            ))}
          </div>
          <p>{say("inboxHint")}</p>
        </div>
        {state !== "open" ? (
          <Suspense fallback={null}>
            <InboxHistory key={state} state={state} />
          </Suspense>
        ) : chosen === undefined ? (
          <>
            <div className="card empty">
              <Icon name="inbox" />
              <b>{say("nothingWaits")}</b>
              {say("nothingWaitsHint")}
            </div>
            <Suspense fallback={null}>
              <AnsweredToday />
            </Suspense>
          </>
        ) : (
          <div className="split">
            <div className="groups">
              <Group title={say("approvals")} items={approvals} chosen={chosen} />
              <Group title={say("questions")} items={questions} chosen={chosen} />
              <Group title={say("manualMode")} items={turns} chosen={chosen} />
              <Suspense fallback={null}>
                <AnsweredToday />
              </Suspense>
            </div>
            <div className="chosen" key={chosen.id}>
              <Chosen item={chosen} />
            </div>
          </div>
        )}
      </div>
    </div>
  )
}

function Chosen({ item }: { item: InboxItem }) {
  const say = useSay()
  const locale = useLocale()
  const link = item.sessionId !== "" && (
    <a className="btn quiet" href={routeTo({ screen: "chat", sessionId: item.sessionId })}>
      {say("openSession")}
    </a>
  )
  if (item.type === "approval") {
    return (
      <>
        <Gate item={item} number={1} count={1} />
        {link}
      </>
    )
  }
  const meta = [item.sessionTitle || say("untitled"), askerOf(item, say), formatTime(item.openedAt, locale)].join(" · ")
  return (
    <Question item={item} meta={meta} link={link || <span />}>
      {item.sessionId !== "" && <Before sessionId={item.sessionId} />}
    </Question>
  )
}

/** The last lines of the talk before the question, when they are asked for. */
function Before({ sessionId }: { sessionId: string }) {
  const say = useSay()
  const [lines, setLines] = useState<{ id: string; role: string; text: string }[] | null>(null)
  const load = async () => {
    const page = await getMessages(sessionId, undefined, 20)
    const said = itemsOf(page).flatMap((item) => (item.kind === "message" && item.text !== "" ? [item] : []))
    setLines(said.slice(-LINES_BEFORE))
  }
  return (
    <details className="think" onToggle={(event) => event.currentTarget.open && void load().catch(report)}>
      <summary>
        <Icon name="chevron" small className="chev" />
        {say("talkBefore")}
      </summary>
      {lines?.length === 0 && <p>{say("nothingBefore")}</p>}
      {lines?.map(({ id, role, text }) => (
        <p key={id} className="plain">
          <b>{say(role === "user" ? "me" : "madang")}</b> {text.slice(0, 400)}
        </p>
      ))}
    </details>
  )
}

function Group({ title, items, chosen }: { title: string; items: InboxItem[]; chosen: InboxItem }) {
  if (items.length === 0) return null
  return (
    <section>
      <h2 className="group">
        {title} <span className="chip wait">{items.length}</span>
      </h2>
      <div className="card list">
        {items.map((item) => (
          <Entry key={item.id} item={item} isChosen={item === chosen} />
        ))}
      </div>
    </section>
  )
}

function Entry({ item, isChosen }: { item: InboxItem; isChosen: boolean }) {
  const say = useSay()
  const locale = useLocale()
  const left = Date.parse(item.expiresAt) - Date.now() < SOON_MS ? formatLeft(item.expiresAt, locale) : ""
  const icon = item.type === "approval" ? "gate" : item.type === "wait" ? "hand" : "question"
  const title =
    item.type === "approval"
      ? say("mayTool", { tool: item.tool })
      : item.type === "model"
        ? say("yourModelTurn")
        : item.title || item.text || item.tool
  return (
    <a
      className="item"
      href={routeTo({ screen: "inbox", itemId: item.id })}
      aria-current={isChosen ? "true" : undefined}
    >
      <span className="turn-mark">
        <Icon name={icon} />
      </span>
      <div className="grow">
        <h3>{title}</h3>
        <div className="meta">
          <span className="cut">{item.sessionTitle || say("untitled")}</span>
          <span>·</span>
          <span>{askerOf(item, say)}</span>
          <span>·</span>
          <span className="num">{formatAgo(item.openedAt, locale)}</span>
        </div>
      </div>
      {left !== "" && <span className="chip wait">{say("timeLeft", { time: left })}</span>}
    </a>
  )
}
