/** Parts of the application that are loaded late: over an outage, and from a server that was upgraded meanwhile. */

import { lazy, type ComponentType } from "react"

import { doubtServer, trustServer } from "./api.ts"
import { isSameBuild, PartLoader } from "./build.ts"
import { app } from "./app.ts"

const showOutdated = () => app.update({ isOutdated: true })

const loader = new PartLoader({ trustServer, doubtServer, isSameBuild, onOtherBuild: showOutdated })

/** Load a part that draws nothing. */
export const loadPart = <T>(load: () => Promise<T>): Promise<T> => loader.load(load)

/** A component whose code comes when it is drawn first, or wanted soon (`preload`). */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as in React's own `lazy`: the props are the component's
export function part<T extends ComponentType<any>>(load: () => Promise<{ default: T }>) {
  let loading: Promise<{ default: T }> | undefined
  const start = () => (loading ??= loader.load(load))
  return Object.assign(lazy(start), { preload: () => void start().catch(() => {}) })
}

/** The server is back: has it still the parts of this page? */
export async function checkBuild(): Promise<void> {
  if ((await isSameBuild()) === false) showOutdated()
}
