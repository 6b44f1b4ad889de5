/** What can be done with a session: rename, pin, language, archive, delete. */

import { useState } from "react"
import {
  Button,
  Dialog,
  Heading,
  Menu,
  MenuItem,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover,
} from "react-aria-components"

import { archiveSession, changeSession, removeSession, report, setLocale } from "../state/app.ts"
import type { Session } from "../wire/types.ts"
import { Icon } from "./icons.tsx"
import { useLocale, useSay } from "./language.tsx"

export function SessionMenu({ session }: { session: Session }) {
  const say = useSay()
  const locale = useLocale()
  const [dialog, setDialog] = useState<"" | "rename" | "delete">("")
  const title = session.title || say("untitled")

  const act = (key: string) => {
    switch (key) {
      case "rename":
      case "delete":
        return setDialog(key)
      case "pin":
        return void changeSession(session.id, { isPinned: !session.isPinned }).catch(report)
      case "language": {
        const other = locale === "ko" ? "en" : "ko"
        setLocale(other)
        return void changeSession(session.id, { locale: other }).catch(report)
      }
      case "archive":
        if (session.isArchived) return void changeSession(session.id, { isArchived: false }).catch(report)
        return void archiveSession(session, say("sessionArchived", { title })).catch(report)
    }
  }
  return (
    <>
      <MenuTrigger>
        <Button className="ib" aria-label={`${say("more")}: ${title}`}>
          <Icon name="more" />
        </Button>
        <Popover className="popover" placement="bottom end">
          <Menu className="menu" onAction={(key) => act(String(key))}>
            <MenuItem id="rename">{say("rename")}</MenuItem>
            <MenuItem id="pin">{say(session.isPinned ? "unpin" : "pin")}</MenuItem>
            <MenuItem id="language">{locale === "ko" ? "English" : "한국어"}</MenuItem>
            <MenuItem id="archive">{say(session.isArchived ? "restore" : "archive")}</MenuItem>
            <MenuItem id="delete" className="no">
              {say("delete")}
            </MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
      {dialog === "rename" && <RenameDialog session={session} onClose={() => setDialog("")} />}
      {dialog === "delete" && (
        <ConfirmDialog
          title={say("deleteSession")}
          text={`“${title}” · ${say("deleteSessionHint")}`}
          button={say("delete")}
          onConfirm={() => void removeSession(session.id).catch(report)}
          onClose={() => setDialog("")}
        />
      )}
    </>
  )
}

function RenameDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const say = useSay()
  const [title, setTitle] = useState(session.title)
  return (
    <ModalOverlay className="scrim" isOpen isDismissable onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{say("rename")}</Heading>
          <form
            onSubmit={(event) => {
              event.preventDefault()
              void changeSession(session.id, { title }).then(onClose, report)
            }}
          >
            <input
              className="input"
              aria-label={say("title")}
              value={title}
              maxLength={200}
              autoFocus
              onChange={(event) => setTitle(event.target.value)}
            />
            <div className="row ends">
              <button type="button" className="btn quiet" onClick={onClose}>
                {say("cancel")}
              </button>
              <button type="submit" className="btn main" disabled={title.trim() === ""}>
                {say("save")}
              </button>
            </div>
          </form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

interface ConfirmProps {
  title: string
  text: string
  button: string
  onConfirm: () => void
  onClose: () => void
}

/** The safe answer has the focus first. */
export function ConfirmDialog({ title, text, button, onConfirm, onClose }: ConfirmProps) {
  const say = useSay()
  return (
    <ModalOverlay className="scrim" isOpen isDismissable onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Modal className="modal">
        <Dialog className="dialog" role="alertdialog">
          <Heading slot="title">{title}</Heading>
          <p>{text}</p>
          <div className="row ends">
            <button type="button" className="btn quiet" autoFocus onClick={onClose}>
              {say("cancel")}
            </button>
            <button
              type="button"
              className="btn no"
              onClick={() => {
                onConfirm()
                onClose()
              }}
            >
              {button}
            </button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
