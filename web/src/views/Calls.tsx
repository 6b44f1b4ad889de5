/** The calls of an answer, in one card: deed, tool, first argument, time, state; what is inside is drawn when opened. */

import { memo, Suspense, useEffect, useState } from "react"

import type { CallState } from "../core/items.ts"
import { part } from "../services/parts.ts"
import { firstArgument, groupCalls, hasFailed } from "../core/rows.ts"
import { deedOf } from "../texts.ts"
import { Icon, toolIcon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"

const CallDetails = part(() => import("./CallDetails.tsx"))

/** `isEnd`: the turn ended with them. A failed call then opens itself; else it stays one red mark. */
export function Calls({ calls, isEnd }: { calls: CallState[]; isEnd: boolean }) {
  return (
    <div className="card calls">
      {groupCalls(calls).map((group) =>
        group.length > 1 ? (
          <CallGroup key={group[0]!.id} calls={group} />
        ) : (
          <Call key={group[0]!.id} call={group[0]!} opensItself={isEnd && hasFailed(group[0]!)} />
        ),
      )}
    </div>
  )
}

function CallGroup({ calls }: { calls: CallState[] }) {
  const say = useSay()
  const locale = useLocale()
  const [isOpen, setOpen] = useState(false)
  const { tool } = calls[0]!
  const times = calls.flatMap(({ tookMs }) => (tookMs === null ? [] : [tookMs]))
  return (
    <details className="call" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name={toolIcon(tool)} className="lead" />
        <b>{say("deedTimes", { deed: deedOf(tool, locale), count: calls.length })}</b>
        <code className="xs soft hide-phone">
          {tool} ×{calls.length}
        </code>
        <span className="arg cut">{calls.map((call) => firstArgument(call.arguments)).join(", ")}</span>
        <span className="ms">{formatMs(times.length > 0 ? times.reduce((sum, one) => sum + one) : null, say)}</span>
        <CallMark call={calls[0]!} />
        <Icon name="chevron" small className="chev" />
      </summary>
      {isOpen && (
        <div className="nested">
          {calls.map((call) => (
            <Call key={call.id} call={call} opensItself={false} />
          ))}
        </div>
      )}
    </details>
  )
}

const Call = memo(function Call({ call, opensItself }: { call: CallState; opensItself: boolean }) {
  const say = useSay()
  const locale = useLocale()
  const [isOpen, setOpen] = useState(opensItself)
  useEffect(() => {
    if (opensItself) setOpen(true)
  }, [opensItself])
  return (
    <details
      className="call"
      id={`call-${call.id}`}
      open={isOpen}
      onToggle={(event) => {
        // Of a details inside of it the event comes here too.
        if (event.target === event.currentTarget) setOpen(event.currentTarget.open)
      }}
    >
      <summary>
        <Icon name={toolIcon(call.tool)} className="lead" />
        <b>{hasFailed(call) ? say("deedFailed", { deed: deedOf(call.tool, locale) }) : deedOf(call.tool, locale)}</b>
        <code className="xs soft hide-phone">{call.tool}</code>
        <span className="arg cut">{firstArgument(call.arguments)}</span>
        <span className="ms">{formatMs(call.tookMs, say)}</span>
        <CallMark call={call} />
        <Icon name="chevron" small className="chev" />
      </summary>
      {isOpen && (
        <Suspense fallback={<div className="in" />}>
          <CallDetails call={call} />
        </Suspense>
      )}
    </details>
  )
})

function formatMs(ms: number | null, say: ReturnType<typeof useSay>): string {
  return ms === null ? "" : say("seconds", { seconds: (ms / 1000).toFixed(ms < 10_000 ? 2 : 1) })
}

function CallMark({ call }: { call: CallState }) {
  const say = useSay()
  if (call.isRunning && call.pauseId !== "")
    return <span className="dot wait" role="img" aria-label={say("callWaiting")} />
  if (call.isRunning) return <span className="spin" role="img" aria-label={say("callRunning")} />
  // It may have been answered since: that is told where it was.
  if (call.outcome === "unanswered") return <span className="dot" role="img" aria-label={say("callUnanswered")} />
  if (!hasFailed(call)) {
    return (
      <span className="mark-ok" role="img" aria-label={say("callDone")}>
        <Icon name="tick" small />
      </span>
    )
  }
  return (
    <span className="mark-bad" role="img" aria-label={call.outcome === "" ? say("callEnded") : say("callFailed")}>
      <Icon name="cross" small />
    </span>
  )
}
