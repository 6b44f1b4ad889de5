/** A choice of the system's own, with our arrow. */

import type { ComponentProps } from "react"

import { Icon } from "./icons.tsx"

export function Select({ className, ...rest }: ComponentProps<"select">) {
  return (
    <span className="pick-frame">
      <select className={`pick ${className}`} {...rest} />
      <Icon name="down" small />
    </span>
  )
}
