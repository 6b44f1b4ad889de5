/** A menu below its button: keys, focus and screen readers are React Aria's. Loaded when a menu is first wanted. */

import type { RefObject } from "react"
import { Menu, MenuItem, Popover } from "react-aria-components"

import { AriaLocale } from "./AriaLocale.tsx"

export interface MenuChoice {
  id: string
  label: string
  isDanger?: boolean
}

interface Props {
  trigger: RefObject<HTMLElement | null>
  label: string
  choices: MenuChoice[]
  onChoose: (id: string) => void
  onClose: () => void
}

export default function MenuPopover({ trigger, label, choices, onChoose, onClose }: Props) {
  return (
    <AriaLocale>
      <Popover
        className="popover"
        triggerRef={trigger}
        placement="bottom end"
        isOpen
        onOpenChange={(isOpen) => !isOpen && onClose()}
      >
        <Menu
          className="menu"
          aria-label={label}
          autoFocus="first"
          onAction={(key) => onChoose(String(key))}
          onClose={onClose}
        >
          {choices.map(({ id, label: text, isDanger }) => (
            <MenuItem key={id} id={id} className={isDanger ? "no" : ""}>
              {text}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </AriaLocale>
  )
}
