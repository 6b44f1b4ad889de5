/** Dialogs of the host. They are loaded with the first one: nothing of them is in the first load. */

import { useEffect, useState } from "react"
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components"

import { answerLink, answerPage, app, changeSession, removeSession, report } from "../services/app.ts"
import { useStore } from "../services/store.ts"
import type { Session } from "../wire/types.ts"
import { AriaLocale } from "./AriaLocale.tsx"
import { Icon } from "./icons.tsx"
import { titleOf, useSay } from "./language.tsx"

export function RenameDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const say = useSay()
  const [title, setTitle] = useState(session.title)
  return (
    <AriaLocale>
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
    </AriaLocale>
  )
}

export function DeleteDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const say = useSay()
  return (
    <ConfirmDialog
      title={say("deleteSession")}
      button={say("delete")}
      isDanger
      onConfirm={() => void removeSession(session.id).catch(report)}
      onClose={onClose}
    >
      <p>
        <b>{titleOf(session, say)}</b>
      </p>
      <p>{say("deleteSessionHint")}</p>
    </ConfirmDialog>
  )
}

/** The whole address, as it is: what it looks like in a page or an answer may be something else. */
export function LinkDialog() {
  const say = useSay()
  const link = useStore(app, ({ link }) => link)
  if (link === null) return null
  const { host } = new URL(link.url)
  return (
    <ConfirmDialog
      title={say("openLink")}
      button={say("open")}
      isDanger={false}
      onConfirm={() => {
        window.open(link.url, "_blank", "noopener,noreferrer")
        answerLink(true)
      }}
      onClose={() => answerLink(false)}
    >
      <p className="row">
        <Icon name="warning" small />
        <b>{host || link.url.split(":")[0]}</b>
      </p>
      <pre className="code address" tabIndex={0}>
        {link.url}
      </pre>
      <p className="hint">{say("openLinkHint")}</p>
    </ConfirmDialog>
  )
}

/** A page of another server asks; its words stand in a frame of their own, so that they are not taken for ours. */
export function PageRequestDialog() {
  const say = useSay()
  const pageRequest = useStore(app, ({ pageRequest }) => pageRequest)
  if (pageRequest === null) return null
  const { kind, server, text } = pageRequest
  return (
    <ConfirmDialog
      title={say(kind === "message" ? "pageMessage" : "pageFile", { server })}
      button={say(kind === "message" ? "sendIt" : "save")}
      isDanger={false}
      onConfirm={() => answerPage(true)}
      onClose={() => answerPage(false)}
    >
      <pre className="code address" tabIndex={0}>
        {text}
      </pre>
      <p className="hint">{say(kind === "message" ? "pageMessageHint" : "pageFileHint")}</p>
    </ConfirmDialog>
  )
}

/** So long after it came up a press does not count: a page may have asked in the middle of a double click. */
const SETTLE_MS = 600

interface ConfirmProps {
  title: string
  button: string
  isDanger: boolean
  onConfirm: () => void
  onClose: () => void
  children: React.ReactNode
}

/** The safe answer has the focus first. */
export function ConfirmDialog({ title, button, isDanger, onConfirm, onClose, children }: ConfirmProps) {
  const say = useSay()
  const [isSettled, setSettled] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <AriaLocale>
      <ModalOverlay className="scrim" isOpen isDismissable onOpenChange={(isOpen) => !isOpen && onClose()}>
        <Modal className="modal">
          <Dialog className="dialog" role="alertdialog">
            <Heading slot="title">{title}</Heading>
            {children}
            <div className="row ends">
              <button type="button" className="btn quiet" autoFocus onClick={onClose}>
                {say("cancel")}
              </button>
              <button
                type="button"
                className={isDanger ? "btn no" : "btn ink"}
                disabled={!isSettled}
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
    </AriaLocale>
  )
}
