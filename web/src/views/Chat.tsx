/** One session: its head, its talk, and the dock with the composer or, in its place, the gate. */

import { Suspense, useEffect, useMemo, useRef, useState } from "react"

import { app, go, newSession, report, togglePanel } from "../services/app.ts"
import { askInBranch, editInBranch, forkAfter } from "../services/branching.ts"
import { modelOf, nextAssistant } from "../core/choices.ts"
import { readDraft, readMadeSession, writeDraft, writeFiles, writeMadeSession } from "../services/drafts.ts"
import { useFeed, type Feed, type TalkFeed } from "../services/feed.ts"
import { questionsOf, sortInbox } from "../core/inbox.ts"
import { settleItem } from "../services/settling.ts"
import { part } from "../services/parts.ts"
import { findSession } from "../core/sessions.ts"
import { useFields, useStore } from "../services/store.ts"
import { hasMessage } from "../core/talk.ts"
import { sendMessage, stopRun, withdrawMessage } from "../services/api.ts"
import { isTool } from "../texts.ts"
import type { InboxItem, Session } from "../wire/types.ts"
import { Composer, type Sent } from "./Composer.tsx"
import { Gate } from "./Gate.tsx"
import { Icon } from "./icons.tsx"
import { COMMAND_KEY, titleOf, useSay } from "./language.tsx"
import { usePanelOpen } from "./PanelSlot.tsx"
import { SessionMenu } from "./SessionMenu.tsx"
import { Talk } from "./Talk.tsx"
import type { TalkActions } from "./talkActions.ts"
import { Welcome, WelcomeHead } from "./Welcome.tsx"

const ForeignCalls = part(async () => ({ default: (await import("./settings/Clients.tsx")).ForeignCalls }))

const FindBar = part(() => import("./FindBar.tsx"))

export function Chat({ sessionId, messageId }: { sessionId: string; messageId: string }) {
  const current = useStore(app, ({ feed }) => (feed?.sessionId === sessionId ? feed : null))
  const session = useStore(app, (shared) => findSession(shared, sessionId))
  const nextAssistantId = useStore(app, (shared) => nextAssistant(shared).id)
  const assistantId = sessionId === "" ? nextAssistantId : session?.assistantId
  const state = useFeed(current)
  const [isFinding, setFinding] = useState(false)
  return (
    <>
      {sessionId === "" ? (
        <WelcomeHead />
      ) : (
        <ChatHead session={session} state={state} onFind={() => setFinding(!isFinding)} />
      )}
      {isFinding && current !== null && (
        <Suspense>
          <FindBar key={sessionId} feed={current} onClose={() => setFinding(false)} />
        </Suspense>
      )}
      {current !== null && state !== null && state.status === "ready" ? (
        <OpenTalk key={`talk-${sessionId}`} feed={current} state={state} session={session} target={messageId} />
      ) : (
        <BeforeTalk state={state} sessionId={sessionId} assistantId={assistantId} />
      )}
      <Dock key={`dock-${sessionId}`} sessionId={sessionId} assistantId={assistantId} state={state} />
    </>
  )
}

interface ChatHeadProps {
  session: Session | undefined
  state: Feed | null
  onFind: () => void
}

function ChatHead({ session, state, onFind }: ChatHeadProps) {
  const say = useSay()
  const run = state?.talk.run.state
  const isElsewhere = state?.talk.runs.some(({ sessionId, isElsewhere }) => isElsewhere && sessionId === session?.id)
  const isPanelOpen = usePanelOpen()
  return (
    <header className="top">
      <button
        type="button"
        className="ib only-phone"
        aria-label={say("back")}
        onClick={() => go({ screen: "sessions" })}
      >
        <Icon name="back" />
      </button>
      <h1 className="cut">{session === undefined ? "" : titleOf(session, say)}</h1>
      {run === "running" && (
        <span className="chip on">
          <span className="dot run" />
          {say(isElsewhere ? "runningElsewhere" : "running")}
        </span>
      )}
      {run === "waiting" && (
        <span className="chip wait">
          <span className="dot" />
          {say("yourTurn")}
        </span>
      )}
      <span className="grow" />
      {session && (
        <>
          <button
            type="button"
            className="ib hide-phone"
            aria-label={say("findHere")}
            title={say("findHere")}
            onClick={onFind}
          >
            <Icon name="search" />
          </button>
          <SessionMenu session={session} />
          <button
            type="button"
            className="ib"
            aria-label={say("panel")}
            aria-pressed={isPanelOpen}
            title={`${say("panel")} (${COMMAND_KEY}.)`}
            onClick={togglePanel}
          >
            <Icon name="panel" />
          </button>
        </>
      )}
    </header>
  )
}

interface BeforeTalkProps {
  state: Feed | null
  sessionId: string
  assistantId: string | undefined
}

function BeforeTalk({ state, sessionId, assistantId }: BeforeTalkProps) {
  const say = useSay()
  if (sessionId === "") {
    return (
      <div className="scroll">
        <Welcome assistantId={assistantId} />
      </div>
    )
  }
  if (state?.status === "gone") return <div className="scroll empty">{say("sessionGone")}</div>
  return (
    <div className="scroll">
      <div className="column skeleton" role="status" aria-label={say("loading")}>
        <div className="sk own" />
        <div className="sk line" />
        <div className="sk line" />
        <div className="sk block" />
      </div>
    </div>
  )
}

interface OpenTalkProps {
  feed: TalkFeed
  state: Feed
  session: Session | undefined
  target: string
}

export function OpenTalk({ feed, state, session, target }: OpenTalkProps) {
  const { inbox, me } = useFields(app, "inbox", "me")
  const questions = useMemo(() => inbox.filter((item) => item.sessionId === feed.sessionId), [inbox, feed])
  const say = useSay()
  const assistant = me?.assistants.find(({ id }) => id === session?.assistantId)?.name || say("madang")
  const actions = useMemo<TalkActions>(() => actionsOf(feed, say("goOnPlease")), [feed, say])
  return (
    <Talk
      feed={feed}
      talk={state.talk}
      questions={questions}
      assistant={assistant}
      actions={actions}
      endsWanted={state.endsWanted}
      target={target}
    >
      {state.talk.items.length === 0 &&
        state.talk.run.state === "idle" &&
        (session?.client ? (
          <Suspense>
            <ForeignCalls sessionId={session.id} client={session.client} />
          </Suspense>
        ) : (
          <Welcome assistantId={session?.assistantId} />
        ))}
    </Talk>
  )
}

function actionsOf(feed: TalkFeed, goOn: string): TalkActions {
  const { sessionId } = feed
  const again = async (itemId: string) => {
    const { items } = feed.store.get().talk
    const index = items.findIndex(({ id }) => id === itemId)
    // A run that did not end well goes on where it is; an answer is asked for anew in a branch.
    if (items[index]?.kind === "note") return void (await sendMessage(sessionId, { text: goOn }))
    const asked = items.slice(0, index).findLast((item) => item.kind === "message" && item.role === "user")
    if (asked?.kind === "message") await askInBranch(sessionId, asked)
  }
  return {
    fork: (item) => void forkAfter(sessionId, item).catch(report),
    edit: (item) => void editInBranch(sessionId, item).catch(report),
    again: (itemId) => void again(itemId).catch(report),
  }
}

interface DockProps {
  sessionId: string
  assistantId: string | undefined
  state: Feed | null
}

/** What stands below the talk. No frame is ever drawn here. */
export function Dock({ sessionId, assistantId, state }: DockProps) {
  const say = useSay()
  const { inbox, me } = useFields(app, "inbox", "me")
  const [later, setLater] = useState<ReadonlySet<string>>(new Set())
  const here = sortInbox(inbox.filter((item) => item.sessionId === sessionId && sessionId !== ""))
  const approvals = here.filter(({ type }) => type === "approval")
  const pending = approvals.filter(({ id }) => !later.has(id))
  const questions = here.filter(({ type }) => type !== "approval")
  const [approval] = pending
  const talk = state?.talk
  const isRunning = talk?.run.state === "running"
  const model = modelOf(me, assistantId)

  // A file needs a session before the first message does; going there would drop what is being written.
  const made = useRef(sessionId === "" ? readMadeSession() : "")
  useEffect(() => app.update({ madeSessionId: made.current }), [])
  const makeSession = async () => {
    if (made.current === "") {
      made.current = (await newSession()).id
      writeMadeSession(made.current)
      app.update({ madeSessionId: made.current })
    }
    return made.current
  }
  const onSend = async ({ text, attachments, model: chosen }: Sent) => {
    const tool = text.trim().replace(/^\//, "")
    if (me !== null && model === "" && chosen === "" && isTool(tool)) return go({ screen: "manual", tool })
    const id = sessionId || (await makeSession())
    await sendMessage(id, { text, attachments, ...(chosen !== "" && { model: chosen }) })
    app.get().feed?.showEnd()
    if (sessionId === "") {
      writeDraft(id, readDraft("")) // typed meanwhile
      writeDraft("", "")
      writeFiles("", [])
      writeMadeSession("")
      go({ screen: "chat", sessionId: id })
    }
  }
  const textQuestion = questions.find(({ type }) => type === "text")
  const onAnswer = async (text: string) => {
    if (textQuestion) await settleItem(textQuestion, { answer: text })
  }
  const asked = questionsOf(questions)
  const oldest = (asked.length > 0 ? asked : questions).toSorted((a, b) => a.openedAt.localeCompare(b.openedAt))[0]
  const waitingLine = oldest && (
    <Jump
      text={asked.length > 0 ? say("questionsWait", { count: asked.length }) : say("yourModelTurn")}
      button={say(asked.length > 0 ? "goToQuestion" : "show")}
      onPress={() => goToQuestion(oldest, talk?.calls)}
    />
  )
  return (
    <div className="dock">
      {approval === undefined && approvals.length > 0 && (
        <Jump
          text={say("approvalsLater", { count: approvals.length })}
          button={say("show")}
          onPress={() => setLater(new Set())}
        />
      )}
      {approval === undefined && waitingLine}
      {talk?.queued.map(({ id, text }) => (
        <div key={id} className="note queued">
          <span className="chip line">{say("queued")}</span>
          <span className="grow cut">{text}</span>
          <button type="button" className="btn quiet" onClick={() => void withdrawMessage(sessionId, id).catch(report)}>
            {say("withdraw")}
          </button>
        </div>
      ))}
      {approval ? (
        <Gate
          item={approval}
          number={approvals.length - pending.length + 1}
          count={approvals.length}
          onLater={() => setLater(new Set([...later, approval.id]))}
        />
      ) : null}
      {approval ? (
        waitingLine
      ) : (
        <Composer
          sessionId={sessionId}
          makeSession={makeSession}
          models={me?.models ?? []}
          model={model}
          isRunning={isRunning}
          question={textQuestion}
          onSend={onSend}
          hasTaken={(text, after) => talk !== undefined && hasMessage(talk, text, after)}
          lastSeq={talk?.lastSeq ?? 0}
          onAnswer={onAnswer}
          onStop={() => void stopRun(sessionId).catch(report)}
          onUseTool={() => app.update({ isPaletteOpen: true })}
          inputTokens={talk?.inputTokens ?? null}
        />
      )}
    </div>
  )
}

function Jump({ text, button, onPress }: { text: string; button: string; onPress: () => void }) {
  return (
    <div className="jump">
      <span className="dot wait" />
      <span className="grow cut">{text}</span>
      <button type="button" className="btn" onClick={onPress}>
        <Icon name="send" small />
        {button}
      </button>
    </div>
  )
}

/** Where it is asked in the talk; where it is not mounted, in the inbox. */
function goToQuestion(item: InboxItem, calls: Feed["talk"]["calls"] | undefined): void {
  const call = Object.values(calls ?? {}).find(({ pauseId }) => pauseId === item.id)
  const element = document.getElementById(`pause-${item.id}`) ?? (call && document.getElementById(`call-${call.id}`))
  if (element) element.scrollIntoView({ block: "center" })
  else go({ screen: "inbox", itemId: item.id })
}
