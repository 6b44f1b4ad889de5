/** The tour of the first run: five real steps, one at a time. What an agent reads comes first, then the page. */

import { Suspense, useEffect, useRef, useState, type RefObject } from "react"

import { app, newSession, openFeed, refreshSoon, report, setTour } from "../services/app.ts"
import { useFeed } from "../services/feed.ts"
import { isManual } from "../core/choices.ts"
import { isPending, turnsOf, type MadeCall } from "../core/made.ts"
import { settleItem } from "../services/settling.ts"
import { part } from "../services/parts.ts"
import { useFields, useStore } from "../services/store.ts"
import {
  addResult,
  addTurn,
  answerOf,
  callsOfStep,
  currentStep,
  QUESTION_STEP,
  STEP_COUNT,
  type TourResult,
} from "../core/tour.ts"
import type { TextKey } from "../texts.ts"
import { callTool, settle, takeTurn, updateSession } from "../services/api.ts"
import type { InboxItem, TurnCall } from "../wire/types.ts"
import { Code } from "./Code.tsx"
import { Icon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"

const PageView = part(() => import("./PageView.tsx"))

const SETTLE_MS = 2_000

const STEPS: { name: TextKey; button: TextKey; hint: TextKey; done: TextKey }[] = [
  { name: "tourPlaybook", button: "tourPlaybookDo", hint: "tourPlaybookHint", done: "tourPlaybookDone" },
  { name: "tourShow", button: "tourShowDo", hint: "tourShowHint", done: "tourShowDone" },
  { name: "tourAsk", button: "tourAskDo", hint: "tourAskHint", done: "tourAskDone" },
  { name: "tourChart", button: "tourChartDo", hint: "tourChartHint", done: "tourChartDone" },
  { name: "tourExport", button: "tourExportDo", hint: "tourExportHint", done: "tourExportDone" },
]

export default function Tour() {
  const say = useSay()
  const { tour, inbox } = useFields(app, "tour", "inbox")
  const step = currentStep(tour)
  const result = tour.results.at(-1)
  const { taken, isUnderWay } = useTaken(tour.sessionId, result?.callId ?? "")
  const shown = result && { ...result, ...taken }
  const question = inbox.find(({ id }) => id === shown?.pauseId)
  const isAsked = tour.results.length === QUESTION_STEP + 1 && tour.answer === ""
  const { isSending, play } = usePlay(shown?.pauseId ?? "", taken)
  const isBusy = isSending || isUnderWay
  useAnswer(isAsked, question, taken)
  const section = useRef<HTMLElement>(null)
  useInView(section, step, shown?.viewId)

  return (
    <section className="card tour" aria-labelledby="tour" ref={section}>
      <div className="row tour-head">
        <div className="grow">
          <h2 id="tour">{say("tour")}</h2>
          <p className="hint">{say("tourHint")}</p>
        </div>
        <span className="xs soft num">
          {Math.min(step, STEP_COUNT)} / {STEP_COUNT}
        </span>
        <button type="button" className="btn quiet" onClick={() => setTour({ ...tour, isSkipped: true })}>
          {say(step >= STEP_COUNT ? "close" : "tourSkip")}
        </button>
      </div>
      <div
        className="bar flat"
        role="progressbar"
        aria-label={say("tour")}
        aria-valuenow={step}
        aria-valuemax={STEP_COUNT}
      >
        <i style={{ width: `${(step / STEP_COUNT) * 100}%` }} />
      </div>
      <ol className="steps">
        {STEPS.map(({ name, button, hint, done }, index) => (
          <li
            key={name}
            className={`step ${index < step ? "done" : index === step ? "now" : ""}`}
            aria-current={index === step ? "step" : undefined}
          >
            <span className="n">{index < step ? <Icon name="tick" small /> : index + 1}</span>
            <b>
              {say(name)}
              {index < step && <span className="vh"> · {say("callDone")}</span>}
            </b>
            {index < step ? (
              <span className="xs soft cut">{say(done, { answer: tour.answer })}</span>
            ) : index === step && !isAsked ? (
              <button type="button" className="btn main" disabled={isBusy} onClick={() => void play()}>
                {isBusy && <span className="spin" />}
                {say(button)}
              </button>
            ) : (
              <span />
            )}
            {index === step && <p>{say(isAsked ? "tourAnswerHint" : hint)}</p>}
            {shown !== undefined && index === tour.results.length - 1 && (
              <StepResult shown={shown} question={question} isOpen={index !== QUESTION_STEP} />
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

interface StepResultProps {
  shown: Pick<TourResult, "text" | "viewId" | "tool" | "pauseId">
  question: InboxItem | undefined
  isOpen: boolean
}

/** What a step has brought: what an agent reads, then the page. */
function StepResult({ shown, question, isOpen }: StepResultProps) {
  const say = useSay()
  return (
    <div className="step-out" aria-live="polite">
      {shown.text !== "" && (
        <details className="think" open={isOpen}>
          <summary>
            <Icon name="chevron" small className="chev" />
            {say("agentReads")}
          </summary>
          <Code text={shown.text} />
        </details>
      )}
      {shown.viewId !== "" && (
        <Suspense fallback={<div className="card view starting" />}>
          <PageView
            key={shown.viewId}
            viewId={shown.viewId}
            tool={shown.tool}
            isWaiting={question !== undefined}
            expiresAt={question?.expiresAt ?? ""}
            fallbackText={shown.text}
            pauseId={shown.pauseId}
          />
        </Suspense>
      )}
    </div>
  )
}

/** Doing a step: its calls in the tour's session, which the first one makes. */
function usePlay(pauseId: string, taken: MadeCall | null): { isSending: boolean; play: () => Promise<void> } {
  const say = useSay()
  const locale = useLocale()
  const { tour, inbox, me } = useFields(app, "tour", "inbox", "me")
  const [isSending, setSending] = useState(false)
  const play = async () => {
    setSending(true)
    try {
      // The playbooks were only to be seen: nobody waits for one to be chosen.
      const open = inbox.find(({ id }) => id === pauseId)
      if (open?.type === "choice") await settleItem(open, { decline: true })
      else if (taken?.isRunning && taken.tool === "show_playbooks") await settle(taken.pauseId, { decline: true })
      const sessionId = tour.sessionId || (await newSession()).id
      if (tour.sessionId === "") {
        await updateSession(sessionId, { title: say("tour") })
        setTour({ ...app.get().tour, sessionId })
      }
      const step = currentStep(tour)
      const calls = callsOfStep(step, locale, tour.answer)
      const session = app.get().sessions.find(({ id }) => id === sessionId)
      if (isManual(me, session)) {
        await takeStep(sessionId, calls, step === STEP_COUNT - 1 ? say("tourEnd") : "")
        return
      }
      for (const [index, { tool, arguments: values }] of calls.entries()) {
        const outcome = await callTool(sessionId, tool, values)
        if (index === calls.length - 1 || outcome.isError) setTour(addResult(app.get().tour, tool, outcome))
        if (outcome.isError) break
      }
      refreshSoon()
    } catch (error) {
      report(error)
    } finally {
      setSending(false)
    }
  }
  return { isSending, play }
}

/** The answer to the question of the third step, wherever it is given. */
function useAnswer(isAsked: boolean, question: InboxItem | undefined, taken: MadeCall | null): void {
  const say = useSay()
  const { tour, inbox } = useFields(app, "tour", "inbox")
  const result = tour.results.at(-1)

  // The question is settled, in the page below or in the inbox: its answer is what an agent would read next.
  const isSettled = isAsked && question === undefined && !result?.callId
  const pauseId = result?.pauseId ?? ""
  useEffect(() => {
    if (!isSettled) return
    let isOld = false
    // Looked at again after a moment: the inbox may not have been read since the question was asked.
    const timer = setTimeout(() => {
      callTool(tour.sessionId, "get_prompt", { messageId: pauseId }).then((outcome) => {
        if (isOld) return
        const answer = answerOf(outcome.data)
        if (answer === null) refreshSoon()
        else setTour({ ...app.get().tour, answer: answer || say("tourTitle") })
      }, report)
    }, 300)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [isSettled, pauseId, tour.sessionId, inbox, say])

  // In a run the answer is the result of the call that asked.
  const isTold = isAsked && taken !== null && !taken.isRunning
  const told = isTold ? (answerOf(taken.data) ?? "") : null
  useEffect(() => {
    if (told !== null) setTour({ ...app.get().tour, answer: told || say("tourTitle") })
  }, [told, say])
}

/** What a step shows grows in its own time: until it stands, the next button is kept in view, and at the end the file. */
function useInView(section: RefObject<HTMLElement | null>, step: number, viewId: string | undefined): void {
  const made = useStore(app, ({ tour }) => tour.results.length)
  useEffect(() => {
    const element = section.current
    if (element === null || made === 0) return
    const observer = new ResizeObserver(() => {
      const wanted = element.querySelector(".step.now") ?? element.querySelector(".step-out")
      wanted?.scrollIntoView({ block: "nearest" })
    })
    observer.observe(element)
    const timer = setTimeout(() => observer.disconnect(), SETTLE_MS)
    return () => {
      observer.disconnect()
      clearTimeout(timer)
    }
  }, [section, made, step, viewId])
}

/** Take a step as the model's turn, and with the last one its last word, which ends the run. */
async function takeStep(sessionId: string, calls: TurnCall[], lastWord: string): Promise<void> {
  const { callIds } = await takeTurn(sessionId, { calls })
  try {
    if (lastWord !== "") await takeTurn(sessionId, { say: lastWord })
  } finally {
    setTour(addTurn(app.get().tour, calls.at(-1)!.tool, callIds.at(-1)!))
    refreshSoon()
  }
}

/** The call of a step in the talk of the tour's session, which may have gone on far beyond it. */
function useTaken(sessionId: string, callId: string): { taken: MadeCall | null; isUnderWay: boolean } {
  const feed = useStore(app, ({ feed }) => feed)
  const current = feed?.sessionId === sessionId ? feed : null
  const state = useFeed(current)
  useEffect(() => {
    if (sessionId !== "" && callId !== "") openFeed(sessionId)
  }, [sessionId, callId])
  if (callId === "") return { taken: null, isUnderWay: false }
  const taken = state === null ? null : (turnsOf(state.talk).find(({ id }) => id === callId) ?? null)
  const isToCome = state === null || (state.status !== "gone" && !state.talk.hasOlder)
  return { taken, isUnderWay: taken === null ? isToCome : isPending(taken) }
}
