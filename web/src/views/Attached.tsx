/** The files that go with the next message, each with how much of it is sent and a button that takes it away. */

import type { Attachment } from "../services/attachments.ts"
import { Icon } from "./icons.tsx"
import { formatBytes, useLocale, useSay } from "./language.tsx"

interface Props {
  attachments: readonly Attachment[]
  onRemove: (attachment: Attachment) => void
}

export function Attached({ attachments, onRemove }: Props) {
  const say = useSay()
  const locale = useLocale()
  if (attachments.length === 0) return null
  return (
    <ul className="attached">
      {attachments.map((attachment) => (
        <li key={attachment.key} className="chip line">
          <Icon name="page" small />
          <span className="cut">{attachment.name}</span>
          {attachment.content === null ? (
            <span
              className="bar"
              role="progressbar"
              aria-label={say("uploading", { name: attachment.name })}
              aria-valuenow={Math.round(attachment.progress * 100)}
            >
              <i style={{ width: `${attachment.progress * 100}%` }} />
            </span>
          ) : (
            attachment.content.size > 0 && (
              <span className="soft num">{formatBytes(attachment.content.size, locale)}</span>
            )
          )}
          <button
            type="button"
            className="ib"
            aria-label={say(attachment.content === null ? "cancelFile" : "removeFile", { name: attachment.name })}
            onClick={() => onRemove(attachment)}
          >
            <Icon name="cross" small />
          </button>
        </li>
      ))}
    </ul>
  )
}
