/** A page of a service in its frame, under a bar that is ours: whose it is, what it waits for. */

import { useEffect, useRef, useState } from "react"

import { Bridge } from "../frame/bridge.ts"
import { hostContext } from "../frame/context.ts"
import { mountFrame } from "../frame/mount.ts"
import { app, notify, refreshSoon } from "../state/app.ts"
import { useStore } from "../state/store.ts"
import { pageTitleOf, type TextKey } from "../texts.ts"
import { callFromView, getView, readFromView, sendMessage } from "../wire/api.ts"
import type { View } from "../wire/types.ts"
import { Code } from "./Calls.tsx"
import { Icon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"
import { ConfirmDialog } from "./SessionMenu.tsx"

const START_MS = 5_000
const FIRST_HEIGHT_PX = 160
const MAX_HEIGHT_PX = 4_000

interface Props {
  viewId: string
  /** Whether its question is open. */
  isWaiting: boolean
  /** What the model read: shown where the page does not start. */
  fallbackText: string
  pauseId: string
}

interface Link {
  url: string
  answer: (isAllowed: boolean) => void
}

export default function PageView({ viewId, isWaiting, fallbackText, pauseId }: Props) {
  const say = useSay()
  const locale = useLocale()
  const { me, theme } = useStore(app)
  const place = useRef<HTMLDivElement>(null)
  const bridge = useRef<Bridge | null>(null)
  const [view, setView] = useState<View | null>(null)
  const [status, setStatus] = useState<"starting" | "ready" | "failed">("starting")
  const [attempt, setAttempt] = useState(0)
  const [height, setHeight] = useState(FIRST_HEIGHT_PX)
  const [isLarge, setLarge] = useState(false)
  const [link, setLink] = useState<Link | null>(null)
  const contentOrigin = me?.contentOrigin ?? ""
  const version = me?.version ?? ""

  // Read again when the question is answered, here or elsewhere: the bar says how it ended.
  useEffect(() => {
    let isOld = false
    getView(viewId).then(
      (found) => !isOld && setView(found),
      () => !isOld && setStatus("failed"),
    )
    return () => {
      isOld = true
    }
  }, [viewId, isWaiting, attempt])

  // Frame and bridge are made and taken down together: a bridge without its frame would answer a dead page.
  const hasView = view !== null
  useEffect(() => {
    const parent = place.current
    if (!hasView || view === null || parent === null || contentOrigin === "") return
    setStatus("starting")
    const timer = setTimeout(() => setStatus("failed"), START_MS)
    const mounted = mountFrame(parent, contentOrigin, pageTitleOf(view.tool, locale), (port) => {
      bridge.current = new Bridge(
        port,
        { ...view, isAwaited: view.pause !== null },
        {
          callTool: async (name, args) => {
            const result = await callFromView(viewId, name, args)
            refreshSoon()
            return result
          },
          readResource: (uri) => readFromView(viewId, uri),
          sendMessage: async (text) => void (await sendMessage(view.sessionId, { text })),
          openLink: (url) => new Promise((answer) => setLink({ url, answer })),
          saveFile,
          notify: (text) => notify(text),
          resize: (pixels) => setHeight(Math.min(Math.ceil(pixels), MAX_HEIGHT_PX)),
          showAs: (mode) => {
            setLarge(mode === "fullscreen")
            return mode
          },
          ready: () => {
            clearTimeout(timer)
            setStatus("ready")
          },
        },
        hostContext(locale),
        version,
      )
    })
    return () => {
      clearTimeout(timer)
      const closing = bridge.current?.close()
      bridge.current = null
      if (closing) void closing.then(mounted.unmount)
      else mounted.unmount()
    }
    // `view` is read again when its state changes; the frame lives as long as the view's id.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [viewId, hasView, contentOrigin, attempt])

  useEffect(() => bridge.current?.changeContext(hostContext(locale)), [theme, locale])
  useEffect(() => {
    if (view !== null) bridge.current?.sendResult(view.toolResult)
  }, [view])

  const chip = view?.pause ? chipOf(view, isWaiting) : null
  return (
    <section
      className={`card view ${isWaiting ? "waiting" : ""} ${isLarge ? "large" : ""}`}
      id={pauseId ? `pause-${pauseId}` : undefined}
      aria-label={view ? pageTitleOf(view.tool, locale) : say("page")}
    >
      <div className="bar-top">
        <Icon name="page" small />
        <b>{view ? pageTitleOf(view.tool, locale) : say("page")}</b>
        <span className="soft xs cut grow">
          {view?.tool} · {say("madang")}
        </span>
        {chip && (
          <span className={`chip ${chip[1]}`}>
            {chip[1] === "wait" && <span className="dot" />}
            {say(chip[0])}
          </span>
        )}
        <button
          type="button"
          className="ib"
          aria-label={say(isLarge ? "shrink" : "enlarge")}
          aria-pressed={isLarge}
          onClick={() => setLarge(!isLarge)}
        >
          <Icon name="enlarge" />
        </button>
      </div>
      <div ref={place} className="frame" hidden={status === "failed"} style={isLarge ? {} : { height }} />
      {status === "failed" && (
        <div className="empty" role="alert">
          <b>{say("pageFailed")}</b>
          {say("pageFailedHint")}
          <button type="button" className="btn" onClick={() => setAttempt(attempt + 1)}>
            {say("startAgain")}
          </button>
          <Code text={fallbackText} />
        </div>
      )}
      {link && (
        <ConfirmDialog
          title={say("openLink")}
          text={`${link.url} · ${say("openLinkHint")}`}
          button={say("open")}
          onConfirm={() => {
            window.open(link.url, "_blank", "noopener,noreferrer")
            link.answer(true)
          }}
          onClose={() => {
            link.answer(false) // the first answer counts
            setLink(null)
          }}
        />
      )}
    </section>
  )
}

function chipOf({ pause }: View, isWaiting: boolean): [TextKey, string] | null {
  switch (pause?.status) {
    case "open":
      return isWaiting ? ["yourTurn", "wait"] : null
    case "answered":
      return pause.settledBy === "person" || pause.settledBy === "" ? ["answered", "ok"] : ["answeredElsewhere", ""]
    case "cancelled":
      return ["declined", ""]
    case "expired":
      return ["expired", ""]
    case "withdrawn":
      return ["withdrawn", ""]
    case "superseded":
      return ["superseded", ""]
    default:
      return null
  }
}

function saveFile(name: string, type: string, bytes: Uint8Array): void {
  const url = URL.createObjectURL(new Blob([bytes as BlobPart], { type }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
