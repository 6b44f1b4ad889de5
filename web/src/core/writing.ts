/** The answer that is being written, put together from pieces that may come twice, late or never. */

import type { DeltaMetadata } from "../wire/types.ts"

/** What has come of a text that is being written. */
export interface Written {
  text: string
  /** Code points of `text`: offsets on the wire count those. */
  chars: number
  /** A piece is missing: what comes after it is held back until the answer is stored. */
  hasGap: boolean
}

/** The answer that is being written: it is replaced by the stored one. */
export interface Draft extends Written {
  runId: string
  messageNo: number
  /** What the model thought before. */
  thinking: Written
}

const NOTHING_WRITTEN: Written = { text: "", chars: 0, hasGap: false }

/** Change the answer to come, unless what came belongs to one before it. */
export function addDelta(
  draft: Draft | null,
  { runId, offset, messageNo }: DeltaMetadata,
  change: (draft: Draft, offset: number) => Draft,
): Draft {
  if (draft?.runId === runId && messageNo < draft.messageNo) return draft
  const isSame = draft?.runId === runId && draft.messageNo === messageNo
  return change(isSame ? draft : { runId, messageNo, ...NOTHING_WRITTEN, thinking: NOTHING_WRITTEN }, offset)
}

/**
 * Put a piece of what is being written at its place. One that is there already changes nothing, one after a gap is not
 * shown, and one that differs from what is there belongs to an answer that was begun anew.
 */
export function put({ text, chars, hasGap }: Written, delta: string, offset: number): Written {
  if (offset > chars) return { text, chars, hasGap: true }
  if (offset === chars) return { text: text + delta, chars: chars + countChars(delta), hasGap: false }
  const written = [...text]
  const piece = [...delta]
  if (piece.every((character, index) => written[offset + index] === character)) return { text, chars, hasGap }
  return { text: written.slice(0, offset).join("") + delta, chars: offset + piece.length, hasGap: false }
}

/** Code points, without making a list of them: this is done for every piece. */
function countChars(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
