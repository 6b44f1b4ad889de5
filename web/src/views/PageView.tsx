/** A page of a service in its frame, under a bar that is ours: whose it is, what it waits for. */

import { useEffect, useEffectEvent, useRef, useState } from "react"

import { Bridge } from "../frame/bridge.ts"
import { hostContext } from "../frame/context.ts"
import { mountFrame } from "../frame/mount.ts"
import { app, askForPage, askLink, notify, refreshSoon, report } from "../services/app.ts"
import { endOf } from "../core/pauses.ts"
import { saveBlob } from "../services/save.ts"
import { settledHere, settleHere } from "../services/settling.ts"
import { useFields, useStore } from "../services/store.ts"
import { pageTitleOf } from "../texts.ts"
import { callFromView, getView, letRunScripts, readFromView, sendMessage } from "../services/api.ts"
import type { View } from "../wire/types.ts"
import { Code } from "./Code.tsx"
import { EndChip } from "./EndChip.tsx"
import { Icon, toolIcon } from "./icons.tsx"
import { formatLeft, useLocale, useSay } from "./language.tsx"

/** What a page calls to answer: then the answer was given in this tab. */
const SETTLING = new Set(["reply_prompt", "select_playbook", "resume_from_wait"])
const START_MS = 5_000
const FIRST_HEIGHT_PX = 160
/** Of a page that cannot say how high it is. */
const STILL_HEIGHT_PX = 360
const MAX_HEIGHT_PX = 4_000

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
  const { me, theme } = useFields(app, "me", "theme")
  const place = useRef<HTMLDivElement>(null)
  const bridge = useRef<Bridge | null>(null)
  const [view, setView] = useState<View | null>(null)
  const [phase, setPhase] = useState<"starting" | "ready" | "failed">("starting")
  const [attempt, setAttempt] = useState(0)
  const [height, setHeight] = useState(FIRST_HEIGHT_PX)
  const [isLarge, setLarge] = useState(false)
  const [isTextShown, setTextShown] = useState(false)
  const isLargeNow = useRef(false)
  isLargeNow.current = isLarge
  const contentOrigin = me?.contentOrigin ?? ""
  const version = me?.version ?? ""

  // Read again when the question is answered, here or elsewhere: the bar says how it ended.
  useEffect(() => {
    let isOld = false
    getView(viewId).then(
      (found) => !isOld && setView(found),
      () => !isOld && setPhase("failed"),
    )
    return () => {
      isOld = true
    }
  }, [viewId, isWaiting, attempt])

  // Frame and bridge are made and taken down together: a bridge without its frame would answer a dead page.
  const hasView = view !== null
  const latest = useRef(view)
  latest.current = view
  const start = useEffectEvent((parent: HTMLElement, view: View) => {
    // Without its scripts a page never says that it runs.
    setPhase(view.mayRunScripts ? "starting" : "ready")
    if (!view.mayRunScripts) setHeight(STILL_HEIGHT_PX)
    const timer = setTimeout(() => view.mayRunScripts && setPhase("failed"), START_MS)
    const asks = async (kind: "message" | "file", text: string) => {
      if (view.server !== "" && !(await askForPage(kind, view.server, text))) throw new Error(say("declined"))
    }
    const tellMissed = () => notify(say("pressMissed"))
    const connect = (port: MessagePort) => {
      bridge.current = new Bridge(
        port,
        // As it stands now: a question may be answered while its page starts.
        { ...(latest.current ?? view), isAwaited: view.pause !== null },
        {
          callTool: async (name, args) => {
            const calling = callFromView(viewId, name, args)
            const isAnswer = view.pause !== null && SETTLING.has(name)
            const result = await (isAnswer ? settleHere(view.pause!.id, calling, (one) => !one.isError) : calling)
            refreshSoon()
            return result
          },
          readResource: (uri) => readFromView(viewId, uri),
          sendMessage: async (text) => {
            await asks("message", text)
            await sendMessage(view.sessionId, { text })
          },
          openLink: askLink,
          saveFile: async (name, type, bytes) => {
            await asks("file", name)
            saveBlob(new Blob([bytes as BlobPart], { type }), name)
          },
          notify: (text) => notify(view.server === "" ? text : `${view.server}: ${text}`),
          resize: (pixels) => setHeight(Math.min(Math.ceil(pixels), MAX_HEIGHT_PX)),
          // A page may ask for room, and not give it back by itself: what stands below would come under the pointer.
          showAs: (mode) => {
            if (mode === "fullscreen") setLarge(true)
            return mode === "fullscreen" || isLargeNow.current ? "fullscreen" : "inline"
          },
          stopped: () => setPhase("failed"),
          missed: tellMissed,
          ready: () => {
            clearTimeout(timer)
            setPhase("ready")
          },
        },
        hostContext(locale),
        version,
      )
    }
    const press = (x: number, y: number) => (bridge.current ? bridge.current.press(x, y) : tellMissed())
    const title = pageTitleOf(view.tool, locale)
    const mounted = mountFrame(parent, contentOrigin, viewId, title, connect, press)
    return () => {
      clearTimeout(timer)
      const closing = bridge.current?.close()
      bridge.current = null
      if (closing) void closing.then(mounted.unmount)
      else mounted.unmount()
    }
  })
  // `view` is read again when its state changes; the frame lives as long as the view's id.
  useEffect(() => {
    if (!hasView || latest.current === null || place.current === null || contentOrigin === "") return
    return start(place.current, latest.current)
  }, [viewId, hasView, contentOrigin, attempt])

  // The theme is also the system's, which changes by itself in the evening.
  useEffect(() => {
    const tell = () => bridge.current?.changeContext(hostContext(locale))
    tell()
    const darkness = matchMedia("(prefers-color-scheme: dark)")
    darkness.addEventListener("change", tell)
    return () => darkness.removeEventListener("change", tell)
  }, [theme, locale])
  // The bridge sends the first result. Another one draws the page anew, and with it what is typed there: only when the
  // question has ended.
  const isSettledHere = useStore(settledHere, (ids) => ids.has(view?.pause?.id ?? ""))
  const status = view?.pause?.status
  const lastStatus = useRef(status)
  useEffect(() => {
    if (view !== null && lastStatus.current !== undefined && lastStatus.current !== status) {
      bridge.current?.sendResult(view.toolResult)
    }
    lastStatus.current = status
  }, [view, status])
  const wasWaiting = useRef(isWaiting)
  if (isWaiting) wasWaiting.current = true

  useEffect(() => {
    if (!isLarge) return
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return
      event.preventDefault() // or it would stop the run
      setLarge(false)
    }
    document.addEventListener("keydown", onKey, true)
    return () => document.removeEventListener("keydown", onKey, true)
  }, [isLarge])

  const runScripts = async () => {
    try {
      await letRunScripts(viewId)
      setView(null)
      setAttempt(attempt + 1)
    } catch (error) {
      report(error)
    }
  }

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
          onClick={() => setLarge(!isLarge)}
        >
          <Icon name="enlarge" />
        </button>
      </div>
      {view?.mayRunScripts === false && (
        <div className="note" role="status">
          <Icon name="warning" small />
          <span className="grow">{say("scriptsOff")}</span>
          <button type="button" className="btn" onClick={() => void runScripts()}>
            {say("runScripts")}
          </button>
        </div>
      )}
      <div ref={place} className="frame" hidden={phase === "failed"} style={isLarge ? {} : { height }} />
      {phase === "failed" && (
        <div className="empty" role="alert">
          <Icon name="warning" />
          <b>{say("pageFailed")}</b>
          {say("pageFailedHint")}
          <div className="row">
            <button type="button" className="btn" onClick={() => setAttempt(attempt + 1)}>
              {say("startAgain")}
            </button>
            <button
              type="button"
              className="btn quiet"
              aria-expanded={isTextShown}
              onClick={() => setTextShown(!isTextShown)}
            >
              {say("showText")}
            </button>
          </div>
          {isTextShown && <Code text={fallbackText} />}
        </div>
      )}
    </section>
  )
}
