/** Where the person is, kept in the fragment: it never reaches the server, and survives a reload. */

export type Route =
  /** `messageId`, `file`, `playbook`: one of them is to be shown, of a deep link or something found. */
  | { screen: "chat"; sessionId: string; messageId?: string; file?: string; playbook?: string }
  | { screen: "inbox"; itemId: string }
  | { screen: "sessions" }
  | { screen: "manual"; tool: string }
  | { screen: "assistants"; assistantId: string }
  /** Without a tab, or with one that there is not, the first. */
  | { screen: "settings"; tab: string }

export function parseRoute(hash: string): Route {
  const [screen = "", rest = "", part = "", more = ""] = hash
    .replace(/^#?\/?/, "")
    .split("/", 4)
    .map(decode)
  switch (screen) {
    case "s":
      return {
        screen: "chat",
        sessionId: rest,
        ...(part === "m" && more !== "" && { messageId: more }),
        ...(part === "f" && more !== "" && { file: more }),
        ...(part === "p" && more !== "" && { playbook: more }),
      }
    case "inbox":
      return { screen: "inbox", itemId: rest }
    case "sessions":
      return { screen: "sessions" }
    case "manual":
      return { screen: "manual", tool: rest }
    case "settings":
      return { screen: "settings", tab: rest }
    case "assistants":
      return { screen: "assistants", assistantId: rest }
    default:
      return { screen: "chat", sessionId: "" }
  }
}

export function routeTo(route: Route): string {
  switch (route.screen) {
    case "chat": {
      if (route.sessionId === "") return "#/"
      const message = route.messageId ? `/m/${encodeURIComponent(route.messageId)}` : ""
      const file = route.file ? `/f/${encodeURIComponent(route.file)}` : ""
      const playbook = route.playbook ? `/p/${encodeURIComponent(route.playbook)}` : ""
      return `#/s/${encodeURIComponent(route.sessionId)}${message || file || playbook}`
    }
    case "inbox":
      return route.itemId === "" ? "#/inbox" : `#/inbox/${encodeURIComponent(route.itemId)}`
    case "manual":
      return route.tool === "" ? "#/manual" : `#/manual/${encodeURIComponent(route.tool)}`
    case "assistants":
      return route.assistantId === "" ? "#/assistants" : `#/assistants/${encodeURIComponent(route.assistantId)}`
    case "settings":
      return route.tab === "" ? "#/settings" : `#/settings/${encodeURIComponent(route.tab)}`
    default:
      return `#/${route.screen}`
  }
}

/** Whether an address names a place, so that it is worth going there after the tab is let in. */
export function isPlace(hash: string): boolean {
  return /^#\/./.test(hash)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ""
  }
}
