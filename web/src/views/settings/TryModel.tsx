/** Asks a model for a word, and tells how long that took or why it failed. */

import { useState } from "react"

import { report } from "../../services/app.ts"
import type { TryModelAnswer } from "../../wire/generated.ts"
import { tryModel } from "../../services/settings.ts"
import { Icon } from "../icons.tsx"
import { useWords } from "./words.ts"

export function TryModel({ name }: { name: string }) {
  const words = useWords()
  const [answer, setAnswer] = useState<TryModelAnswer | null>(null)
  const [isAsking, setAsking] = useState(false)
  const ask = async () => {
    setAsking(true)
    setAnswer(null)
    try {
      setAnswer(await tryModel(name))
    } finally {
      setAsking(false)
    }
  }
  return (
    <span className="row try-model">
      <span role="status">
        {answer !== null && (
          <span className={answer.isOk ? "chip ok" : "chip bad"} title={answer.isOk ? answer.text : answer.hint}>
            {answer.isOk ? words("answered", { ms: answer.tookMs }) : answer.message || words("didNotAnswer")}
          </span>
        )}
      </span>
      <button
        type="button"
        className="btn quiet"
        disabled={isAsking}
        aria-label={`${words("tryModel")}: ${name}`}
        onClick={() => void ask().catch(report)}
      >
        <Icon name="play" small />
        {words(isAsking ? "trying" : "tryModel")}
      </button>
    </span>
  )
}
