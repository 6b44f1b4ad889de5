/** Manual mode: the tools as a person calls them: palette, form, and what an agent would read. */

import { useEffect, useRef, useState } from "react"

import { app, go, newSession, openFeed, refreshSoon, report } from "../services/app.ts"
import { useFeed, type TalkFeed } from "../services/feed.ts"
import { questionsOf } from "../core/inbox.ts"
import { isManual } from "../core/choices.ts"
import { addOwn, isPending, mergeCalls, ownCall, turnsOf, type MadeCall } from "../core/made.ts"
import { readManualSession, readOwn, writeManualSession, writeOwn } from "../services/manual.ts"
import { routeTo } from "../core/route.ts"
import { settleItem } from "../services/settling.ts"
import { findSession } from "../core/sessions.ts"
import { useFields, useStore } from "../services/store.ts"
import { deedOf, doesPause, serviceTitleOf } from "../texts.ts"
import { callTool, listTools, takeTurn } from "../services/api.ts"
import type { Tool } from "../wire/types.ts"
import { AriaLocale } from "./AriaLocale.tsx"
import { Icon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"
import { History, Outcome } from "./ManualResult.tsx"
import { ToolForm } from "./ToolForm.tsx"

export default function Manual({ toolName }: { toolName: string }) {
  const say = useSay()
  const { feed, me } = useFields(app, "feed", "me")
  const [sessionId, setSessionId] = useState(() => feed?.sessionId ?? knownSession())
  const [tools, setTools] = useState<Tool[]>([])
  const [chosen, setChosen] = useState<{ call: MadeCall; no: number } | null>(null)
  const [isHistoryOpen, setHistoryOpen] = useState(false)
  const [own, setOwn] = useState<MadeCall[]>(() => readOwn(sessionId))
  const isMaking = useRef(false)

  useEffect(() => {
    if (sessionId !== "") {
      writeManualSession(sessionId)
      setOwn(readOwn(sessionId))
      openFeed(sessionId) // what was called in it is in its talk
      listTools(sessionId).then(setTools, report)
    } else if (!isMaking.current) {
      isMaking.current = true
      newSession().then(({ id }) => setSessionId(id), report)
    }
  }, [sessionId])

  const current = feed?.sessionId === sessionId ? feed : null
  const state = useFeed(current)
  const calls = mergeCalls(state === null ? [] : turnsOf(state.talk), own)
  const tool = tools.find(({ name }) => name === toolName)
  const session = useStore(app, (shared) => findSession(shared, sessionId))
  const isReady = tool !== undefined && current !== null && state !== null && state.status !== "loading"
  return (
    <AriaLocale>
      <header className="top line">
        {tool !== undefined && (
          <a className="ib only-phone" aria-label={say("back")} href={routeTo({ screen: "manual", tool: "" })}>
            <Icon name="back" />
          </a>
        )}
        <h1>{say("manualMode")}</h1>
        {isManual(me, session) && (
          <span className="chip line">
            <Icon name="hand" small />
            {say("noModelChip")}
          </span>
        )}
        <span className="grow" />
        <span className="hint hide-phone cut">
          {say("session")}: {session?.title || say("untitled")}
        </span>
        <button
          type="button"
          className="btn quiet"
          aria-expanded={isHistoryOpen}
          onClick={() => setHistoryOpen(!isHistoryOpen)}
        >
          <Icon name="history" small />
          {say("history")} {calls.length > 0 && calls.length}
        </button>
      </header>
      <div className={`three ${tool === undefined && !isHistoryOpen ? "" : "has-tool"}`}>
        <ToolList tools={tools} chosen={toolName} />
        {!isReady ? (
          <section className="empty" aria-label={say("arguments")}>
            <Icon name="tools" />
            <b>{say("pickTool")}</b>
            {say("pickToolHint")}
          </section>
        ) : (
          <CallOfTool
            key={`${sessionId} ${tool.name} ${chosen?.no ?? 0}`}
            tool={tool}
            feed={current}
            calls={calls}
            first={
              chosen?.call.tool === tool.name ? chosen.call : (calls.find((call) => call.tool === tool.name) ?? null)
            }
            isResultShown={!isHistoryOpen}
            onOwn={(call) => {
              const kept = addOwn(own, call)
              writeOwn(sessionId, kept)
              setOwn(kept)
            }}
            onMade={() => setHistoryOpen(false)}
          />
        )}
        {isHistoryOpen ? (
          <History
            calls={calls}
            onOlder={state?.talk.hasOlder ? () => void current?.loadOlder().catch(report) : null}
            onChoose={(call) => {
              setChosen({ call, no: (chosen?.no ?? 0) + 1 })
              setHistoryOpen(false)
              go({ screen: "manual", tool: call.tool })
            }}
          />
        ) : (
          !isReady && <Outcome made={null} />
        )}
      </div>
    </AriaLocale>
  )
}

/** The session that this screen was in before a reload; without one, the newest. */
function knownSession(): string {
  const { sessions } = app.get()
  const before = readManualSession()
  return sessions.some(({ id }) => id === before) ? before : (sessions[0]?.id ?? "")
}

interface CallOfToolProps {
  tool: Tool
  feed: TalkFeed
  calls: readonly MadeCall[]
  /** What is shown at first, and whose arguments the form begins with. */
  first: MadeCall | null
  isResultShown: boolean
  onOwn: (call: MadeCall) => void
  onMade: () => void
}

/** The form of a tool, and what came of its last call. Where the person is the model, a call is its turn. */
function CallOfTool({ tool, feed, calls, first, isResultShown, onOwn, onMade }: CallOfToolProps) {
  const say = useSay()
  const { sessionId } = feed
  const { inbox, me } = useFields(app, "inbox", "me")
  const session = useStore(app, (shared) => findSession(shared, sessionId))
  const run = useStore(feed.store, ({ talk }) => talk.run)
  const [shown, setShown] = useState({ id: first?.id ?? "", values: first?.values ?? {} })
  const here = inbox.filter((item) => item.sessionId === sessionId)
  const turn = here.find(({ type }) => type === "model")
  // Tools for buttons are no model's: the person uses them as themselves.
  const takesTurn = tool.audience === "model" && isManual(me, session)
  const isAsked = takesTurn && turn === undefined && questionsOf(here).some(({ runId }) => runId !== "")
  const made = calls.find(({ id }) => id === shown.id) ?? null
  const isLive = run.state === "running" || run.state === "waiting"
  const isUnderWay = made === null ? shown.id !== "" && isLive : isPending(made)

  const call = async (values: Record<string, unknown>) => {
    if (takesTurn) {
      const { callIds } = await takeTurn(sessionId, { calls: [{ tool: tool.name, arguments: values }] })
      setShown({ id: callIds[0] ?? "", values })
    } else if (tool.audience === "model" && turn !== undefined) {
      // There was no model when it became the person's turn.
      const isTold = await settleItem(turn, { calls: [{ tool: tool.name, arguments: values }] })
      if (isTold) go({ screen: "chat", sessionId })
      return
    } else {
      const outcome = await callTool(sessionId, tool.name, values)
      const kept = ownCall(crypto.randomUUID(), new Date().toISOString(), tool.name, values, outcome)
      onOwn(kept)
      setShown({ id: kept.id, values })
    }
    refreshSoon()
    onMade()
  }
  return (
    <>
      <ToolForm
        tool={tool}
        note={
          isAsked ? (
            <p className="note wait">{say("answerFirst")}</p>
          ) : (
            (takesTurn || turn !== undefined) && <p className="note on">{say("asModelHint")}</p>
          )
        }
        values={shown.values}
        isPending={isUnderWay}
        onCall={call}
      />
      {isResultShown && <Outcome made={made} />}
    </>
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
  const list = useRef<HTMLElement>(null)
  const isListed = tools.length > 0
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" })
  }, [chosen, isListed])
  return (
    <section ref={list} aria-label={say("findTool")}>
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
