/** What a call of the person's gave: what an agent would read first, then data, page or question; and all calls before. */

import { Suspense } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"

import { app } from "../services/app.ts"
import { isPending, type MadeCall } from "../core/made.ts"
import { settleItem } from "../services/settling.ts"
import { part } from "../services/parts.ts"
import { useStore } from "../services/store.ts"
import { deedOf } from "../texts.ts"
import type { InboxItem } from "../wire/types.ts"
import { Code, JsonCode } from "./Code.tsx"
import { Gate } from "./Gate.tsx"
import { Icon } from "./icons.tsx"
import { formatAgo, formatBytes, useLocale, useSay } from "./language.tsx"
import { Question } from "./Question.tsx"

const PageView = part(() => import("./PageView.tsx"))

export function Outcome({ made }: { made: MadeCall | null }) {
  const say = useSay()
  const inbox = useStore(app, ({ inbox }) => inbox)
  if (made === null)
    return (
      <section className="empty" aria-label={say("result")}>
        <Icon name="play" />
        <b>{say("noResult")}</b>
        {say("noResultHint")}
      </section>
    )
  const question = made.pauseId === "" ? undefined : inbox.find(({ id }) => id === made.pauseId)
  return (
    <section aria-label={say("result")} aria-live="polite">
      <div className="box-in" key={made.id}>
        {isPending(made) ? (
          <p className="think">
            <span className="row">
              <span className="spin" />
              {say("calling")}
            </span>
          </p>
        ) : (
          <Texts made={made} />
        )}
        {(made.viewId !== "" || question !== undefined) && (
          <>
            <h2 className="group flat">{say("whatYouSee")}</h2>
            <Seen made={made} question={question} />
          </>
        )}
      </div>
    </section>
  )
}

function Texts({ made }: { made: MadeCall }) {
  const say = useSay()
  const locale = useLocale()
  // In a run the result of a question is its answer: until then there is nothing to read.
  if (made.isRunning) return <p className="note wait">{say("callAsks")}</p>
  const bytes = new TextEncoder().encode(made.text).length
  return (
    <Tabs className="stack">
      <div className="row">
        <TabList className="tabs grow" aria-label={say("result")}>
          <Tab className="tab" id="text">
            {say("agentReads")}
          </Tab>
          <Tab className="tab" id="data">
            {say("data")}
          </Tab>
        </TabList>
        {made.isError && <span className="chip bad">{say("callFailed")}</span>}
        {made.tookMs !== null && (
          <span className="xs soft num">{say("milliseconds", { ms: made.tookMs.toLocaleString(locale) })}</span>
        )}
      </div>
      <TabPanel id="text" className="stack">
        <Code text={made.text} label={say("agentReads")} />
        <div className="note">
          <Icon name="spark" small />
          {say("textSize", { bytes: bytes.toLocaleString(locale), tokens: tokensOf(made.text) })}
        </div>
      </TabPanel>
      <TabPanel id="data">
        {made.dataLeftOut > 0 ? (
          <p className="note">{say("sizeOfData", { size: formatBytes(made.dataLeftOut, locale) })}</p>
        ) : (
          <JsonCode text={JSON.stringify(made.data ?? {})} label={say("data")} />
        )}
      </TabPanel>
    </Tabs>
  )
}

/** The page of a call; a question without one is asked by the host itself. */
function Seen({ made, question }: { made: MadeCall; question: InboxItem | undefined }) {
  const say = useSay()
  if (question?.type === "approval") return <Gate item={question} number={1} count={1} />
  if (made.viewId === "") return question ? <Question item={question} /> : null
  return (
    <>
      <Suspense fallback={<div className="card view starting" />}>
        <PageView
          key={made.viewId}
          viewId={made.viewId}
          tool={made.tool}
          isWaiting={question !== undefined}
          expiresAt={question?.expiresAt ?? ""}
          fallbackText={made.text}
          pauseId={made.pauseId}
        />
      </Suspense>
      {question?.type === "choice" && (
        <div className="row">
          <button type="button" className="btn quiet" onClick={() => void settleItem(question, { decline: true })}>
            {say("dontAnswer")}
          </button>
        </div>
      )}
    </>
  )
}

interface HistoryProps {
  calls: readonly MadeCall[]
  /** There may be more in the talk. */
  onOlder: (() => void) | null
  onChoose: (call: MadeCall) => void
}

export function History({ calls, onOlder, onChoose }: HistoryProps) {
  const say = useSay()
  const locale = useLocale()
  return (
    <section aria-label={say("history")}>
      {calls.length === 0 && <p className="empty">{say("noResult")}</p>}
      {calls.map((call) => (
        <button key={call.id} type="button" className="item tool wide-button" onClick={() => onChoose(call)}>
          <span className="grow">
            <b className="mono">{call.tool}</b>
            <span className="meta">
              {deedOf(call.tool, locale)} · {formatAgo(call.at, locale)}
            </span>
          </span>
          {call.isError && <span className="chip bad">{say("callFailed")}</span>}
          {call.isRunning && call.pauseId !== "" && <span className="chip wait">{say("callWaiting")}</span>}
        </button>
      ))}
      {onOlder && (
        <button type="button" className="btn quiet older" onClick={onOlder}>
          {say("olderMessages")}
        </button>
      )}
    </section>
  )
}

/** About: four letters of Latin, less than two of Korean. */
function tokensOf(text: string): number {
  const wide = text.match(/[\u1100-\uffdc]/g)?.length ?? 0
  return Math.max(1, Math.round(wide / 1.6 + (text.length - wide) / 4))
}
