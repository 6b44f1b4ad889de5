/** What is in force where the person has chosen nothing: pickers show it, and it is what is sent. */

import type { Me, Session } from "../wire/types.ts"
import { findSession } from "./sessions.ts"

interface Choosing {
  me: Me | null
  nextAssistantId: string
  madeSessionId: string
  sessions: readonly Session[]
  opened: Session | null
}

/** The assistant of the next session, unless files have made that session already: then it is whose the session is. */
export function nextAssistant(shared: Choosing): { id: string; isSettled: boolean } {
  const { me, nextAssistantId, madeSessionId } = shared
  const made = madeSessionId === "" ? undefined : findSession(shared, madeSessionId)
  if (made !== undefined) return { id: made.assistantId, isSettled: true }
  const isThere = me?.assistants.some(({ id }) => id === nextAssistantId) // it may have been deleted since
  return { id: isThere ? nextAssistantId : (me?.assistantId ?? ""), isSettled: false }
}

/** The model that answers a message in a session of an assistant, unless another is chosen for it; empty: the person. */
export function modelOf(me: Me | null, assistantId: string | undefined): string {
  const own = me?.assistants.find(({ id }) => id === assistantId)?.model ?? ""
  return me === null ? "" : me.isModelFixed ? me.model : own || me.model
}

/** Whether the person is the model of a session: neither the host nor its assistant has one. */
export function isManual(me: Me | null, session: Session | undefined): boolean {
  return me !== null && modelOf(me, session?.assistantId) === ""
}
