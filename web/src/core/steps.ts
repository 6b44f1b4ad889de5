/** How far a playbook is, by the plan: whoever runs one makes todos of its steps, and ticks them. Pure. */

import type { Todo } from "../wire/types.ts"

export type StepState = "done" | "now" | "open"

/**
 * The state of each step, or null where no todo is of any of them: then nobody knows. A todo is of a step that it
 * repeats the words of; the last one counts, for a playbook may be run twice in a session.
 */
export function stepStates(steps: readonly string[], todos: readonly Todo[]): StepState[] | null {
  const unused = todos.map((todo) => ({ todo, words: wordsOf(todo.name) }))
  const found = steps.map((step) => {
    const words = wordsOf(step)
    const index = unused.findLastIndex((one) => isSame(one.words, words))
    return index < 0 ? undefined : unused.splice(index, 1)[0]!.todo
  })
  if (found.every((todo) => todo === undefined)) return null
  const isDone = found.map((todo) => todo?.status === "completed")
  const now = found.findIndex((todo) => todo?.status === "pending")
  return found.map((_, index) => (isDone[index] ? "done" : index === now ? "now" : "open"))
}

/** Without a number before it, a full stop after it, case, and more than one space. */
function wordsOf(text: string): string {
  return text
    .normalize("NFC")
    .toLowerCase()
    .replace(/^\s*(step\s*)?\d+\s*(단계)?\s*[.):：-]\s*/u, "")
    .replace(/\s+/g, " ")
    .replace(/[\s.。!]+$/u, "")
    .trim()
}

const isSame = (one: string, other: string) => one !== "" && one === other
