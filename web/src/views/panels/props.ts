/** What every panel is given. */

import type { Talk } from "../../core/talk.ts"
import type { PanelSay } from "./words.ts"

export interface PanelProps {
  sessionId: string
  talk: Talk
  say: PanelSay
}
