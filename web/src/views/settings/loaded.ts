/** Something that is read from the server when a screen is opened, and read again after a change. */

import { useCallback, useEffect, useRef, useState } from "react"

import { report } from "../../services/app.ts"
import { ApiError } from "../../services/api.ts"

export interface Loaded<T> {
  value: T | null
  isGone: boolean
  set: (value: T) => void
  reload: () => Promise<void>
}

/** `read` is one function for as long as the same thing is shown. */
export function useLoaded<T>(read: () => Promise<T>): Loaded<T> {
  const [value, set] = useState<T | null>(null)
  const [isGone, setGone] = useState(false)
  const version = useRef(0) // an answer that a later one has overtaken is dropped
  const nextVersion = useCallback(() => ++version.current, [])
  const reload = useCallback(async () => {
    const mine = nextVersion()
    try {
      const answer = await read()
      if (mine === version.current) set(answer)
    } catch (error) {
      if (mine !== version.current) return
      if (error instanceof ApiError && error.status === 404) setGone(true)
      else report(error)
    }
  }, [read, nextVersion])
  useEffect(() => {
    void reload()
    return () => void nextVersion()
  }, [reload, nextVersion])
  return { value, isGone, set, reload }
}
