/** What is inside of a call: what the model read first, because it is the truth of the matter, then arguments and data. */

import { useState } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"

import type { CallState } from "../core/items.ts"
import { AriaLocale } from "./AriaLocale.tsx"
import { Code, JsonCode } from "./Code.tsx"
import { formatBytes, useLocale, useSay } from "./language.tsx"

/** Longer ones are shown in part, with a button for the rest. */
const MAX_LINES = 200

export default function CallDetails({ call }: { call: CallState }) {
  const say = useSay()
  const locale = useLocale()
  const data = call.data === null || call.data === undefined ? "" : JSON.stringify(call.data, null, 2)
  const sizes = [
    say("sizeOfText", { size: formatBytes(bytesOf(call.text), locale) }),
    ...(data === "" ? [] : [say("sizeOfData", { size: formatBytes(bytesOf(data), locale) })]),
  ]
  return (
    <AriaLocale>
      <Tabs className="in">
        <TabList className="tabs" aria-label={call.tool}>
          <Tab className="tab" id="text">
            {say("modelRead")}
          </Tab>
          <Tab className="tab" id="arguments">
            {say("arguments")}
          </Tab>
          {data !== "" && (
            <Tab className="tab" id="data">
              {say("data")}
            </Tab>
          )}
        </TabList>
        <TabPanel id="text">
          <LongText text={call.text || say("noTextYet")} />
        </TabPanel>
        <TabPanel id="arguments">
          <JsonCode text={call.arguments} />
        </TabPanel>
        <TabPanel id="data">
          <JsonCode text={data} />
        </TabPanel>
        <div className="row xs soft num">
          <span>{call.tookMs === null ? "" : say("tookMs", { ms: call.tookMs.toLocaleString(locale) })}</span>
          <span className="end">{sizes.join(" · ")}</span>
        </div>
      </Tabs>
    </AriaLocale>
  )
}

function LongText({ text }: { text: string }) {
  const say = useSay()
  const [isWhole, setWhole] = useState(false)
  const lines = text.split("\n")
  if (isWhole || lines.length <= MAX_LINES) return <Code text={text} />
  return (
    <>
      <Code text={lines.slice(0, MAX_LINES).join("\n")} />
      <button type="button" className="btn" onClick={() => setWhole(true)}>
        {say("showAll", { count: lines.length.toLocaleString() })}
      </button>
    </>
  )
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length
