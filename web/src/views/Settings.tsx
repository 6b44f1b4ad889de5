/** Choices of this browser, and what is running. */

import { app, setLocale, setTheme, startTour, type Theme } from "../state/app.ts"
import { useStore } from "../state/store.ts"
import type { Locale } from "../wire/types.ts"
import { useSay } from "./language.tsx"
import { Problem } from "./Problem.tsx"

const THEMES: Theme[] = ["system", "light", "dark"]
const LANGUAGES: [Locale, string][] = [
  ["ko", "한국어"],
  ["en", "English"],
]

export default function Settings() {
  const say = useSay()
  const { me, theme, locale } = useStore(app)
  return (
    <div className="scroll">
      <div className="wide">
        <div className="page-head">
          <h1>{say("settings")}</h1>
        </div>
        <section className="card box-in">
          <div className="field">
            <span className="label">{say("language")}</span>
            <div className="seg" role="group" aria-label={say("language")}>
              {LANGUAGES.map(([id, name]) => (
                <button key={id} type="button" lang={id} aria-pressed={locale === id} onClick={() => setLocale(id)}>
                  {name}
                </button>
              ))}
            </div>
          </div>
          <div className="field">
            <span className="label">{say("appearance")}</span>
            <div className="seg" role="group" aria-label={say("appearance")}>
              {THEMES.map((one) => (
                <button key={one} type="button" aria-pressed={theme === one} onClick={() => setTheme(one)}>
                  {say(one)}
                </button>
              ))}
            </div>
          </div>
          <div className="field">
            <span className="label">{say("models")}</span>
            <p>{me?.models.map(({ label }) => label).join(", ") || say("noModel")}</p>
            <p className="hint">{say("modelsHint")}</p>
          </div>
          <div className="field">
            <span className="label">{say("dataFolder")}</span>
            <p className="mono">{me?.dataDir}</p>
          </div>
          <div className="field">
            <span className="label">{say("tour")}</span>
            <button type="button" className="btn starts" onClick={startTour}>
              {say("tourAgain")}
            </button>
          </div>
          <Problem />
        </section>
      </div>
    </div>
  )
}
