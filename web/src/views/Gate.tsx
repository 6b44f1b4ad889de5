/**
 * An approval, in the place of the composer, where no frame is ever drawn.
 *
 * All arguments are shown, uncut. Nothing here has the focus first and Enter allows nothing: a person who is typing when
 * the gate comes up must not allow by accident.
 */

import { useEffect, useRef, useState } from "react"

import { settleItem } from "../services/settling.ts"
import type { InboxItem, Scope } from "../wire/types.ts"
import { JsonCode } from "./Code.tsx"
import { Icon } from "./icons.tsx"
import { askerOf, useSay } from "./language.tsx"
import { MenuButton } from "./MenuButton.tsx"

interface Props {
  item: InboxItem
  number: number
  count: number
  /** Without it there is no "later": in the inbox it is later already. */
  onLater?: () => void
}

/** So long after it came up a press does not count: it was meant for what stood there before. */
const SETTLE_MS = 600

export function Gate({ item, number, count, onLater }: Props) {
  const say = useSay()
  const heading = useRef<HTMLHeadingElement>(null)
  const [isBusy, setBusy] = useState(true)

  useEffect(() => {
    setBusy(true)
    heading.current?.focus()
    const timer = setTimeout(() => setBusy(false), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [item.id])

  const isForSession = item.scopes.includes("session")
  const decide = async (allow: boolean, scope: Scope = "once") => {
    setBusy(true)
    if (!(await settleItem(item, allow ? { allow, scope } : { allow }))) setBusy(false)
  }
  return (
    <section
      className="gate"
      role="alertdialog"
      aria-labelledby={`gate-${item.id}`}
      onKeyDown={(event) => {
        // Also on the button: to allow takes a press of the pointer or of the space bar.
        if (event.key === "Enter" && (event.target as HTMLElement).closest("[data-allows]")) event.preventDefault()
        if (event.key === "Escape" && onLater) {
          event.preventDefault() // or it would stop the run as well
          onLater()
        }
      }}
    >
      <header>
        <span className="seal">
          <Icon name="gate" />
        </span>
        <div className="grow">
          <h2 id={`gate-${item.id}`} tabIndex={-1} ref={heading}>
            {say("mayTool", { tool: item.tool })}
          </h2>
          <p className="xs soft">{say("madangAsks")}</p>
        </div>
        {count > 1 && <span className="chip wait num">{say("ofMany", { number, count })}</span>}
      </header>
      <div className="in">
        <dl>
          <dt>{say("tool")}</dt>
          <dd>
            <b className="mono">{item.tool}</b>
          </dd>
          {item.reason !== "" && (
            <>
              <dt>{say("reason")}</dt>
              <dd>{item.reason}</dd>
            </>
          )}
          <dt>{say("asker")}</dt>
          <dd>{askerOf(item, say)}</dd>
        </dl>
        <JsonCode text={item.text} label={say("arguments")} />
      </div>
      <footer>
        <span className="hint grow hide-phone">{say("allShown", { count: [...item.text].length })}</span>
        {onLater && (
          <button type="button" className="btn quiet" onClick={onLater}>
            {say("later")}
          </button>
        )}
        <button type="button" className="btn no" disabled={isBusy} onClick={() => void decide(false)}>
          {say("decline")}
        </button>
        {isForSession && (
          <button
            type="button"
            className="btn hide-phone"
            data-allows
            disabled={isBusy}
            onClick={() => void decide(true, "session")}
          >
            {say("allowInSession")}
          </button>
        )}
        <button type="button" className="btn ink" data-allows disabled={isBusy} onClick={() => void decide(true)}>
          {say("allowOnce")}
        </button>
        {isForSession && (
          <span className="only-phone">
            <MenuButton
              label={say("more")}
              choices={[{ id: "session", label: say("allowInSession") }]}
              onChoose={() => void decide(true, "session")}
            />
          </span>
        )}
      </footer>
    </section>
  )
}
