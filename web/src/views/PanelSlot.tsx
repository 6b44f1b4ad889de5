/**
 * Where the panels stand: a third column, below 1,180 px a drawer over the talk, on a phone a sheet.
 *
 * What is in them is `panels/Panels.tsx`, loaded when they are opened for the first time.
 */

import { Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react"

import { app, NARROW, togglePanel } from "../services/app.ts"
import type { TalkFeed } from "../services/feed.ts"
import { part } from "../services/parts.ts"
import { useFields, useStore } from "../services/store.ts"
import { Boundary } from "./Boundary.tsx"
import { useSay } from "./language.tsx"

const Panels = part(() => import("./panels/Panels.tsx"))

/** The panels come at the latest so long after the talk, also where the tab has no moment to spare. */
const MAX_WAIT_MS = 1_500

export function PanelSlot({ feed }: { feed: TalkFeed }) {
  const say = useSay()
  const place = useRef<HTMLElement>(null)
  const [isIdle, setIdle] = useState(false)
  const isReady = useStore(feed.store, ({ status }) => status === "ready")

  // The talk comes first: its panels are loaded when it stands.
  useEffect(() => (isReady ? whenIdle(() => setIdle(true)) : undefined), [isReady])

  // Over the talk it takes the focus, and gives it back to what had it.
  useEffect(() => {
    if (!isOver()) return
    const before = document.activeElement
    place.current?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])

  return (
    <>
      <div className="sheet-scrim" onClick={togglePanel} />
      <aside
        ref={place}
        className="panel"
        tabIndex={-1}
        aria-label={say("panel")}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !isOver()) return
          event.preventDefault()
          togglePanel()
        }}
      >
        {isIdle && (
          <Boundary place={feed.sessionId}>
            <Suspense>
              <Panels feed={feed} onClose={togglePanel} />
            </Suspense>
          </Boundary>
        )}
      </aside>
    </>
  )
}

/** Safari has no idle callback. */
function whenIdle(act: () => void): () => void {
  if (!("requestIdleCallback" in globalThis)) {
    const timer = setTimeout(act, 200)
    return () => clearTimeout(timer)
  }
  const id = requestIdleCallback(act, { timeout: MAX_WAIT_MS })
  return () => cancelIdleCallback(id)
}

const narrow = matchMedia(NARROW)

/** Whether it covers the talk instead of standing beside it. */
const isOver = () => narrow.matches

function watchWidth(onChange: () => void): () => void {
  narrow.addEventListener("change", onChange)
  return () => narrow.removeEventListener("change", onChange)
}

/** Whether the panels are seen. Made narrow, a column does not become a sheet over the talk. */
export function usePanelOpen(): boolean {
  const { isPanelOpen, isSheetOpen } = useFields(app, "isPanelOpen", "isSheetOpen")
  return useSyncExternalStore(watchWidth, isOver) ? isSheetOpen : isPanelOpen
}
