/** Version, log, and a problem report that holds nothing of what was written: it is seen before it is given to anybody. */

import { useState } from "react"

import { app, notify, report as reportError } from "../services/app.ts"
import { useStore } from "../services/store.ts"
import { getLog, getReport } from "../services/api.ts"
import { Code } from "./Code.tsx"
import { useSay } from "./language.tsx"

export function Problem() {
  const say = useSay()
  const me = useStore(app, ({ me }) => me)
  const [text, setText] = useState("")
  const [isLog, setLog] = useState(false)

  const load = (wantsLog: boolean) => {
    setLog(wantsLog)
    const loading = wantsLog ? getLog().then((lines) => lines.join("\n")) : getReport()
    loading.then((loaded) => setText(loaded || say("logEmpty")), reportError)
  }
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    notify(say("copied"))
  }
  return (
    <div className="field">
      <span className="label">{say("problem")}</span>
      <p className="num">
        {say("madang")} {me?.version}
      </p>
      <p className="hint">{say("problemHint")}</p>
      <div className="row wraps">
        <button type="button" className="btn" aria-pressed={text !== "" && !isLog} onClick={() => load(false)}>
          {say("makeReport")}
        </button>
        <button type="button" className="btn" aria-pressed={text !== "" && isLog} onClick={() => load(true)}>
          {say("showLog")}
        </button>
        {text !== "" && (
          <button type="button" className="btn quiet" onClick={() => void copy()}>
            {say("copy")}
          </button>
        )}
      </div>
      {text !== "" && <Code text={text} label={say(isLog ? "showLog" : "makeReport")} />}
    </div>
  )
}
