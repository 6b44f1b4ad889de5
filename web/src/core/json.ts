/** JSON for people to read: set out over lines, and nothing in it is hidden or other than it was written. Pure. */

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{[]\s*[}\]]|[{}[\],:]|[^\s{}[\],:"]+/g
/** What a browser obeys or does not draw, as `core/texts.py` has it: a direction mark makes `exe.txt` of `txt.exe`. */
const HIDDEN =
  /[\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** JSON set out over lines; what is no JSON as it is. Numbers and names that are there twice stay as they are written. */
export function prettyJson(text: string): string {
  try {
    JSON.parse(text)
  } catch {
    return text
  }
  let depth = 0
  const line = () => `\n${"  ".repeat(depth)}`
  const pieces = Array.from(text.matchAll(TOKENS), ([token]) => {
    if (token.startsWith('"')) return showHidden(JSON.stringify(JSON.parse(token)))
    if (token === ":") return ": "
    if (token === ",") return `,${line()}`
    if (token === "{" || token === "[") {
      depth += 1
      return token + line()
    }
    if (token === "}" || token === "]") {
      depth -= 1
      return line() + token
    }
    return token.replaceAll(/\s/g, "")
  })
  return pieces.join("")
}

/** The same JSON, with characters that are not seen as escapes. */
function showHidden(string: string): string {
  return string.replaceAll(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, index) => escaped(character.charCodeAt(index))).join(""),
  )
}

const escaped = (unit: number) => `\\u${unit.toString(16).padStart(4, "0")}`
