/** What a new session shows: the yard, the tour of the first run, the ways to begin. */

import { Suspense } from "react"

import { app, setLocale } from "../state/app.ts"
import { part } from "../state/parts.ts"
import { useStore } from "../state/store.ts"
import { isTourOver } from "../state/tour.ts"
import { Icon, Mark } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"
import { Select } from "./Select.tsx"

const Tour = part(() => import("./Tour.tsx"))

/** The head of a screen without a session: language and model are what a first run may want to change. */
export function WelcomeHead() {
  const say = useSay()
  const locale = useLocale()
  const { me, nextAssistantId } = useStore(app)
  const assistants = me?.assistants ?? []
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
          value={assistants.some(({ id }) => id === nextAssistantId) ? nextAssistantId : assistants[0]!.id}
          onChange={(event) => app.update({ nextAssistantId: event.target.value })}
        >
          {assistants.map(({ id, name }) => (
            <option key={id} value={id}>
              {name || say("madang")}
            </option>
          ))}
        </Select>
      )}
      <span className="grow" />
      <button type="button" className="btn quiet" lang={other} onClick={() => setLocale(other)}>
        {other === "ko" ? "한국어" : "English"}
      </button>
      {me?.model === "" && (
        <a className="btn" href="#/settings">
          <Icon name="plug" small />
          {say("connectModel")}
        </a>
      )}
    </header>
  )
}

export function Welcome() {
  const say = useSay()
  const { me, tour, sessions } = useStore(app)
  const hasModel = me?.model !== ""
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
