/**
 * Where the panels stand: a third column, below 1,180 px a drawer over the talk, on a phone a sheet.
 *
 * What is in them is `panels/Panels.tsx`, loaded when they are opened for the first time.
 */

import { lazy, Suspense, useEffect, useRef, useState } from "react"

import { setPanelOpen } from "../state/app.ts"
import type { TalkFeed } from "../state/feed.ts"
import { useSay } from "./language.tsx"

const Panels = lazy(() => import("./panels/Panels.tsx"))

const AFTER_TALK_MS = 100

export function PanelSlot({ feed }: { feed: TalkFeed }) {
  const say = useSay()
  const place = useRef<HTMLElement>(null)
  const [isIdle, setIdle] = useState(false)
  const close = () => setPanelOpen(false)

  // The talk comes first: its panels are loaded when it stands.
  useEffect(() => {
    const timer = setTimeout(() => setIdle(true), AFTER_TALK_MS)
    return () => clearTimeout(timer)
  }, [])

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
      <div className="sheet-scrim" onClick={close} />
      <aside
        ref={place}
        className="panel"
        tabIndex={-1}
        aria-label={say("panel")}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !isOver()) return
          event.preventDefault()
          close()
        }}
      >
        {isIdle && (
          <Suspense>
            <Panels feed={feed} onClose={close} />
          </Suspense>
        )}
      </aside>
    </>
  )
}

/** Whether it covers the talk instead of standing beside it. */
export const isOver = () => matchMedia("(max-width: 1180px)").matches
