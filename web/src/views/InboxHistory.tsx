/** What was asked and is over: answered, or ended without an answer, in the last seven days. */

import { useCallback, useEffect, useState } from "react"

import { app, report } from "../services/app.ts"
import { addPage, endOf, splitByDay } from "../core/pauses.ts"
import { routeTo } from "../core/route.ts"
import { useStore } from "../services/store.ts"
import { listSettled } from "../services/api.ts"
import type { SettledItem } from "../wire/types.ts"
import { EndChip } from "./EndChip.tsx"
import { Icon, type IconName } from "./icons.tsx"
import { askerOf, formatAgo, formatTime, useLocale, useSay } from "./language.tsx"

const MAX_TODAY = 5

type History = { items: SettledItem[]; next: string } | null

/** Read again whenever the inbox has changed: something may have been settled. */
function useHistory(state: "answered" | "over"): [History, () => Promise<void>] {
  const inbox = useStore(app, ({ inbox }) => inbox)
  const [history, setHistory] = useState<History>(null)
  useEffect(() => {
    let isOld = false
    listSettled(state).then((page) => !isOld && setHistory({ items: page.settled, next: page.next }), report)
    return () => {
      isOld = true
    }
  }, [state, inbox])
  const readOn = useCallback(async () => {
    if (history === null) return
    try {
      const page = await listSettled(state, history.next)
      const all = { items: addPage(history.items, page.settled), next: page.next }
      setHistory((now) => (now === history ? all : now)) // it may have been read anew meanwhile
    } catch (error) {
      report(error)
    }
  }, [state, history])
  return [history, readOn]
}

export default function InboxHistory({ state }: { state: "answered" | "over" }) {
  const say = useSay()
  const [history, readOn] = useHistory(state)
  if (history === null) return null
  if (history.items.length === 0) {
    return (
      <div className="card empty">
        <Icon name="inbox" />
        <b>{say(state === "answered" ? "nothingAnswered" : "nothingOver")}</b>
        {say("lastDaysHint")}
      </div>
    )
  }
  const { today, before } = splitByDay(history.items, new Date())
  return (
    <div className="groups">
      <Group title={say("today")} items={today} />
      <Group title={say("lastDays")} items={before} />
      {history.next !== "" && (
        <button type="button" className="btn quiet" onClick={() => void readOn()}>
          {say("moreSessions")}
        </button>
      )}
    </div>
  )
}

/** Under what waits: what was answered today. */
export function AnsweredToday() {
  const say = useSay()
  const [history] = useHistory("answered")
  const { today } = splitByDay(history?.items ?? [], new Date())
  return <Group title={say("answeredToday")} items={today.slice(0, MAX_TODAY)} isBrief />
}

function Group({ title, items, isBrief = false }: { title: string; items: SettledItem[]; isBrief?: boolean }) {
  if (items.length === 0) return null
  return (
    <section>
      <h2 className="group">{title}</h2>
      <div className="card list">
        {items.map((item) => (isBrief ? <Brief key={item.id} item={item} /> : <Entry key={item.id} item={item} />))}
      </div>
    </section>
  )
}

const ICONS: Record<SettledItem["kind"], IconName> = {
  approval: "gate",
  wait: "hand",
  prompt: "question",
  choice: "question",
  model: "question",
}

function useTitle({ kind, tool, title }: SettledItem): string {
  const say = useSay()
  return kind === "approval" ? say("mayTool", { tool }) : title || tool
}

function Entry({ item }: { item: SettledItem }) {
  const say = useSay()
  const locale = useLocale()
  const end = endOf(item)
  return (
    <a className="item" href={routeTo({ screen: "chat", sessionId: item.sessionId })}>
      <Icon name={ICONS[item.kind]} />
      <div className="grow">
        <h3>{useTitle(item)}</h3>
        <div className="meta">
          <span className="cut">{item.sessionTitle || say("untitled")}</span>
          <span>·</span>
          <span>{askerOf(item, say)}</span>
          <span>·</span>
          <span className="num">{formatAgo(item.settledAt, locale)}</span>
          {item.settledBy === "relayed" && (
            <>
              <span>·</span>
              <span>{say("relayedAnswer")}</span>
            </>
          )}
        </div>
        {end?.text === "answeredElsewhere" && item.answer !== "" && <p>{item.answer}</p>}
      </div>
      {end && <EndChip end={end} />}
    </a>
  )
}

function Brief({ item }: { item: SettledItem }) {
  const say = useSay()
  const locale = useLocale()
  const end = endOf(item)
  return (
    <a className="item brief" href={routeTo({ screen: "chat", sessionId: item.sessionId })}>
      <span className="mark-ok">
        <Icon name="tick" small />
      </span>
      <span className="grow cut small">{useTitle(item)}</span>
      <span className="small cut">{item.answer || (end && say(end.text))}</span>
      <span className="xs soft num">{formatTime(item.settledAt, locale)}</span>
    </a>
  )
}
