/** The calls of an answer, in one card: deed, tool, first argument, time, state; open: what the model read comes first. */

import { useState } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"

import type { CallState } from "../state/fold.ts"
import { deedOf } from "../texts.ts"
import { Icon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"

/** Ends of a call that went well, or that are the person's choice. */
const GOOD = new Set(["ok", "answered_late", "unanswered"])

export function Calls({ calls }: { calls: CallState[] }) {
  return (
    <div className="card calls">
      {calls.map((call) => (
        <Call key={call.id} call={call} />
      ))}
    </div>
  )
}

function Call({ call }: { call: CallState }) {
  const say = useSay()
  const locale = useLocale()
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      className="call"
      id={`call-${call.id}`}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Icon name="tools" className="lead" />
        <b>{deedOf(call.tool, locale)}</b>
        <code className="xs soft hide-phone">{call.tool}</code>
        <span className="arg cut">{firstArgument(call.arguments)}</span>
        <span className="ms">
          {call.tookMs === null ? "" : say("seconds", { seconds: (call.tookMs / 1000).toFixed(2) })}
        </span>
        <CallMark call={call} />
        <Icon name="chevron" small className="chev" />
      </summary>
      {isOpen && <CallDetails call={call} />}
    </details>
  )
}

function CallMark({ call }: { call: CallState }) {
  const say = useSay()
  if (call.isRunning && call.pauseId !== "")
    return <span className="dot wait" role="img" aria-label={say("callWaiting")} />
  if (call.isRunning) return <span className="spin" role="img" aria-label={say("callRunning")} />
  if (GOOD.has(call.outcome)) {
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

function CallDetails({ call }: { call: CallState }) {
  const say = useSay()
  return (
    <Tabs className="in">
      <TabList className="tabs" aria-label={call.tool}>
        <Tab className="tab" id="text">
          {say("modelRead")}
        </Tab>
        <Tab className="tab" id="arguments">
          {say("arguments")}
        </Tab>
        <Tab className="tab" id="data">
          {say("data")}
        </Tab>
      </TabList>
      <TabPanel id="text">
        <Code text={call.text || say("noTextYet")} />
      </TabPanel>
      <TabPanel id="arguments">
        <Code text={prettyJson(call.arguments)} />
      </TabPanel>
      <TabPanel id="data">
        <Code text={JSON.stringify(call.data, null, 2)} />
      </TabPanel>
    </Tabs>
  )
}

export function Code({ text }: { text: string }) {
  return (
    <pre className="code scrolls" tabIndex={0}>
      {text}
    </pre>
  )
}

/** JSON set out over lines; what is no JSON as it is. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function firstArgument(text: string): string {
  try {
    const value: unknown = Object.values(JSON.parse(text) as object)[0]
    return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value)
  } catch {
    return text
  }
}
