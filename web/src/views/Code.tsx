/** Texts as they are, in a box that scrolls. */

import { highlight } from "../core/highlight.ts"
import { prettyJson } from "../core/json.ts"

export function Code({ text, label }: { text: string; label?: string }) {
  return (
    <pre className="code scrolls" tabIndex={0} role={label ? "group" : undefined} aria-label={label}>
      {text}
    </pre>
  )
}

/** JSON set out over lines and in colours: names of fields apart from what stands in them. */
export function JsonCode({ text, label }: { text: string; label?: string }) {
  const tokens = highlight(prettyJson(text), "json")
  return (
    <pre className="code scrolls" tabIndex={0} role={label ? "group" : undefined} aria-label={label}>
      {tokens.map(([kind, piece], index) => {
        if (kind === "string" && /^\s*:/.test(tokens[index + 1]?.[1] ?? "")) return <i key={index}>{piece}</i>
        return kind === "string" ? <u key={index}>{piece}</u> : piece
      })}
    </pre>
  )
}
