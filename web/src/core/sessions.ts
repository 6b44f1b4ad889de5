/** The list of sessions, kept up with what a stream tells of it. */

import type { Session, SessionsValue } from "../wire/types.ts"

/** How many the server gives at once: older ones are on the screen of sessions alone. */
const MAX_SESSIONS = 200

/** A session by its id. The list has not got all: the open one is known beside it. */
export function findSession(
  { sessions, opened }: { sessions: readonly Session[]; opened: Session | null },
  id: string,
): Session | undefined {
  return sessions.find((one) => one.id === id) ?? (opened?.id === id ? opened : undefined)
}

/** Put changed sessions into a list, newest first, as the server has it: without those in the archive. */
export function mergeSessions(sessions: readonly Session[], changed: SessionsValue): Session[] {
  const replaced = new Set([...changed.gone, ...changed.sessions.map(({ id }) => id)])
  const merged = [
    ...sessions.filter(({ id }) => !replaced.has(id)),
    ...changed.sessions.filter(({ isArchived }) => !isArchived),
  ]
  return merged
    .sort((one, other) => other.lastAt.localeCompare(one.lastAt) || (other.id < one.id ? -1 : 1))
    .slice(0, MAX_SESSIONS)
}
