/** What a new session shows: the yard, the tour of the first run, the ways to begin. */

import { Suspense } from "react"

import { app, setLocale } from "../services/app.ts"
import { modelOf, nextAssistant } from "../core/choices.ts"
import { part } from "../services/parts.ts"
import { useFields, useStore } from "../services/store.ts"
import { isTourOver } from "../core/tour.ts"
import { Icon, Mark } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"
import { Select } from "./Select.tsx"

const Tour = part(() => import("./Tour.tsx"))

/** The head of a screen without a session: language and model are what a first run may want to change. */
export function WelcomeHead() {
  const say = useSay()
  const locale = useLocale()
  const me = useStore(app, ({ me }) => me)
  const assistants = me?.assistants ?? []
  const assistantId = useStore(app, (shared) => nextAssistant(shared).id)
  const isSettled = useStore(app, (shared) => nextAssistant(shared).isSettled)
  const other = locale === "ko" ? "en" : "ko"
  return (
    <header className="top">
      <span className="only-phone brand-mark">
        <Mark />
      </span>
      {assistants.length > 1 && (
        <Select
          className="btn quiet"
          aria-label={say("nextAssistant")}
          disabled={isSettled}
          title={isSettled ? say("assistantOfFiles") : undefined}
          value={assistantId}
          options={assistants.map(({ id, name }) => ({ value: id, label: name || say("madang") }))}
          onChange={(nextAssistantId) => app.update({ nextAssistantId })}
        />
      )}
      <span className="grow" />
      <button type="button" className="btn quiet" lang={other} onClick={() => setLocale(other)}>
        {other === "ko" ? "한국어" : "English"}
      </button>
      {me !== null && modelOf(me, assistantId) === "" && (
        <a className="btn" href="#/settings">
          <Icon name="plug" small />
          {say("connectModel")}
        </a>
      )}
    </header>
  )
}

export function Welcome({ assistantId }: { assistantId: string | undefined }) {
  const say = useSay()
  const { me, tour, sessions } = useFields(app, "me", "tour", "sessions")
  const hasModel = me === null || modelOf(me, assistantId) !== ""
  const isFirstRun = sessions.every(({ id }) => id === tour.sessionId)
  const isTourShown = !tour.isSkipped && (isFirstRun || tour.isWanted || tour.results.length > 0)
  return (
    <div className="column">
      <div className="welcome">
        <div className="yard">
          <Mark />
        </div>
        <h1>{say("welcome")}</h1>
        <p>{say(hasModel ? "welcomeWithModel" : "welcomeWithoutModel")}</p>
      </div>
      {isTourShown && (
        <Suspense fallback={<div className="card tour starting" />}>
          <Tour />
        </Suspense>
      )}
      {(!hasModel || (isTourShown && isTourOver(tour))) && (
        <div className="two ways">
          <a className="card item" href="#/manual">
            <Icon name="tools" />
            <div className="grow">
              <h2>{say("manualMode")}</h2>
              <p>{say("manualModeHint", { count: me?.toolCount ?? 0 })}</p>
            </div>
            <Icon name="chevron" small />
          </a>
          <a className="card item" href="#/settings">
            <Icon name="chip" />
            <div className="grow">
              <h2>{say("connectModel")}</h2>
              <p>{say("connectModelHint")}</p>
            </div>
            <Icon name="chevron" small />
          </a>
        </div>
      )}
    </div>
  )
}
