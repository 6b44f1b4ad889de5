/** A question before something that cannot be taken back. The safe answer has the focus first. */

import { useEffect, useRef, type ReactNode } from "react"

import { useWords } from "./words.ts"

interface Props {
  title: string
  button: string
  /** The answer cannot be given yet. */
  isDisabled?: boolean
  onConfirm: () => void
  onClose: () => void
  children: ReactNode
}

export function Ask({ title, button, isDisabled = false, onConfirm, onClose, children }: Props) {
  const words = useWords()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    element?.showModal()
    return () => {
      element?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      className="modal ask"
      role="alertdialog"
      aria-labelledby="ask-title"
      aria-describedby="ask-text"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <form
        className="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          if (isDisabled) return
          onClose()
          onConfirm()
        }}
      >
        <h2 id="ask-title">{title}</h2>
        <div id="ask-text" className="ask-text">
          {children}
        </div>
        <div className="row ends">
          <button type="button" className="btn quiet" autoFocus onClick={onClose}>
            {words("cancel")}
          </button>
          <button type="submit" className="btn no" disabled={isDisabled}>
            {button}
          </button>
        </div>
      </form>
    </dialog>
  )
}
