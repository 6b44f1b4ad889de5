/** The frame of a page and the bridge to it: mounted as long as its view is there, told of what changes around it. */

import { useEffect, useEffectEvent, useRef, useState, type RefObject } from "react"

import { Bridge } from "../frame/bridge.ts"
import { hostContext } from "../frame/context.ts"
import { mountFrame } from "../frame/mount.ts"
import { callFromView, getView, letRunScripts, readFromView, sendMessage } from "../services/api.ts"
import { app, askForPage, askLink, notify, refreshSoon, report } from "../services/app.ts"
import { saveBlob } from "../services/save.ts"
import { settleHere } from "../services/settling.ts"
import { useStore } from "../services/store.ts"
import { pageTitleOf } from "../texts.ts"
import type { View } from "../wire/types.ts"
import { useLocale, useSay } from "./language.tsx"

/** What a page calls to answer: then the answer was given in this tab. */
const SETTLING = new Set(["reply_prompt", "select_playbook", "resume_from_wait"])
const START_MS = 5_000
const FIRST_HEIGHT_PX = 160
/** Of a page that cannot say how high it is. */
const STILL_HEIGHT_PX = 360
const MAX_HEIGHT_PX = 4_000

type Phase = "starting" | "ready" | "failed"

export interface Page {
  view: View | null
  phase: Phase
  /** Where the frame is put. */
  place: RefObject<HTMLDivElement | null>
  height: number
  isLarge: boolean
  setLarge: (isLarge: boolean) => void
  restart: () => void
  runScripts: () => Promise<void>
}

export function usePage(viewId: string, isWaiting: boolean): Page {
  const place = useRef<HTMLDivElement>(null)
  const [view, setView] = useState<View | null>(null)
  const [phase, setPhase] = useState<Phase>("starting")
  const [attempt, setAttempt] = useState(0)
  const [height, setHeight] = useState(FIRST_HEIGHT_PX)
  const [isLarge, setLarge] = useState(false)

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

  const bridge = useFrame({ viewId, view, attempt, place, isLarge, setPhase, setHeight, setLarge })
  useContextTold(bridge)
  useEndTold(bridge, view)
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
  return { view, phase, place, height, isLarge, setLarge, restart: () => setAttempt(attempt + 1), runScripts }
}

interface FrameOptions {
  viewId: string
  view: View | null
  /** Another one: the frame is made anew. */
  attempt: number
  place: RefObject<HTMLDivElement | null>
  isLarge: boolean
  setPhase: (phase: Phase) => void
  setHeight: (pixels: number) => void
  setLarge: (isLarge: boolean) => void
}

/** Frame and bridge are made and taken down together: a bridge without its frame would answer a dead page. */
function useFrame(options: FrameOptions): RefObject<Bridge | null> {
  const { viewId, view: latestView, attempt, place, isLarge, setPhase, setHeight, setLarge } = options
  const say = useSay()
  const locale = useLocale()
  const me = useStore(app, ({ me }) => me)
  const contentOrigin = me?.contentOrigin ?? ""
  const version = me?.version ?? ""
  const bridge = useRef<Bridge | null>(null)
  const isLargeNow = useRef(false)
  isLargeNow.current = isLarge
  const hasView = latestView !== null
  const latest = useRef(latestView)
  latest.current = latestView
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
  }, [viewId, hasView, contentOrigin, attempt, place])
  return bridge
}

/** The theme is also the system's, which changes by itself in the evening. */
function useContextTold(bridge: RefObject<Bridge | null>): void {
  const locale = useLocale()
  const theme = useStore(app, ({ theme }) => theme)
  useEffect(() => {
    const tell = () => bridge.current?.changeContext(hostContext(locale))
    tell()
    const darkness = matchMedia("(prefers-color-scheme: dark)")
    darkness.addEventListener("change", tell)
    return () => darkness.removeEventListener("change", tell)
  }, [bridge, theme, locale])
}

/**
 * The bridge sends the first result. Another one draws the page anew, and with it what is typed there: only when the
 * question has ended.
 */
function useEndTold(bridge: RefObject<Bridge | null>, view: View | null): void {
  const status = view?.pause?.status
  const lastStatus = useRef(status)
  useEffect(() => {
    if (view !== null && lastStatus.current !== undefined && lastStatus.current !== status) {
      bridge.current?.sendResult(view.toolResult)
    }
    lastStatus.current = status
  }, [bridge, view, status])
}
