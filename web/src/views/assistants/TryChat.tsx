/** A chat beside the editor: a session of the assistant as it is set up now. */

import { useEffect, useRef, useState } from "react"

import { app, feedListener, go, refreshSoon, report } from "../../services/app.ts"
import { TalkFeed, useFeed } from "../../services/feed.ts"
import { useStore } from "../../services/store.ts"
import { createSession, deleteSession } from "../../services/api.ts"
import { Dock, OpenTalk } from "../Chat.tsx"
import { Icon } from "../icons.tsx"
import { useWords } from "../settings/words.ts"

interface Props {
  assistantId: string
  name: string
  onClose: () => void
}

export default function TryChat({ assistantId, name, onClose }: Props) {
  const words = useWords()
  const sessions = useStore(app, ({ sessions }) => sessions)
  const [feed, setFeed] = useState<TalkFeed | null>(null)
  const state = useFeed(feed)
  const place = useRef<HTMLElement>(null)
  const isKept = useRef(false)
  const title = useRef(words("tryTitle", { name }))

  useEffect(() => {
    let opened: TalkFeed | null = null
    let isOver = false
    const open = async () => {
      const { locale } = app.get()
      const { id } = await createSession({ assistantId, locale, title: title.current.slice(0, 200) })
      refreshSoon()
      if (isOver) return
      opened = new TalkFeed(id, feedListener)
      setFeed(opened)
    }
    open().catch(report)
    place.current?.focus()
    return () => {
      isOver = true
      opened?.close()
      // Nothing was said in it: there is nothing to keep.
      const talk = opened?.store.get().talk
      if (opened && !isKept.current && talk?.items.length === 0 && talk.queued.length === 0)
        void deleteSession(opened.sessionId).then(refreshSoon, report)
    }
  }, [assistantId])

  const session = sessions.find(({ id }) => id === feed?.sessionId)
  return (
    <aside className="try-chat" ref={place} tabIndex={-1} aria-label={title.current}>
      <header className="top">
        <h2 className="cut grow">{title.current}</h2>
        {feed !== null && (
          <button
            type="button"
            className="btn quiet"
            onClick={() => {
              isKept.current = true
              go({ screen: "chat", sessionId: feed.sessionId })
            }}
          >
            {words("openAsSession")}
          </button>
        )}
        <button type="button" className="ib" aria-label={words("close")} onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      {feed !== null && state?.status === "ready" ? (
        <>
          <OpenTalk feed={feed} state={state} session={session} target="" />
          <Dock sessionId={feed.sessionId} assistantId={assistantId} state={state} />
        </>
      ) : (
        <div className="scroll" aria-busy="true" />
      )}
    </aside>
  )
}
