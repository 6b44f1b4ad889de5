/** How something that was asked stands. */

import type { PauseEnd } from "../core/pauses.ts"
import { Icon } from "./icons.tsx"
import { formatTime, useLocale, useSay } from "./language.tsx"

export function EndChip({ end }: { end: PauseEnd }) {
  const say = useSay()
  const locale = useLocale()
  return (
    <span
      className={`chip ends ${end.look}`}
      title={[end.detail, formatTime(end.at, locale)].filter(Boolean).join(" · ")}
    >
      {end.icon === null ? <span className="dot" /> : <Icon name={end.icon} small />}
      <span>{say(end.text)}</span>
      {end.detail !== "" && <span className="cut">{` · ${end.detail}`}</span>}
    </span>
  )
}
