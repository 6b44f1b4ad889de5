/** Something that is read from the server when a screen is opened, and read again after a change. */

import { useCallback, useEffect, useState } from "react"

import { report } from "../../state/app.ts"
import { ApiError } from "../../wire/api.ts"

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
  const reload = useCallback(async () => {
    try {
      set(await read())
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) setGone(true)
      else report(error)
    }
  }, [read])
  useEffect(() => {
    let isOver = false
    read().then(
      (answer) => !isOver && set(answer),
      (error: unknown) => {
        if (isOver) return
        if (error instanceof ApiError && error.status === 404) setGone(true)
        else report(error)
      },
    )
    return () => {
      isOver = true
    }
  }, [read])
  return { value, isGone, set, reload }
}
