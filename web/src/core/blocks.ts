/** Markdown cut into blocks that are drawn, and remembered, one by one: while an answer streams only the last changes. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/
/** Lines that may go on with a list or a quote after a blank line: cutting there would show two lists. */
const CONTINUES = /^(\s|[-*+>]|\d+[.)])/

/** What one block says and another one uses: the address of a link, or a footnote. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m

/** Whether a text means the same in blocks. Else it has to be drawn as a whole, once it is complete. */
export function isSeparable(markdown: string): boolean {
  return !DEFINITION.test(markdown)
}

/** Cut at blank lines outside of fences. The blocks, joined by blank lines, are the text again. */
export function splitBlocks(markdown: string): string[] {
  const blocks: string[] = []
  let block: string[] = []
  let fence = ""
  let isAfterBlank = false
  for (const line of markdown.split("\n")) {
    const isBlank = line.trim() === ""
    if (fence === "" && isAfterBlank && !isBlank && !(CONTINUES.test(line) && CONTINUES.test(block[0] ?? ""))) {
      blocks.push(block.join("\n").trimEnd())
      block = []
    }
    if (block.length > 0 || !isBlank) block.push(line)
    const mark = FENCE.exec(line)?.[1] ?? ""
    if (fence === "") fence = mark
    else if (mark.startsWith(fence) && line.trim() === mark) fence = ""
    isAfterBlank = isBlank && block.length > 0
  }
  if (block.length > 0) blocks.push(block.join("\n").trimEnd())
  return blocks
}
