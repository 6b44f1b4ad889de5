/** Manual mode: the tools as a person calls them: palette, form, and what an agent would read. */

import { lazy, Suspense, useEffect, useRef, useState } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"

import { app, go, newSession, report } from "../state/app.ts"
import { routeTo } from "../state/route.ts"
import { useStore } from "../state/store.ts"
import { deedOf, doesPause, serviceTitleOf } from "../texts.ts"
import { listTools } from "../wire/api.ts"
import type { Tool, ToolOutcome } from "../wire/types.ts"
import { AriaLocale } from "./AriaLocale.tsx"
import { Code, JsonCode } from "./Calls.tsx"
import { Icon } from "./icons.tsx"
import { formatAgo, useLocale, useSay } from "./language.tsx"
import { Question } from "./Question.tsx"
import { ToolForm } from "./ToolForm.tsx"

const PageView = lazy(() => import("./PageView.tsx"))

/** A call that was made here. */
interface Made {
  id: number
  tool: string
  values: Record<string, unknown>
  outcome: ToolOutcome
  at: string
}

/** Of this tab: what was called stays in sight when the person comes back to this screen. */
const history: Made[] = []
const MAX_HISTORY = 50

export default function Manual({ toolName }: { toolName: string }) {
  const say = useSay()
  const { feed, sessions, inbox, me } = useStore(app)
  const [sessionId, setSessionId] = useState(feed?.sessionId ?? sessions[0]?.id ?? "")
  const [tools, setTools] = useState<Tool[]>([])
  const [made, setMade] = useState<Made | null>(history.find(({ tool }) => tool === toolName) ?? null)
  const [isHistoryOpen, setHistoryOpen] = useState(false)
  const isMaking = useRef(false)

  useEffect(() => {
    if (sessionId !== "") {
      listTools(sessionId).then(setTools, report)
    } else if (!isMaking.current) {
      isMaking.current = true
      newSession().then(({ id }) => setSessionId(id), report)
    }
  }, [sessionId])

  const tool = tools.find(({ name }) => name === toolName)
  const title = sessions.find(({ id }) => id === sessionId)?.title
  const turn = inbox.find((item) => item.type === "model" && item.sessionId === sessionId)
  const onMade = (values: Record<string, unknown>, outcome: ToolOutcome) => {
    const call = { id: history.length + 1, tool: toolName, values, outcome, at: new Date().toISOString() }
    history.unshift(call)
    history.length = Math.min(history.length, MAX_HISTORY)
    setMade(call)
    setHistoryOpen(false)
  }
  return (
    <AriaLocale>
      <header className="top line">
        {tool !== undefined && (
          <a className="ib only-phone" aria-label={say("back")} href={routeTo({ screen: "manual", tool: "" })}>
            <Icon name="back" />
          </a>
        )}
        <h1>{say("manualMode")}</h1>
        {me?.model === "" && (
          <span className="chip line">
            <Icon name="hand" small />
            {say("noModelChip")}
          </span>
        )}
        <span className="grow" />
        <span className="hint hide-phone cut">
          {say("session")}: {title || say("untitled")}
        </span>
        <button
          type="button"
          className="btn quiet"
          aria-expanded={isHistoryOpen}
          onClick={() => setHistoryOpen(!isHistoryOpen)}
        >
          <Icon name="history" small />
          {say("history")} {history.length > 0 && history.length}
        </button>
      </header>
      <div className={`three ${tool === undefined && !isHistoryOpen ? "" : "has-tool"}`}>
        <ToolList tools={tools} chosen={toolName} />
        {tool === undefined ? (
          <section className="empty" aria-label={say("arguments")}>
            <Icon name="tools" />
            <b>{say("pickTool")}</b>
            {say("pickToolHint")}
          </section>
        ) : (
          <ToolForm
            key={`${tool.name}-${made?.id ?? 0}`}
            tool={tool}
            sessionId={sessionId}
            turn={turn}
            values={made?.tool === tool.name ? made.values : {}}
            onMade={onMade}
          />
        )}
        {isHistoryOpen ? (
          <History
            onChoose={(call) => {
              setMade(call)
              setHistoryOpen(false)
              go({ screen: "manual", tool: call.tool })
            }}
          />
        ) : (
          <Outcome made={made?.tool === toolName ? made : null} />
        )}
      </div>
    </AriaLocale>
  )
}

function History({ onChoose }: { onChoose: (call: Made) => void }) {
  const say = useSay()
  const locale = useLocale()
  return (
    <section aria-label={say("history")}>
      {history.length === 0 && <p className="empty">{say("noResult")}</p>}
      {history.map((call) => (
        <button key={call.id} type="button" className="item tool wide-button" onClick={() => onChoose(call)}>
          <span className="grow">
            <b className="mono">{call.tool}</b>
            <span className="meta">
              {deedOf(call.tool, locale)} · {formatAgo(call.at, locale)}
            </span>
          </span>
          {call.outcome.isError && <span className="chip bad">{say("callFailed")}</span>}
        </button>
      ))}
    </section>
  )
}

function ToolList({ tools, chosen }: { tools: Tool[]; chosen: string }) {
  const say = useSay()
  const locale = useLocale()
  const [query, setQuery] = useState("")
  const found = tools.filter(({ name, title }) =>
    `${name} ${title} ${deedOf(name, locale)}`.toLowerCase().includes(query.toLowerCase().trim()),
  )
  const services = [...new Set(found.map(({ service }) => service))]
  return (
    <section aria-label={say("findTool")}>
      <div className="pad search">
        <Icon name="search" />
        <input
          className="input"
          type="search"
          aria-keyshortcuts="/"
          aria-label={say("findTool")}
          placeholder={say("findTool")}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.nativeEvent.isComposing && found[0])
              go({ screen: "manual", tool: found[0].name })
          }}
        />
        <span className="end-slot hide-phone">
          <kbd className="kbd">/</kbd>
        </span>
      </div>
      {tools.length > 0 && found.length === 0 && <p className="empty">{say("noToolFound")}</p>}
      {services.map((service) => (
        <div key={service}>
          <h2 className="group">{serviceTitleOf(service, locale)}</h2>
          {found
            .filter((tool) => tool.service === service)
            .map((tool) => (
              <a
                key={tool.name}
                className="item tool"
                href={routeTo({ screen: "manual", tool: tool.name })}
                aria-current={tool.name === chosen ? "true" : undefined}
              >
                <div className="grow">
                  <h3 className="mono">{tool.name}</h3>
                  <div className="meta">{locale === "ko" ? deedOf(tool.name, locale) : tool.title}</div>
                </div>
                {tool.audience === "person" ? (
                  <span className="chip line">{say("forButtons")}</span>
                ) : (
                  doesPause(tool.name) && <span className="chip wait">{say("pauses")}</span>
                )}
              </a>
            ))}
        </div>
      ))}
    </section>
  )
}

function Outcome({ made }: { made: Made | null }) {
  const say = useSay()
  const locale = useLocale()
  const { inbox } = useStore(app)
  if (made === null)
    return (
      <section className="empty" aria-label={say("result")}>
        <Icon name="play" />
        <b>{say("noResult")}</b>
        {say("noResultHint")}
      </section>
    )
  const { outcome } = made
  const question = inbox.find(({ id }) => id === outcome.pauseId)
  const bytes = new TextEncoder().encode(outcome.text).length
  return (
    <section aria-label={say("result")} aria-live="polite">
      <div className="box-in" key={made.id}>
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
            {outcome.isError && <span className="chip bad">{say("callFailed")}</span>}
            <span className="xs soft num">{say("milliseconds", { ms: outcome.tookMs.toLocaleString(locale) })}</span>
          </div>
          <TabPanel id="text" className="stack">
            <Code text={outcome.text} label={say("agentReads")} />
            <div className="note">
              <Icon name="spark" small />
              {say("textSize", { bytes: bytes.toLocaleString(locale), tokens: tokensOf(outcome.text) })}
            </div>
          </TabPanel>
          <TabPanel id="data">
            <JsonCode text={JSON.stringify(outcome.data)} label={say("data")} />
          </TabPanel>
        </Tabs>
        {(outcome.view !== null || question !== undefined) && (
          <>
            <h2 className="group flat">{say("whatYouSee")}</h2>
            {outcome.view ? (
              <Suspense fallback={<div className="card view starting" />}>
                <PageView
                  key={outcome.view.id}
                  viewId={outcome.view.id}
                  tool={made.tool}
                  isWaiting={question !== undefined}
                  expiresAt={question?.expiresAt ?? ""}
                  fallbackText={outcome.text}
                  pauseId={outcome.pauseId}
                />
              </Suspense>
            ) : (
              question && <Question item={question} />
            )}
          </>
        )}
      </div>
    </section>
  )
}

/** About: four letters of Latin, less than two of Korean. */
function tokensOf(text: string): number {
  const wide = text.match(/[\u1100-\uffdc]/g)?.length ?? 0
  return Math.max(1, Math.round(wide / 1.6 + (text.length - wide) / 4))
}
