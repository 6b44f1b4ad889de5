/** What can be done with a session: rename, pin, language, export, archive, delete. */

import { Suspense, useState } from "react"

import { archiveSession, changeSession, report } from "../services/app.ts"
import { loadPart, part } from "../services/parts.ts"
import type { Session } from "../wire/types.ts"
import { titleOf, useLocale, useSay } from "./language.tsx"
import { MenuButton } from "./MenuButton.tsx"

const RenameDialog = part(async () => ({ default: (await import("./Dialogs.tsx")).RenameDialog }))
const DeleteDialog = part(async () => ({ default: (await import("./Dialogs.tsx")).DeleteDialog }))

export function SessionMenu({ session }: { session: Session }) {
  const say = useSay()
  const locale = useLocale()
  const [dialog, setDialog] = useState<"" | "rename" | "delete">("")
  const title = titleOf(session, say)

  const act = (key: string) => {
    switch (key) {
      case "rename":
      case "delete":
        return setDialog(key)
      case "pin":
        return void changeSession(session.id, { isPinned: !session.isPinned }).catch(report)
      case "language":
        return void changeSession(session.id, { locale: locale === "ko" ? "en" : "ko" }).catch(report)
      case "export":
        return void loadPart(() => import("../services/archives.ts"))
          .then(({ saveSession }) => saveSession(session.id))
          .catch(report)
      case "archive":
        if (session.isArchived) return void changeSession(session.id, { isArchived: false }).catch(report)
        return void archiveSession(session, say("sessionArchived", { title })).catch(report)
    }
  }
  const close = () => setDialog("")
  return (
    <>
      <MenuButton
        label={`${say("more")}: ${title}`}
        onChoose={act}
        choices={[
          { id: "rename", label: say("rename") },
          { id: "pin", label: say(session.isPinned ? "unpin" : "pin") },
          { id: "language", label: locale === "ko" ? "English" : "한국어" },
          { id: "export", label: say("exportSession") },
          { id: "archive", label: say(session.isArchived ? "restore" : "archive") },
          { id: "delete", label: say("delete"), isDanger: true },
        ]}
      />
      {dialog !== "" && (
        <Suspense>
          {dialog === "rename" ? (
            <RenameDialog session={session} onClose={close} />
          ) : (
            <DeleteDialog session={session} onClose={close} />
          )}
        </Suspense>
      )}
    </>
  )
}
