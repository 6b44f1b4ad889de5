/** What a search through the sessions has found: where the words are, how often, and what of it is shown. Pure. */

import type { Session, SessionHit, SessionsPage } from "../wire/types.ts"
import { marksOf } from "./marks.ts"

/** Where words are: in titles, in what was said, in what tools returned. */
export const PLACES = ["said", "returned", "titled"] as const
export type Place = (typeof PLACES)[number]

const isTitled = ({ title }: Session, query: string) => marksOf(title, query).some(([isMarked]) => isMarked)

/** How many places of each kind have the words. */
export function countPlaces({ sessions, hits }: SessionsPage, query: string): Record<Place, number> {
  return {
    said: hits.filter(({ kind }) => kind === "said").length,
    returned: hits.filter(({ kind }) => kind === "returned").length,
    titled: sessions.filter((session) => isTitled(session, query)).length,
  }
}

/** The sessions that have the words in a place; "" is any. */
export function sessionsWith({ sessions, hits }: SessionsPage, query: string, place: Place | ""): Session[] {
  if (place === "") return [...sessions]
  if (place === "titled") return sessions.filter((session) => isTitled(session, query))
  return sessions.filter(({ id }) => hits.some((hit) => hit.sessionId === id && hit.kind === place))
}

/** The passage that is shown of a session: the newest in that place. Of a title alone, none. */
export function hitOf({ hits }: SessionsPage, sessionId: string, place: Place | ""): SessionHit | undefined {
  return hits.find((hit) => hit.sessionId === sessionId && (place === "" || hit.kind === place))
}
