/** The state of the services beside the talk, as the stream tells it. Nothing here asks for state again and again. */

import { useEffect, useId, useRef, useState, type KeyboardEvent, type RefObject } from "react"

import { app } from "../../services/app.ts"
import type { TalkFeed } from "../../services/feed.ts"
import type { Talk } from "../../core/talk.ts"
import type { Route } from "../../core/route.ts"
import { useStore } from "../../services/store.ts"
import { listServices } from "../../services/api.ts"
import type { ServiceInfo } from "../../wire/types.ts"
import { Icon } from "../icons.tsx"
import { useLocale } from "../language.tsx"
import { ContentsPanel } from "./Contents.tsx"
import { FilesPanel } from "./Files.tsx"
import { isPlain, PlainPanel } from "./Plain.tsx"
import { PlanPanel } from "./Plan.tsx"
import { PlaybooksPanel } from "./Playbooks.tsx"
import type { PanelProps } from "./props.ts"
import { usePanelSay, type PanelSay } from "./words.ts"
import { WorkPanel } from "./Work.tsx"

const TAB_KEY = "madang.panel.tab"
const OWN_TABS = ["plan", "playbooks", "files", "contents", "work"] as const
type OwnTab = (typeof OWN_TABS)[number]
/** Services with a panel of their own, or whose state is elsewhere on the screen: questions are in the inbox. */
const DRAWN_SERVICES = new Set(["planning", "playbook", "workspace", "content", "ui"])

export interface PanelsProps {
  feed: TalkFeed
  onClose: () => void
}

/** Draws what stands inside `.panel`: a header with tabs and the button that closes it, then `.body`. */
export default function Panels({ feed, onClose }: PanelsProps) {
  const say = usePanelSay()
  const talk = useStore(feed.store, ({ talk }) => talk)
  const services = useServices(feed.sessionId).filter(isPlain)
  const tabs: { id: string; title: string }[] = [
    ...OWN_TABS.map((id) => ({ id, title: say(id) })),
    ...services.map(({ name, title }) => ({ id: `service-${name}`, title })),
  ]
  const route = useStore(app, ({ route }) => route)
  const wanted = wantedTab(route)
  const [chosen, setChosen] = useState(() => wanted ?? localStorage.getItem(TAB_KEY) ?? "plan")
  useEffect(() => {
    if (wanted) setChosen(wanted)
  }, [wanted, route])
  const selected = tabs.find(({ id }) => id === chosen)?.id ?? "plan"
  const choose = (id: string) => {
    localStorage.setItem(TAB_KEY, id)
    setChosen(id)
  }
  const key = useId()
  const body = useRef<HTMLDivElement>(null)
  useFocusKept(body)
  const props: PanelProps = { sessionId: feed.sessionId, talk, say }
  const service = services.find(({ name }) => `service-${name}` === selected)
  return (
    <>
      <header>
        <h2 className="vh">{tabs.find(({ id }) => id === selected)?.title ?? say("panels")}</h2>
        <Tabs id={key} tabs={tabs} selected={selected} onSelect={choose} label={say("panels")} />
        <button type="button" className="ib" aria-label={say("closePanel")} title={say("closePanel")} onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      <div
        ref={body}
        className="body"
        role="tabpanel"
        tabIndex={0}
        id={`${key}-panel`}
        aria-labelledby={`${key}-${selected}`}
        key={`${feed.sessionId} ${selected}`}
      >
        {service ? <PlainPanel {...props} service={service} /> : <OwnPanel {...props} tab={selected as OwnTab} />}
        {selected !== "plan" && <Untold talk={talk} say={say} />}
      </div>
    </>
  )
}

/** When what has the focus is taken away (a form that was sent, a row that was deleted), the panel has it, not the page. */
function useFocusKept(place: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    let last: Element | null = null
    const onFocus = (event: FocusEvent) => {
      last = event.target instanceof Element && place.current?.contains(event.target) ? event.target : null
    }
    const observer = new MutationObserver(() => {
      if (last === null || last.isConnected || document.activeElement !== document.body) return
      last = null
      place.current?.focus({ preventScroll: true })
    })
    document.addEventListener("focusin", onFocus)
    const frame = place.current?.parentElement
    if (frame) observer.observe(frame, { childList: true, subtree: true })
    return () => {
      document.removeEventListener("focusin", onFocus)
      observer.disconnect()
    }
  }, [place])
}

/** The panel that shows what an address names. */
function wantedTab(route: Route): OwnTab | null {
  if (route.screen !== "chat") return null
  return route.file ? "files" : route.playbook ? "playbooks" : null
}

function OwnPanel({ tab, ...props }: PanelProps & { tab: OwnTab }) {
  switch (tab) {
    case "plan":
      return <PlanPanel {...props} untold={<Untold talk={props.talk} say={props.say} />} />
    case "playbooks":
      return <PlaybooksPanel {...props} />
    case "files":
      return <FilesPanel {...props} />
    case "contents":
      return <ContentsPanel {...props} />
    case "work":
      return <WorkPanel {...props} />
  }
}

/** Which services there are is read once: they do not change while a session is open. */
function useServices(sessionId: string): readonly ServiceInfo[] {
  const locale = useLocale()
  const [services, setServices] = useState<readonly ServiceInfo[]>([])
  useEffect(() => {
    let isStale = false
    listServices(sessionId).then(
      (found) => !isStale && setServices(found.filter(({ name }) => !DRAWN_SERVICES.has(name))),
      () => {}, // then they have no tabs; the talk says that the server is away
    )
    return () => {
      isStale = true
    }
  }, [sessionId, locale])
  return services
}

interface TabsProps {
  id: string
  tabs: readonly { id: string; title: string }[]
  selected: string
  label: string
  onSelect: (id: string) => void
}

function Tabs({ id, tabs, selected, label, onSelect }: TabsProps) {
  const list = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const index = tabs.findIndex((tab) => tab.id === selected) + step
    const place =
      Math.abs(step) === 1 ? (index + tabs.length) % tabs.length : Math.max(0, Math.min(index, tabs.length - 1))
    onSelect(tabs[place]!.id)
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[place]?.focus()
  }
  return (
    <div className="tabs grow" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          className="tab"
          role="tab"
          id={`${id}-${tab.id}`}
          aria-selected={tab.id === selected}
          aria-controls={`${id}-panel`}
          tabIndex={tab.id === selected ? 0 : -1}
          onClick={() => onSelect(tab.id)}
        >
          {tab.title}
        </button>
      ))}
    </div>
  )
}

/** What the person changed, until the model was told. */
function Untold({ talk, say }: { talk: Talk; say: PanelSay }) {
  const count = talk.untold.filter(({ by }) => by === "person").length
  return (
    <div role="status">
      {count > 0 && (
        <div className="note on untold">
          <Icon name="spark" small />
          {say("untold", { count })}
        </div>
      )}
    </div>
  )
}
