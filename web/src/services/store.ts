/** A value with subscribers: what React's `useSyncExternalStore` reads. */

import { useRef, useSyncExternalStore } from "react"

export class Store<T> {
  #value: T
  readonly #listeners = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  get = (): T => this.#value

  set(value: T): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const listener of this.#listeners) listener()
  }

  update(change: Partial<T>): void {
    this.set({ ...this.#value, ...change })
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/**
 * Read a store, or what `select` takes of it: a component is drawn again only when that is another. It takes a value that
 * is there, and makes none: a new object would be another one each time.
 */
export function useStore<T>(store: Store<T>): T
export function useStore<T, Selection>(store: Store<T>, select: (value: T) => Selection): Selection
export function useStore<T>(store: Store<T>, select: (value: T) => unknown = (value) => value): unknown {
  return useSyncExternalStore(store.subscribe, () => select(store.get()))
}

/** Read some of the fields of a store; drawn again only when one of them is another. */
export function useFields<T extends object, Key extends keyof T>(store: Store<T>, ...keys: Key[]): Pick<T, Key> {
  const last = useRef<T>(null)
  return useSyncExternalStore(store.subscribe, () => (last.current = keepFields(last.current, store.get(), keys)))
}

/** What was there before if it has the same in these fields, else what is there now. */
export function keepFields<T extends object>(before: T | null, now: T, keys: readonly (keyof T)[]): T {
  return before !== null && keys.every((key) => Object.is(before[key], now[key])) ? before : now
}
