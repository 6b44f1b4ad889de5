/** Find words in this session, also in messages that are not loaded: the browser's own search does not see those. */

import { useEffect, useState } from "react"

import { goQuietly, report } from "../services/app.ts"
import type { TalkFeed } from "../services/feed.ts"
import { useStore } from "../services/store.ts"
import { findSessions } from "../services/api.ts"
import { Icon } from "./icons.tsx"
import { useSay } from "./language.tsx"

const TYPING_MS = 200

export default function FindBar({ feed, onClose }: { feed: TalkFeed; onClose: () => void }) {
  const say = useSay()
  const talk = useStore(feed.store, ({ talk }) => talk)
  const [query, setQuery] = useState("")
  const [stored, setStored] = useState<string[]>([])
  const [place, setPlace] = useState<number | null>(null)
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)

  useEffect(() => {
    setPlace(null)
    setStored([])
    if (query.trim() === "") return
    let isOld = false
    const timer = setTimeout(() => {
      findSessions({ query, session: feed.sessionId }).then(({ hits }) => {
        if (!isOld) setStored(hits.map(({ messageId }) => messageId).reverse()) // the newest comes first
      }, report)
    }, TYPING_MS)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [query, feed])

  const loaded = talk.items.flatMap((item) =>
    words.length > 0 && words.every((word) => item.text.toLowerCase().includes(word)) ? [item.id] : [],
  )
  const known = new Set(talk.items.map(({ id }) => id))
  const found = [...stored.filter((id) => !known.has(id)), ...loaded]
  const go = (step: number) => {
    if (found.length === 0) return
    const next = place === null ? found.length - 1 : (place + step + found.length) % found.length
    setPlace(next)
    goQuietly({ screen: "chat", sessionId: feed.sessionId, messageId: found[next]! })
  }
  return (
    <form
      className="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        go(-1)
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault() // or it would stop the run
          onClose()
        } else if (event.key === "Enter" && event.shiftKey) {
          event.preventDefault()
          go(1)
        }
      }}
    >
      <div className="search">
        <Icon name="search" />
        <input
          className="input"
          type="search"
          autoFocus
          aria-label={say("findHere")}
          placeholder={say("findHere")}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
      </div>
      <span className="hint num" role="status">
        {words.length === 0
          ? ""
          : found.length === 0
            ? say("foundNone")
            : say("foundOf", { number: place === null ? found.length : place + 1, count: found.length })}
      </span>
      <button type="button" className="ib" aria-label={say("previous")} title={say("previous")} onClick={() => go(-1)}>
        <Icon name="up" />
      </button>
      <button type="button" className="ib" aria-label={say("next")} title={say("next")} onClick={() => go(1)}>
        <Icon name="down" />
      </button>
      <button type="button" className="ib" aria-label={say("close")} title={say("close")} onClick={onClose}>
        <Icon name="cross" />
      </button>
    </form>
  )
}
