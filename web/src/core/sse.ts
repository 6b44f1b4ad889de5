/** The framing of `text/event-stream`, fed with text as it arrives. EventSource cannot send our Authorization header. */

export interface ServerEvent {
  /** Empty where the event has none. */
  id: string
  data: string
}

/** Take text in pieces of any length, and return the events that are complete. Comments and unknown fields are dropped. */
export class SseParser {
  #rest = ""
  #id = ""
  #data: string[] = []

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = []
    let buffer = this.#rest + text
    for (;;) {
      const match = /\r\n|\n|\r/.exec(buffer)
      // A CR at the very end may be half of a CRLF.
      if (match === null || (match[0] === "\r" && match.index === buffer.length - 1)) break
      const event = this.#line(buffer.slice(0, match.index))
      if (event) events.push(event)
      buffer = buffer.slice(match.index + match[0].length)
    }
    this.#rest = buffer
    return events
  }

  #line(line: string): ServerEvent | null {
    if (line === "") {
      const event = this.#data.length > 0 ? { id: this.#id, data: this.#data.join("\n") } : null
      this.#id = ""
      this.#data = []
      return event
    }
    const colon = line.indexOf(":")
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "")
    if (field === "data") this.#data.push(value)
    else if (field === "id") this.#id = value
    return null
  }
}
