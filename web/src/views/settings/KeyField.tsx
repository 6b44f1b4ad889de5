/** A key by its name: where it is, a new one, and forgetting it. What is typed is sent once and not kept here. */

import { useId, useState } from "react"

import { report } from "../../services/app.ts"
import type { WordKey } from "../../texts/settings.ts"
import type { KeyAnswer } from "../../wire/generated.ts"
import { forgetKey, saveKey } from "../../services/settings.ts"
import { Ask } from "./Ask.tsx"
import { useWords } from "./words.ts"

const PLACES: Record<KeyAnswer["place"], WordKey> = {
  keyring: "keyKeyring",
  file: "keyFile",
  environment: "keyEnvironment",
  missing: "keyNone",
  none: "keyNone",
  unreadable: "keyUnreadable",
}

interface Props {
  title: string
  answer: KeyAnswer
  path: string
  hint: string
  onChange: () => Promise<void>
}

export function KeyField({ title, answer, path, hint, onChange }: Props) {
  const words = useWords()
  const id = useId()
  const [key, setKey] = useState("")
  const [isAsking, setAsking] = useState(false)
  const isKept = answer.place === "keyring" || answer.place === "file"
  const save = async () => {
    const value = key.trim()
    setKey("")
    await saveKey(answer.name, value)
    await onChange()
  }
  return (
    <>
      <form
        className="field"
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault()
          if (key.trim() !== "") void save().catch(report)
        }}
      >
        <label htmlFor={id}>{words("keyOf", { name: title })}</label>
        <div className="row">
          <input
            id={id}
            className="input mono grow"
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={key}
            placeholder={isKept ? "••••••••••••" : words("keyNew")}
            disabled={answer.place === "environment"}
            aria-describedby={`${id}-where`}
            onChange={(event) => setKey(event.target.value)}
          />
          {answer.place !== "environment" && (
            <button type="submit" className="btn" disabled={key.trim() === ""}>
              {words(isKept ? "keyChange" : "keySave")}
            </button>
          )}
          {isKept && (
            <button
              type="button"
              className="btn quiet"
              aria-label={`${words("keyForget")}: ${title}`}
              onClick={() => setAsking(true)}
            >
              {words("keyForget")}
            </button>
          )}
        </div>
        <p id={`${id}-where`} className={answer.place === "file" ? "hint warn" : "hint"}>
          {words(PLACES[answer.place], { path })} {hint}
        </p>
      </form>
      {isAsking && (
        <Ask
          title={words("keyForgetAsk", { name: title })}
          button={words("keyForget")}
          onConfirm={() => void forgetKey(answer.name).then(onChange, report)}
          onClose={() => setAsking(false)}
        >
          <p>{words("keyForgetText")}</p>
        </Ask>
      )}
    </>
  )
}
