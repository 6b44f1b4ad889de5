/** What takes a while: the run and its calls, uploads, and the exports that were made. */

import { useEffect, useState, type ReactNode } from "react"

import { report } from "../../services/app.ts"
import type { Talk } from "../../core/talk.ts"
import { act } from "../../services/panels.ts"
import { routeTo } from "../../core/route.ts"
import { saveBlob } from "../../services/save.ts"
import type { Upload } from "../../services/uploads.ts"
import { deedOf } from "../../texts.ts"
import { readExport, stopRun } from "../../services/api.ts"
import type { ContentJob, ContentState, WorkingRun } from "../../wire/types.ts"
import { Icon } from "../icons.tsx"
import { formatTime, useLocale } from "../language.tsx"
import type { PanelProps } from "./props.ts"
import { EmptyPanel, failureOf } from "./parts.tsx"
import { progressOf, UploadBar, useUploads } from "./Uploads.tsx"
import { formatDuration, formatSize, type PanelSay } from "./words.ts"

const TICK_MS = 1_000
const MAX_ARGUMENT_CHARS = 200

export function WorkPanel({ sessionId, talk, say }: PanelProps) {
  const locale = useLocale()
  const sent = useUploads(sessionId)
  const calls = runningCalls(talk)
  const isRunning = talk.run.state === "running"
  const own = talk.runs.find((run) => run.sessionId === sessionId)
  const others = talk.runs.filter((run) => run.sessionId !== sessionId)
  const jobs = jobsBeside(talk.services.content, sent)
  const isBusy = isRunning || sent.length > 0 || others.length > 0 || jobs.length > 0
  const now = useNow(isBusy)
  const workspace = talk.services.workspace
  const exports = workspace !== undefined && failureOf(workspace) === "" ? workspace.exports : []
  const stop = (id = sessionId) => void stopRun(id).catch(report)
  const since = (at: number) => formatDuration((now - at) / 1000, say)
  const where = (run: WorkingRun | undefined) => run?.isElsewhere && say("elsewhere")
  if (!isBusy && exports.length === 0)
    return <EmptyPanel icon="play" title={say("nothingRuns")} hint={say("workHint")} />
  return (
    <>
      {isBusy && (
        <ul className="card list" aria-label={say("work")}>
          {isRunning && calls.length === 0 && (
            <Job
              title={say("agentWorks")}
              meta={[since(own ? timeOf(own.startedAt) : runStart(talk)), where(own)]}
              stop={() => stop()}
              stopLabel={say("stop")}
            />
          )}
          {calls.map(({ key, tool, argument, at }) => (
            <Job
              key={key}
              title={deedOf(tool, locale)}
              detail={argument}
              meta={[since(at), where(own)]}
              stop={() => stop()}
              stopLabel={say("stop")}
            />
          ))}
          {others.map((run) => (
            <Job
              key={run.id}
              title={run.title || say("untitledSession")}
              href={routeTo({ screen: "chat", sessionId: run.sessionId })}
              meta={[say("otherSession"), since(timeOf(run.startedAt)), where(run)]}
              stop={() => stop(run.sessionId)}
              stopLabel={say("stop")}
            />
          ))}
          {jobs.map((job) => (
            <Job
              key={job.jobId}
              title={job.name || say("searchIndex")}
              meta={[wordOf(job, say), job.state !== "failed" && since(timeOf(job.startedAt))]}
              isBad={job.state === "failed"}
              {...(job.canStop && {
                stop: () => void act(sessionId, "stop_adding", { jobId: job.jobId }),
                stopLabel: say(job.state === "failed" ? "close" : "stop"),
              })}
            />
          ))}
          {sent.map((upload) => (
            <Job
              key={upload.id}
              title={upload.name}
              meta={[progressOf(upload, say), upload.startedAt !== null && since(upload.startedAt)]}
              stop={upload.cancel}
              stopLabel={say("stop")}
            >
              <UploadBar share={upload.share} />
            </Job>
          ))}
        </ul>
      )}
      {exports.length > 0 && (
        <>
          <h2 className="sec">
            {say("earlierExports")}
            <span className="chip">{workspace!.exportCount}</span>
          </h2>
          <ul className="card list">
            {exports.map((one) => (
              <li key={one.id} className="item">
                <span className="dot ok" />
                <div className="grow">
                  <h3 className="cut">{one.name}</h3>
                  <div className="meta num">
                    {formatSize(one.size, locale)} · {say("exportMade", { time: formatTime(one.madeAt, locale) })}
                  </div>
                </div>
                <button
                  type="button"
                  className="ib"
                  aria-label={`${say("download")}: ${one.name}`}
                  onClick={() =>
                    void readExport(sessionId, one.id, one.name).then((blob) => saveBlob(blob, one.name), report)
                  }
                >
                  <Icon name="download" />
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      <p className="hint work-hint">{say("workHint")}</p>
    </>
  )
}

interface JobProps {
  title: string
  detail?: string
  /** Where the work is, if that is another session. */
  href?: string
  meta: readonly (string | false | undefined)[]
  isBad?: boolean
  /** Missing where it cannot be stopped. */
  stop?: () => void
  stopLabel?: string
  children?: ReactNode
}

function Job({ title, detail = "", href, meta, isBad = false, stop, stopLabel = "", children }: JobProps) {
  return (
    <li className="item">
      <span className={isBad ? "dot bad" : "dot run"} />
      <div className="grow">
        <h3 className="cut">{href === undefined ? title : <a href={href}>{title}</a>}</h3>
        {detail !== "" && <p className="mono xs cut">{detail}</p>}
        <div className="meta num">{meta.filter(Boolean).join(" · ")}</div>
        {children}
      </div>
      {stop !== undefined && (
        <button
          type="button"
          className={isBad ? "btn quiet" : "btn no"}
          aria-label={`${stopLabel}: ${title}`}
          onClick={stop}
        >
          {stopLabel}
        </button>
      )}
    </li>
  )
}

/** What the content service does; but not what this tab sends itself, which shows as an upload. */
function jobsBeside(state: ContentState | undefined, sent: readonly Upload[]): readonly ContentJob[] {
  if (state === undefined || failureOf(state) !== "") return []
  return state.jobs.filter(({ kind, name }) => kind === "indexing" || !sent.some((upload) => upload.name === name))
}

function wordOf({ kind, state, error }: ContentJob, say: PanelSay): string {
  switch (state) {
    case "queued":
      return say("jobQueued")
    case "failed":
      return say("jobFailed", { reason: error })
    case "running":
      return say(kind === "reading" ? "reading" : "indexing")
  }
}

/** The time, moving once a second while something runs. It asks nobody. */
function useNow(isMoving: boolean): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isMoving) return
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [isMoving])
  return now
}

function runningCalls(talk: Talk): { key: string; tool: string; argument: string; at: number }[] {
  const running = Object.entries(talk.calls).filter(([, call]) => call.isRunning)
  return running.map(([key, call]) => {
    const item = talk.items.findLast((one) => one.kind === "message" && one.callKeys.includes(key))
    return {
      key,
      tool: call.tool,
      argument: call.arguments === "{}" ? "" : call.arguments.slice(0, MAX_ARGUMENT_CHARS),
      at: timeOf(item?.at),
    }
  })
}

/** When the run began: what the person said last is what started it. */
function runStart(talk: Talk): number {
  return timeOf(talk.items.findLast((item) => item.kind === "message" && item.role === "user")?.at)
}

function timeOf(iso: string | undefined): number {
  const time = Date.parse(iso ?? "")
  return Number.isNaN(time) ? Date.now() : time
}
