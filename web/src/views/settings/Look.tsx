/** Language and theme: choices of this browser. */

import { app, setLocale, setTheme, startTour, type Theme } from "../../services/app.ts"
import { useFields } from "../../services/store.ts"
import type { Locale } from "../../wire/types.ts"
import { useSay } from "../language.tsx"
import { Problem } from "../Problem.tsx"
import { useWords } from "./words.ts"

const THEMES: Theme[] = ["system", "light", "dark"]
const LANGUAGES: [Locale, string][] = [
  ["ko", "한국어"],
  ["en", "English"],
]

export function Look() {
  const words = useWords()
  const say = useSay()
  const { theme, locale } = useFields(app, "theme", "locale")
  return (
    <section className="card box-in">
      <div className="field">
        <span className="label">{words("language")}</span>
        <div className="seg" role="group" aria-label={words("language")}>
          {LANGUAGES.map(([id, name]) => (
            <button key={id} type="button" lang={id} aria-pressed={locale === id} onClick={() => setLocale(id)}>
              {name}
            </button>
          ))}
        </div>
        <p className="hint">{words("languageHint")}</p>
      </div>
      <div className="field">
        <span className="label">{words("appearance")}</span>
        <div className="seg" role="group" aria-label={words("appearance")}>
          {THEMES.map((one) => (
            <button key={one} type="button" aria-pressed={theme === one} onClick={() => setTheme(one)}>
              {words(one)}
            </button>
          ))}
        </div>
      </div>
      <div className="field">
        <span className="label">{say("tour")}</span>
        <button type="button" className="btn start" onClick={startTour}>
          {say("tourAgain")}
        </button>
      </div>
      <Problem />
    </section>
  )
}
