/** The files of the session: a tree of what is open, a preview, and what the person does with them. */

import { Suspense, useEffect, useMemo, useState, type DragEvent } from "react"

import { app, notify, report } from "../../services/app.ts"
import { act, downloadFile, putFile, useMounted, useRows } from "../../services/panels.ts"
import { part } from "../../services/parts.ts"
import { routeTo } from "../../core/route.ts"
import { useStore } from "../../services/store.ts"
import { foldersAbove, foldersOf, freeName, nameOf, parentOf, type TreeFolders } from "../../core/tree.ts"
import { readFile } from "../../services/api.ts"
import type { EntryRow, WorkspaceState } from "../../wire/types.ts"
import { ConfirmDialog } from "../Dialogs.tsx"
import { FilePicker } from "../FilePicker.tsx"
import { fileIcon, Icon } from "../icons.tsx"
import { useLocale } from "../language.tsx"
import { FileSearch } from "./FileSearch.tsx"
import type { PanelProps } from "./props.ts"
import { EmptyPanel, failureOf, LineForm, ListEnd, NoState, RowMenu, Search } from "./parts.tsx"
import { Uploads, useUploads } from "./Uploads.tsx"
import { formatSize, type PanelSay } from "./words.ts"

const Preview = part(async () => ({ default: (await import("./Preview.tsx")).Preview }))

/** As large as the window that the state has. */
const PAGE_SIZE = 200
/** What can be brought back after it was deleted: it is held by this tab until then. */
const MAX_UNDO_BYTES = 25 * 1024 * 1024
const MAX_PATH_CHARS = 4_000

export function FilesPanel({ sessionId, talk, say }: PanelProps) {
  const state = talk.services.workspace
  if (state === undefined || failureOf(state) !== "") return <NoState state={state} say={say} />
  return <Files sessionId={sessionId} state={state} say={say} />
}

interface FilesProps {
  sessionId: string
  state: WorkspaceState
  say: PanelSay
}

function Files({ sessionId, state, say }: FilesProps) {
  const [query, setQuery] = useState("")
  const route = useStore(app, ({ route }) => route)
  const wanted = route.screen === "chat" && route.sessionId === sessionId ? (route.file ?? "") : ""
  const [shown, setShown] = useState(wanted)
  useEffect(() => {
    if (wanted !== "") setShown(wanted)
  }, [wanted])
  /** Its address too, without a step in the history: a reload, or whoever is given it, sees the same file. */
  const show = (path: string) => {
    setShown(path)
    history.replaceState(null, "", routeTo({ screen: "chat", sessionId, ...(path !== "" && { file: path }) }))
  }
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(foldersAbove(wanted)))
  const [asked, setAsked] = useState<EntryRow | null>(null)
  const sent = useUploads(sessionId, "files")
  const folders = useMemo(() => foldersOf(state), [state])
  const upload = (files: Iterable<File>) => {
    const taken = new Set([
      ...(folders.get("")?.rows ?? []).map(({ path }) => path),
      ...sent.map(({ name }) => name), // on their way
    ])
    for (const file of files) {
      const path = freeName(file.name, taken)
      taken.add(path)
      void putFile(sessionId, path, file).then((isKept) => isKept && setShown(path))
    }
  }
  const onDrop = (event: DragEvent) => {
    event.preventDefault()
    event.stopPropagation()
    upload(event.dataTransfer.files)
  }
  const toggle = (path: string) => {
    const next = new Set(open)
    if (!next.delete(path)) next.add(path)
    setOpen(next)
  }
  const removeNow = async (entry: EntryRow) => {
    if ((await remove(sessionId, entry, say)) && entry.path === shown) show("")
  }
  const onRemove = (entry: EntryRow) =>
    entry.kind === "file" && entry.size > MAX_UNDO_BYTES ? setAsked(entry) : void removeNow(entry)
  const tree: TreeContext = {
    sessionId,
    state,
    folders,
    open,
    shown,
    say,
    onToggle: toggle,
    onShow: show,
    onRemove,
  }
  return (
    <div onDragOver={(event) => event.preventDefault()} onDrop={onDrop}>
      <div className="row panel-tools">
        <Search
          label={say("findFile")}
          placeholder={say("nameOrText")}
          clearLabel={say("clearSearch")}
          query={query}
          onSearch={setQuery}
        />
        <FilePicker className="ib" label={say("uploadFile")} onChoose={upload}>
          <Icon name="upload" />
        </FilePicker>
      </div>
      {state.folder !== "" && (
        <p className={`hint cut ${state.isFolderMissing ? "bad" : ""}`} title={state.folder}>
          {say(state.isFolderMissing ? "folderMissing" : "personalFolder", { folder: state.folder })}
        </p>
      )}
      {query !== "" ? (
        <FileSearch sessionId={sessionId} state={state} query={query} shown={shown} say={say} onShow={setShown} />
      ) : (folders.get("")?.total ?? 0) === 0 ? (
        <EmptyPanel icon="folder" title={say("noFiles")} hint={say("noFilesHint")}>
          <FilePicker className="btn" onChoose={upload}>
            <Icon name="upload" small />
            {say("chooseFile")}
          </FilePicker>
        </EmptyPanel>
      ) : (
        <div className="tree" role="group" aria-label={say("files")} onKeyDown={moveFocus}>
          <FolderRows path="" depth={0} tree={tree} />
        </div>
      )}
      <Uploads uploads={sent} say={say} />
      {asked !== null && (
        <ConfirmDialog
          title={say("deleteLarge", { name: nameOf(asked.path) })}
          button={say("remove")}
          isDanger
          onConfirm={() => void removeNow(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{say("deleteLargeHint")}</p>
        </ConfirmDialog>
      )}
      {shown !== "" && (
        <Suspense>
          <Preview key={shown} sessionId={sessionId} path={shown} state={state} say={say} onClose={() => show("")} />
        </Suspense>
      )}
    </div>
  )
}

interface TreeContext {
  sessionId: string
  state: WorkspaceState
  folders: TreeFolders
  open: ReadonlySet<string>
  shown: string
  say: PanelSay
  onToggle: (path: string) => void
  onShow: (path: string) => void
  onRemove: (entry: EntryRow) => void
}

/** Arrow keys go from row to row; to the right opens a folder, to the left closes it. */
function moveFocus(event: React.KeyboardEvent<HTMLElement>): void {
  const row = (event.target as HTMLElement).closest<HTMLElement>(".entry")
  if (row === null || event.target !== row) return
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>(".entry")]
  const index = rows.indexOf(row)
  const isOpen = row.getAttribute("aria-expanded")
  const target = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: rows.length - 1 }[event.key]
  if (target !== undefined) rows[Math.max(0, Math.min(target, rows.length - 1))]?.focus()
  else if ((event.key === "ArrowRight" && isOpen === "false") || (event.key === "ArrowLeft" && isOpen === "true"))
    row.click()
  else return
  event.preventDefault()
}

function FolderRows({ path, depth, tree }: { path: string; depth: number; tree: TreeContext }) {
  const inState = tree.folders.get(path)
  const { rows, total, isLoading, loadMore } = useRows<EntryRow>({
    sessionId: tree.sessionId,
    service: "workspace",
    list: "entries",
    under: path,
    ...(inState && { first: inState }),
    pageSize: PAGE_SIZE,
    state: tree.state,
  })
  const { mounted, end } = useMounted(rows.length)
  return (
    <ul>
      {rows.slice(0, mounted).map((entry) => (
        <Entry key={entry.path} entry={entry} depth={depth} tree={tree} />
      ))}
      {mounted < rows.length && <li ref={end} className="list-end" />}
      {isLoading && rows.length === 0 && (
        <li className="hint" role="status">
          {tree.say("loadingRows")}
        </li>
      )}
      {mounted >= rows.length && rows.length < total && (
        <li>
          <ListEnd left={total - rows.length} say={tree.say} onMore={loadMore} />
        </li>
      )}
    </ul>
  )
}

function Entry({ entry, depth, tree }: { entry: EntryRow; depth: number; tree: TreeContext }) {
  const locale = useLocale()
  const { say, sessionId } = tree
  const [isRenaming, setRenaming] = useState(false)
  const isFolder = entry.kind === "folder"
  const isOpen = isFolder && tree.open.has(entry.path)
  const name = nameOf(entry.path)
  if (isRenaming)
    return (
      <li>
        <LineForm
          label={say("newName")}
          value={name}
          button={say("rename")}
          cancel={say("cancel")}
          maxLength={MAX_PATH_CHARS}
          onSave={(newName) => {
            setRenaming(false)
            const target = [parentOf(entry.path), newName].filter(Boolean).join("/")
            if (target === entry.path) return
            if (tree.shown === entry.path) tree.onShow("")
            void act(sessionId, "move_file", { source: entry.path, target }).then(
              (outcome) => outcome && !isFolder && tree.onShow(target),
            )
          }}
          onCancel={() => setRenaming(false)}
        />
      </li>
    )
  return (
    <li>
      <div className="tree-row">
        <button
          type="button"
          className="entry"
          aria-current={entry.path === tree.shown}
          {...(isFolder && { "aria-expanded": isOpen })}
          style={{ ["--d" as string]: depth }}
          onClick={() => (isFolder ? tree.onToggle(entry.path) : tree.onShow(entry.path))}
        >
          <Icon name={fileIcon(entry)} small />
          <span className="cut">{name}</span>
          {!isFolder && (
            <span className="xs num" aria-hidden="true">
              {formatSize(entry.size, locale)}
            </span>
          )}
        </button>
        <RowMenu
          label={say("moreOf", { name })}
          actions={[
            ...(isFolder
              ? []
              : [{ id: "download", title: say("download"), act: () => void downloadFile(sessionId, entry.path) }]),
            { id: "rename", title: say("rename"), act: () => setRenaming(true) },
            {
              id: "remove",
              title: isFolder ? say("deleteFolder") : say("remove"),
              isBad: true,
              act: () => tree.onRemove(entry),
            },
          ]}
        />
      </div>
      {isOpen && <FolderRows path={entry.path} depth={depth + 1} tree={tree} />}
    </li>
  )
}

/** Delete a file, and hold its bytes as long as it can be brought back. */
async function remove(sessionId: string, entry: EntryRow, say: PanelSay): Promise<boolean> {
  const name = nameOf(entry.path)
  let bytes: Blob | null = null
  if (entry.kind === "file") {
    if (entry.size <= MAX_UNDO_BYTES) {
      try {
        bytes = await readFile(sessionId, entry.path)
      } catch (error) {
        report(error)
        return false
      }
    }
  }
  const outcome = await act(sessionId, "delete_file", { path: entry.path })
  if (outcome === undefined) return false
  const held = bytes
  notify(say("fileDeleted", { name }), held ? { undo: () => void putFile(sessionId, entry.path, held) } : {})
  return true
}
