/** The state of the services beside the talk. */

import type { TalkFeed } from "../../state/feed.ts"

export interface PanelsProps {
  feed: TalkFeed
  onClose: () => void
}

/** Draws what stands inside `.panel`: a header with tabs and the button that closes it, then `.body`. */
export default function Panels(_props: PanelsProps) {
  return null
}
