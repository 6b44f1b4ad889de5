/** Files by their names, and lines in them by their words: the person's own searches. */

import { useEffect, useState } from "react"

import { act } from "../../services/panels.ts"
import { nameOf } from "../../core/tree.ts"
import type { EntryRow, WorkspaceState } from "../../wire/types.ts"
import { fileIcon, Icon } from "../icons.tsx"
import { Marked } from "./Marked.tsx"
import type { PanelSay } from "./words.ts"

const MAX_LINES = 50

interface Found {
  files: readonly EntryRow[]
  lines: readonly { path: string; line: number; text: string }[]
}

interface FileSearchProps {
  sessionId: string
  state: WorkspaceState
  query: string
  shown: string
  say: PanelSay
  onShow: (path: string) => void
}

export function FileSearch({ sessionId, state, query, shown, say, onShow }: FileSearchProps) {
  const [found, setFound] = useState<Found | null>(null)
  useEffect(() => {
    let isStale = false
    const pattern = `*${query.replace(/[[\]{}*?\\]/g, "?")}*`
    const words = query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    void Promise.all([
      act(sessionId, "search_files", { pattern }),
      act(sessionId, "grep", { pattern: words, ignoreCase: true, limit: MAX_LINES }),
    ]).then(([names, lines]) => {
      if (isStale) return
      setFound({
        files: (names?.data["files"] as EntryRow[] | undefined) ?? [],
        lines: ((lines?.data["matches"] as Found["lines"] | undefined) ?? []).slice(0, MAX_LINES),
      })
    })
    return () => {
      isStale = true
    }
  }, [sessionId, query, state])
  if (found === null)
    return (
      <p className="hint" role="status">
        {say("loadingRows")}
      </p>
    )
  if (found.files.length + found.lines.length === 0) return <p className="hint">{say("nothingFound", { query })}</p>
  return (
    <>
      <p className="hint" role="status">
        {say("hitsInFiles", { count: found.files.length + found.lines.length })}
      </p>
      <ul className="card list">
        {found.files.map((file) => (
          <li key={file.path}>
            <button
              type="button"
              className="item hit"
              aria-current={file.path === shown}
              onClick={() => onShow(file.path)}
            >
              <Icon name={fileIcon(file)} />
              <span className="grow cut">{file.path}</span>
            </button>
          </li>
        ))}
        {found.lines.map(({ path, line, text }) => (
          <li key={`${path}:${line}`}>
            <button type="button" className="item hit" aria-current={path === shown} onClick={() => onShow(path)}>
              <Icon name="page" />
              <span className="grow">
                <b className="cut">{nameOf(path)}</b>
                <span className="excerpt">
                  <Marked text={text} words={[query]} />
                </span>
                <span className="meta num">{say("lineOf", { line })}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}
