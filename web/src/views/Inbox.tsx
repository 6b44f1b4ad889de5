/** Everything that waits for the person, from every session and client. */

import { useEffect } from "react"

import { app, go, refresh } from "../state/app.ts"
import { sortInbox } from "../state/inbox.ts"
import { routeTo } from "../state/route.ts"
import { useStore } from "../state/store.ts"
import type { InboxItem } from "../wire/types.ts"
import { Gate } from "./Gate.tsx"
import { Icon } from "./icons.tsx"
import { askerOf, formatLeft, formatTime, useLocale, useSay } from "./language.tsx"
import { Question } from "./Question.tsx"

export default function Inbox({ itemId }: { itemId: string }) {
  const say = useSay()
  const { inbox } = useStore(app)
  const items = sortInbox(inbox)
  const chosen = items.find(({ id }) => id === itemId) ?? items[0]

  useEffect(() => void refresh(), [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = (event.target as HTMLElement).closest("input, textarea, select") !== null
      const step = { j: 1, k: -1 }[event.key]
      if (isTyping || event.isComposing || event.metaKey || event.ctrlKey || step === undefined || !chosen) return
      const next = items[items.indexOf(chosen) + step]
      if (next) go({ screen: "inbox", itemId: next.id })
    }
    document.addEventListener("keydown", onKey)
    return () => document.removeEventListener("keydown", onKey)
  })

  const approvals = items.filter(({ type }) => type === "approval")
  const questions = items.filter(({ type }) => type !== "approval")
  return (
    <div className="scroll">
      <div className="wide">
        <div className="page-head">
          <h1>{say("inbox")}</h1>
          <p>{say("inboxHint")}</p>
        </div>
        {chosen === undefined ? (
          <div className="card empty">
            <Icon name="inbox" />
            <b>{say("nothingWaits")}</b>
            {say("nothingWaitsHint")}
          </div>
        ) : (
          <div className="split">
            <div>
              <Group title={say("approvals")} items={approvals} chosen={chosen} />
              <Group title={say("questions")} items={questions} chosen={chosen} />
              <p className="hint hide-phone">
                <kbd className="kbd">J</kbd> <kbd className="kbd">K</kbd> {say("nextPrevious")}
              </p>
            </div>
            <div className="chosen" key={chosen.id}>
              {chosen.type === "approval" ? <Gate item={chosen} number={1} count={1} /> : <Question item={chosen} />}
              {chosen.sessionId !== "" && (
                <a className="btn quiet" href={routeTo({ screen: "chat", sessionId: chosen.sessionId })}>
                  {say("openSession")}
                </a>
              )}
            </div>
          </div>
        )}
      </div>
    </div>
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
  const left = formatLeft(item.expiresAt, locale)
  const icon = item.type === "approval" ? "gate" : item.type === "wait" ? "hand" : "question"
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
        <h3>{item.title || item.text || item.tool}</h3>
        <div className="meta">
          <span>{item.sessionTitle || say("untitled")}</span>
          <span>·</span>
          <span>{askerOf(item, say)}</span>
          <span>·</span>
          <span className="num">{formatTime(item.openedAt, locale)}</span>
        </div>
      </div>
      {left !== "" && <span className="chip wait">{say("timeLeft", { time: left })}</span>}
    </a>
  )
}
