/** A page of a service in its frame, under a bar that is ours: whose it is, what it waits for. */

import { useRef, useState } from "react"

import { endOf } from "../core/pauses.ts"
import { settledHere } from "../services/settling.ts"
import { useStore } from "../services/store.ts"
import { pageTitleOf } from "../texts.ts"
import { Code } from "./Code.tsx"
import { EndChip } from "./EndChip.tsx"
import { Icon, toolIcon } from "./icons.tsx"
import { formatLeft, useLocale, useSay } from "./language.tsx"
import { usePage } from "./pageFrame.ts"

interface Props {
  viewId: string
  tool: string
  /** Whether its question is open. */
  isWaiting: boolean
  /** Of the question, if it ends by itself. */
  expiresAt: string
  /** What the model read: shown where the page does not start. */
  fallbackText: string
  pauseId: string
}

export default function PageView({ viewId, tool, isWaiting, expiresAt, fallbackText, pauseId }: Props) {
  const say = useSay()
  const locale = useLocale()
  const [isTextShown, setTextShown] = useState(false)
  const page = usePage(viewId, isWaiting)
  const { view, phase, isLarge } = page
  const isSettledHere = useStore(settledHere, (ids) => ids.has(view?.pause?.id ?? ""))
  const wasWaiting = useRef(isWaiting)
  if (isWaiting) wasWaiting.current = true
  const isElsewhere = wasWaiting.current && !isSettledHere
  // What is still open here, and not in the inbox, is about to be read again.
  const end = view?.pause && (isWaiting || view.pause.status !== "open") ? endOf(view.pause, isElsewhere) : null
  const left = isWaiting ? formatLeft(expiresAt, locale) : ""
  const title = pageTitleOf(tool, locale)
  return (
    <section
      className={`card view ${isWaiting ? "waiting" : ""} ${isLarge ? "large" : ""}`}
      id={pauseId ? `pause-${pauseId}` : undefined}
      aria-label={title}
    >
      <div className="bar-top">
        <Icon name={toolIcon(tool)} small />
        <b>{title}</b>
        <span className="soft xs cut grow">
          {[view?.service, say(view?.server ? "foreignPage" : "madang"), left && say("timeLeft", { time: left })]
            .filter(Boolean)
            .join(" · ")}
        </span>
        {end && <EndChip end={end} />}
        <button
          type="button"
          className="ib"
          title={say(isLarge ? "shrink" : "enlarge")}
          aria-label={say(isLarge ? "shrink" : "enlarge")}
          aria-pressed={isLarge}
          onClick={() => page.setLarge(!isLarge)}
        >
          <Icon name="enlarge" />
        </button>
      </div>
      {view?.mayRunScripts === false && (
        <div className="note" role="status">
          <Icon name="warning" small />
          <span className="grow">{say("scriptsOff")}</span>
          <button type="button" className="btn" onClick={() => void page.runScripts()}>
            {say("runScripts")}
          </button>
        </div>
      )}
      <div
        ref={page.place}
        className="frame"
        hidden={phase === "failed"}
        style={isLarge ? {} : { height: page.height }}
      />
      {phase === "failed" && (
        <PageFailed
          text={fallbackText}
          isTextShown={isTextShown}
          onText={() => setTextShown(!isTextShown)}
          onRestart={page.restart}
        />
      )}
    </section>
  )
}

interface FailedProps {
  text: string
  isTextShown: boolean
  onText: () => void
  onRestart: () => void
}

/** In place of a page that does not start: what the model read says the same. */
function PageFailed({ text, isTextShown, onText, onRestart }: FailedProps) {
  const say = useSay()
  return (
    <div className="empty" role="alert">
      <Icon name="warning" />
      <b>{say("pageFailed")}</b>
      {say("pageFailedHint")}
      <div className="row">
        <button type="button" className="btn" onClick={onRestart}>
          {say("startAgain")}
        </button>
        <button type="button" className="btn quiet" aria-expanded={isTextShown} onClick={onText}>
          {say("showText")}
        </button>
      </div>
      {isTextShown && <Code text={text} />}
    </div>
  )
}
