/** What was typed and not sent, by session: it survives a reload and a change of session. */

const PREFIX = "madang.draft."

export function readDraft(sessionId: string): string {
  return localStorage.getItem(PREFIX + sessionId) ?? ""
}

export function writeDraft(sessionId: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(PREFIX + sessionId)
    else localStorage.setItem(PREFIX + sessionId, text)
  } catch {
    // The storage is full: the text is still in its field.
  }
}
