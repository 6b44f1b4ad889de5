/** Small parts that several panels have: search, forms of one line, menus of a row, what is empty, what fails. */

import { useEffect, useLayoutEffect, useRef, useState, type FormEvent, type ReactNode } from "react"
import { Menu, MenuItem, Popover } from "react-aria-components"

import { Icon, type IconName } from "../icons.tsx"
import type { PanelSay } from "./words.ts"

/** A state in whose place the service could only say why there is none. */
export function failureOf(state: object | undefined): string {
  return state !== undefined && "error" in state && typeof state.error === "string" ? state.error : ""
}

/** What stands in a panel before its state has come, or where it cannot be read. */
export function NoState({ state, say }: { state: object | undefined; say: PanelSay }) {
  const reason = failureOf(state)
  if (reason !== "")
    return (
      <div className="note bad" role="alert">
        <Icon name="warning" small />
        {say("stateFailed", { reason })}
      </div>
    )
  return (
    <div className="skeleton" role="status" aria-label={say("loadingRows")}>
      <div className="sk line" />
      <div className="sk line" />
      <div className="sk block" />
    </div>
  )
}

export function EmptyPanel({
  icon,
  title,
  hint,
  children,
}: {
  icon: IconName
  title: string
  hint: string
  children?: ReactNode
}) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <b>{title}</b>
      <p>{hint}</p>
      {children}
    </div>
  )
}

interface SearchProps {
  label: string
  placeholder?: string
  clearLabel: string
  query: string
  onSearch: (query: string) => void
}

const SEARCH_AFTER_MS = 250

/** Searches a moment after the last key, at once on Enter, and never in the middle of a syllable. */
export function Search({ label, placeholder, clearLabel, query, onSearch }: SearchProps) {
  const [text, setText] = useState(query)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const isComposing = useRef(false)
  useEffect(() => () => clearTimeout(timer.current), [])
  const search = (value: string, afterMs: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => !isComposing.current && onSearch(value.trim()), afterMs)
  }
  return (
    <div className="search grow">
      <Icon name="search" />
      <input
        className="input"
        type="text"
        role="searchbox"
        aria-label={label}
        placeholder={placeholder ?? label}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          search(event.target.value, SEARCH_AFTER_MS)
        }}
        onCompositionStart={() => (isComposing.current = true)}
        onCompositionEnd={(event) => {
          isComposing.current = false
          search(event.currentTarget.value, SEARCH_AFTER_MS)
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.nativeEvent.isComposing) search(text, 0)
          if (event.key === "Escape" && text !== "") {
            event.preventDefault()
            event.stopPropagation()
            setText("")
            search("", 0)
          }
        }}
      />
      {text !== "" && (
        <button
          type="button"
          className="ib end-slot"
          aria-label={clearLabel}
          onClick={() => {
            setText("")
            search("", 0)
          }}
        >
          <Icon name="cross" small />
        </button>
      )}
    </div>
  )
}

interface LineFormProps {
  label: string
  value?: string
  button: string
  cancel: string
  maxLength: number
  /** False, or a promise of it: it was not saved, and can be sent again. */
  onSave: (text: string) => void | Promise<boolean>
  onCancel: () => void
}

/** A text of one line that is written in its place. Esc gives up. */
export function LineForm({ label, value = "", button, cancel, maxLength, onSave, onCancel }: LineFormProps) {
  const [text, setText] = useState(value)
  const input = useRef<HTMLInputElement>(null)
  const [opener] = useState(() => document.activeElement)
  useEffect(() => input.current?.select(), [])
  // What opened it has the focus again, if it is still there.
  useLayoutEffect(() => {
    const form = input.current?.form
    return () => {
      if (form?.contains(document.activeElement) && opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [opener])
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    const sent = text.trim()
    if (sent === "") return
    setText("") // where the form stays, the next one is written at once
    void Promise.resolve(onSave(sent)).then((isSaved) => {
      if (isSaved === false) setText((now) => now || sent)
    })
  }
  return (
    <form className="line-form" onSubmit={onSubmit}>
      <input
        ref={input}
        className="input"
        aria-label={label}
        placeholder={label}
        value={text}
        maxLength={maxLength}
        autoFocus
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return
          event.preventDefault()
          event.stopPropagation()
          onCancel()
        }}
      />
      <button type="submit" className="btn main" disabled={text.trim() === ""}>
        {button}
      </button>
      <button type="button" className="btn quiet" onClick={onCancel}>
        {cancel}
      </button>
    </form>
  )
}

export interface RowAction {
  id: string
  title: string
  isBad?: boolean
  act: () => void
}

/** The menu of a row. Before it is opened it is a plain button: there may be hundreds. */
export function RowMenu({ label, actions }: { label: string; actions: readonly RowAction[] }) {
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLElement>(null)
  const [isOpen, setOpen] = useState(false)
  // The popover is placed first, and what is not placed yet takes no focus.
  useEffect(() => {
    if (!isOpen) return
    const timer = setInterval(() => {
      const item = menu.current?.querySelector<HTMLElement>("[role=menuitem]")
      item?.focus()
      if (item !== null && document.activeElement === item) clearInterval(timer)
    }, 16)
    return () => clearInterval(timer)
  }, [isOpen])
  return (
    <>
      <button
        ref={button}
        type="button"
        className="ib row-menu"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      >
        <Icon name="more" />
      </button>
      {isOpen && (
        <Popover
          ref={menu}
          className="popover"
          placement="bottom end"
          triggerRef={button}
          isOpen
          onOpenChange={setOpen}
        >
          <Menu
            className="menu"
            aria-label={label}
            autoFocus="first"
            onAction={(key) => actions.find(({ id }) => id === key)?.act()}
            onClose={() => setOpen(false)}
          >
            {actions.map(({ id, title, isBad }) => (
              <MenuItem key={id} id={id} className={isBad ? "no" : ""}>
                {title}
              </MenuItem>
            ))}
          </Menu>
        </Popover>
      )}
    </>
  )
}

/** The end of a list: where more rows are mounted, or read, when it comes into view. */
export function ListEnd({ left, say, onMore }: { left: number; say: PanelSay; onMore: () => void }) {
  const more = useRef(onMore)
  more.current = onMore
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && more.current(),
      { rootMargin: "300px" },
    )
    observer.observe(place.current!)
    return () => observer.disconnect()
  }, [left])
  return (
    <div ref={place} className="list-end">
      <button type="button" className="btn quiet" onClick={onMore}>
        {say("moreRows", { count: left })}
      </button>
    </div>
  )
}
