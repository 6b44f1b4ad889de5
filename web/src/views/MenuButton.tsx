/** A button with a menu. The menu's code comes when the pointer or the focus is on it, before it is pressed. */

import { Suspense, useRef, useState } from "react"

import { part } from "../services/parts.ts"
import { Icon } from "./icons.tsx"
import type { MenuChoice } from "./MenuPopover.tsx"

const MenuPopover = part(() => import("./MenuPopover.tsx"))

interface Props {
  label: string
  choices: MenuChoice[]
  onChoose: (id: string) => void
}

export function MenuButton({ label, choices, onChoose }: Props) {
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        ref={button}
        type="button"
        className="ib"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onPointerEnter={MenuPopover.preload}
        onFocus={MenuPopover.preload}
        onClick={() => setOpen(true)}
        onKeyDown={(event) => {
          // Enter too: the click that it makes looks like a screen reader's, for whom no item gets the focus at once.
          if (event.key !== "ArrowDown" && event.key !== "Enter") return
          event.preventDefault()
          setOpen(true)
        }}
      >
        <Icon name="more" />
      </button>
      {isOpen && (
        <Suspense>
          <MenuPopover
            trigger={button}
            label={label}
            choices={choices}
            onChoose={onChoose}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  )
}
