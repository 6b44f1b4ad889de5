/** Files on their way to the server, each with how much of it is sent and a button that cancels it. */

import { uploads, type Upload } from "../../services/uploads.ts"
import { useStore } from "../../services/store.ts"
import { Icon } from "../icons.tsx"
import type { PanelSay } from "./words.ts"

/** Those of a session; of one panel, if it is named. */
export function useUploads(sessionId: string, panel?: Upload["panel"]): readonly Upload[] {
  return useStore(uploads).filter((one) => one.sessionId === sessionId && (panel ?? one.panel) === one.panel)
}

/** How far an upload is, in words. */
export function progressOf({ startedAt, share }: Upload, say: PanelSay): string {
  if (startedAt === null) return say("uploadWaits")
  return share < 1 ? say("uploading", { percent: Math.floor(share * 100) }) : say("reading")
}

export function Uploads({ uploads, say }: { uploads: readonly Upload[]; say: PanelSay }) {
  return uploads.map((upload) => (
    <div key={upload.id} className="note upload">
      <Icon name="upload" small />
      <span className="grow">
        <span className="row small">
          <span className="grow cut">{upload.name}</span>
          <span className="num xs">{progressOf(upload, say)}</span>
        </span>
        <UploadBar share={upload.share} />
      </span>
      <button
        type="button"
        className="ib"
        aria-label={say("cancelUpload", { name: upload.name })}
        onClick={upload.cancel}
      >
        <Icon name="cross" small />
      </button>
    </div>
  ))
}

export function UploadBar({ share }: { share: number }) {
  return (
    <span className="bar">
      <i style={{ width: `${share * 100}%` }} />
    </span>
  )
}
