/** The tree of files as a panel draws it: rows of open folders, from the window that the state has. Pure. */

import type { EntryRow, WorkspaceState } from "../wire/types.ts"

export interface TreeFolder {
  rows: readonly EntryRow[]
  total: number
  /** Whether the state has it; else it is read page by page. */
  isInState: boolean
}

export type TreeFolders = ReadonlyMap<string, TreeFolder>

export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** The folders that have to be open for a path to be seen. */
export function foldersAbove(path: string): string[] {
  const parent = parentOf(path)
  return parent === "" ? [] : [...foldersAbove(parent), parent]
}

export function foldersOf(state: WorkspaceState): TreeFolders {
  const folders = new Map<string, { rows: EntryRow[]; total: number; isInState: boolean }>()
  for (const { path, total } of state.folders) folders.set(path, { rows: [], total, isInState: true })
  for (const entry of state.entries) folders.get(parentOf(entry.path))?.rows.push(entry)
  return folders
}

/** A name for a file where another one is already: “report (2).md”. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  const dot = name.lastIndexOf(".")
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""]
  for (let number = 2; ; number++) {
    const candidate = `${stem} (${number})${extension}`
    if (!taken.has(candidate)) return candidate
  }
}

export interface TableLimits {
  maxRows: number
  maxColumns: number
}

/** The rows of a table in a text: commas or tabs, quotes as in RFC 4180. */
export function parseTable(text: string, separator: "," | "\t", { maxRows, maxColumns }: TableLimits): string[][] {
  const rows: string[][] = [[]]
  let cell = ""
  const end = () => {
    const row = rows.at(-1)!
    if (row.length < maxColumns) row.push(cell)
    cell = ""
  }
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]!
    if (isQuoted) {
      if (character !== '"') cell += character
      else if (text[index + 1] === '"') cell += text[++index]
      else isQuoted = false
    } else if (character === '"' && cell === "") isQuoted = true
    else if (character === separator) {
      end()
    } else if (character === "\n" || character === "\r") {
      if (character === "\r" && text[index + 1] === "\n") index++
      end()
      if (rows.length >= maxRows) return rows
      rows.push([])
    } else cell += character
  }
  if (cell !== "" || rows.at(-1)!.length > 0) end()
  else rows.pop()
  return rows
}
