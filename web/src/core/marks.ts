/** Where the words of a query are in a text, to be marked. Pure. */

export function marksOf(text: string, query: string): [isMarked: boolean, piece: string][] {
  const words = query.split(/\s+/).filter(Boolean)
  if (words.length === 0) return [[false, text]]
  const pattern = new RegExp(`(${words.map(escape).join("|")})`, "giu")
  return text
    .split(pattern)
    .map((piece, index): [boolean, string] => [index % 2 === 1, piece])
    .filter(([, piece]) => piece !== "")
}

const escape = (word: string) => word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
