/**
 * Emphasis next to Chinese, Japanese and Korean, which have no space between a word and what follows it: `**"인용"**입니다`
 * is bold. CommonMark sees `**` between a mark and a letter as no end of anything. Where neither neighbour is CJK, and
 * for `_`, which stands inside of names, all is as CommonMark says.
 *
 * https://github.com/tats-u/markdown-cjk-friendly/blob/main/specification.md
 */

import { attention } from "micromark-core-commonmark"
import { classifyCharacter } from "micromark-util-classify-character"
import type { Code, Construct, Extension, TokenizeContext } from "micromark-util-types"

const ASTERISK = 42
const TILDE = 126
const PUNCTUATION = 2

const CJK =
  /[\p{sc=Hangul}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Bopomofo}\u3000-\u303f\u3200-\u33ff\ufe30-\ufe4f\uff00-\uffef]/u

/** Let `*`, and `~` of an extension that has it, open and close beside CJK. */
export function besideCjk({ text }: Extension): Extension {
  const strikethrough = [text?.[TILDE] ?? []].flat()
  return { text: { [ASTERISK]: loosened(attention), [TILDE]: strikethrough.map(loosened) } }
}

function loosened(construct: Construct): Construct {
  return {
    ...construct,
    tokenize(effects, ok, nok) {
      const before = previousCharacter(this)
      return construct.tokenize.call(
        this,
        effects,
        (code) => {
          const after = nextCharacter(this, code)
          const token = this.events.at(-1)?.[1]
          if (token && (CJK.test(before) || CJK.test(after))) {
            token._open ||= isFlanking(before, after)
            token._close ||= isFlanking(after, before)
          }
          return ok(code)
        },
        nok,
      )
    },
  }
}

/** Whether a run of marks belongs to what is inside of it: CJK there is never in its way, and outside is as a space. */
function isFlanking(outside: string, inside: string): boolean {
  if (CJK.test(inside)) return inside !== IDEOGRAPHIC_SPACE
  const group = groupOf(inside)
  return group === undefined || (group === PUNCTUATION && (CJK.test(outside) || groupOf(outside) !== undefined))
}

const IDEOGRAPHIC_SPACE = "\u3000"

const groupOf = (character: string) => classifyCharacter(character === "" ? null : (character.codePointAt(0) ?? null))

/** micromark counts in halves of a pair: those of the rarer Han characters are put together. */
function previousCharacter(context: TokenizeContext): string {
  const { previous } = context
  if (previous === null || previous < 0) return ""
  if ((previous & 0xfc00) !== 0xdc00) return String.fromCharCode(previous)
  const end = context.now()
  return context.sliceSerialize({ start: { ...end, _bufferIndex: end._bufferIndex - 2 }, end })
}

function nextCharacter(context: TokenizeContext, code: Code): string {
  if (code === null || code < 0) return ""
  if ((code & 0xfc00) !== 0xd800) return String.fromCharCode(code)
  const start = context.now()
  return context.sliceSerialize({ start, end: { ...start, _bufferIndex: start._bufferIndex + 2 } })
}
