/** Manual mode: the tools as a person calls them: palette, form, and what an agent would read. */

import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"

import { app, go, newSession, refreshSoon, report } from "../state/app.ts"
import { routeTo } from "../state/route.ts"
import { argumentsOf, entriesOf, fieldsOf, type Entries, type Problem } from "../state/schema.ts"
import { useStore } from "../state/store.ts"
import { deedOf } from "../texts.ts"
import { callTool, listTools } from "../wire/api.ts"
import type { Tool, ToolOutcome } from "../wire/types.ts"
import { Code } from "./Calls.tsx"
import { Icon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"
import { Question } from "./Question.tsx"
import { SchemaForm } from "./SchemaForm.tsx"

const PageView = lazy(() => import("./PageView.tsx"))

export default function Manual({ toolName }: { toolName: string }) {
  const say = useSay()
  const { feed, sessions } = useStore(app)
  const [sessionId, setSessionId] = useState(feed?.sessionId ?? sessions[0]?.id ?? "")
  const [tools, setTools] = useState<Tool[]>([])
  const [outcome, setOutcome] = useState<ToolOutcome | null>(null)
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
  return (
    <>
      <header className="top line">
        {tool !== undefined && (
          <a className="ib only-phone" aria-label={say("back")} href={routeTo({ screen: "manual", tool: "" })}>
            <Icon name="back" />
          </a>
        )}
        <h1>{say("manualMode")}</h1>
        <span className="grow" />
        <span className="hint hide-phone cut">
          {say("session")}: {title || say("untitled")}
        </span>
      </header>
      <div className={`three ${tool === undefined ? "" : "has-tool"}`}>
        <ToolList tools={tools} chosen={toolName} />
        {tool === undefined ? (
          <section className="empty">
            <Icon name="tools" />
            <b>{say("pickTool")}</b>
            {say("pickToolHint")}
          </section>
        ) : (
          <ToolForm key={tool.name} tool={tool} sessionId={sessionId} onOutcome={setOutcome} />
        )}
        <Outcome outcome={outcome} />
      </div>
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
  return (
    <section aria-label={say("findTool")}>
      <div className="pad search">
        <Icon name="search" />
        <input
          className="input"
          type="search"
          aria-label={say("findTool")}
          placeholder={say("findTool")}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.nativeEvent.isComposing && found[0])
              go({ screen: "manual", tool: found[0].name })
          }}
        />
      </div>
      {tools.length > 0 && found.length === 0 && <p className="empty">{say("noToolFound")}</p>}
      {services.map((service) => (
        <div key={service}>
          <div className="group">{service}</div>
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
                {tool.audience === "person" && <span className="chip line">{say("forButtons")}</span>}
              </a>
            ))}
        </div>
      ))}
    </section>
  )
}

function ToolForm({
  tool,
  sessionId,
  onOutcome,
}: {
  tool: Tool
  sessionId: string
  onOutcome: (outcome: ToolOutcome) => void
}) {
  const say = useSay()
  const fields = useMemo(() => fieldsOf(tool.inputSchema), [tool])
  const [entries, setEntries] = useState<Entries>({})
  const [problems, setProblems] = useState<Record<string, Problem>>({})
  const [json, setJson] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)

  const call = async (values: Record<string, unknown>) => {
    setBusy(true)
    try {
      onOutcome(await callTool(sessionId, tool.name, values))
      refreshSoon()
    } catch (error) {
      report(error)
    } finally {
      setBusy(false)
    }
  }
  const submit = () => {
    if (isBusy) return
    if (json !== null) {
      const values = parseObject(json)
      setProblems(values === null ? { "": "badJson" } : {})
      if (values !== null) void call(values)
      return
    }
    const made = argumentsOf(fields, entries)
    setProblems(made.problems)
    if (Object.keys(made.problems).length === 0) void call(made.values)
  }
  const toggleJson = () => {
    const values = json === null ? null : parseObject(json)
    if (json === null) setJson(JSON.stringify(argumentsOf(fields, entries).values, null, 2))
    else if (values === null) setProblems({ "": "badJson" })
    else {
      setEntries(entriesOf(fields, values))
      setProblems({})
      setJson(null)
    }
  }
  return (
    <section aria-label={say("arguments")}>
      <form
        className="box-in"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.nativeEvent.isComposing || !(event.metaKey || event.ctrlKey)) return
          event.preventDefault()
          submit()
        }}
      >
        <div>
          <h2 className="mono">{tool.name}</h2>
          <p className="small">{tool.description}</p>
        </div>
        {json === null ? (
          <SchemaForm
            fields={fields}
            entries={entries}
            problems={problems}
            onChange={(name, entry) => setEntries({ ...entries, [name]: entry })}
          />
        ) : (
          <div className="field">
            <textarea
              className="input mono"
              rows={10}
              aria-label={say("arguments")}
              value={json}
              onChange={(event) => setJson(event.target.value)}
            />
            {problems[""] && <p className="hint bad">{say("badJson")}</p>}
          </div>
        )}
        <div className="row wraps">
          <button type="submit" className="btn main lg" disabled={isBusy}>
            <Icon name="play" small />
            {say(isBusy ? "calling" : "call")}
          </button>
          <button type="button" className="btn quiet lg" onClick={toggleJson}>
            {say(json === null ? "asJson" : "asForm")}
          </button>
          <span className="hint end hide-phone">
            <kbd className="kbd">⌘</kbd>
            <kbd className="kbd">↵</kbd>
          </span>
        </div>
      </form>
    </section>
  )
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

function Outcome({ outcome }: { outcome: ToolOutcome | null }) {
  const say = useSay()
  const { inbox } = useStore(app)
  if (outcome === null)
    return (
      <section className="empty" aria-label={say("result")}>
        {say("noResult")}
      </section>
    )
  const question = inbox.find(({ id }) => id === outcome.pauseId)
  return (
    <section aria-label={say("result")} aria-live="polite">
      <div className="box-in">
        <Tabs>
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
            <span className="xs soft num">{say("seconds", { seconds: (outcome.tookMs / 1000).toFixed(2) })}</span>
          </div>
          <TabPanel id="text">
            <Code text={outcome.text} />
          </TabPanel>
          <TabPanel id="data">
            <Code text={JSON.stringify(outcome.data, null, 2)} />
          </TabPanel>
        </Tabs>
        {outcome.view ? (
          <>
            <div className="group">{say("whatYouSee")}</div>
            <Suspense>
              <PageView
                key={outcome.view.id}
                viewId={outcome.view.id}
                isWaiting={question !== undefined}
                fallbackText={outcome.text}
                pauseId={outcome.pauseId}
              />
            </Suspense>
          </>
        ) : (
          question && <Question item={question} />
        )}
      </div>
    </section>
  )
}
