/** A file as people read it: Markdown, text, tables, pictures and pages. Nothing of it is run, and nothing is fetched. */

import { Suspense, useEffect, useEffectEvent, useRef, useState } from "react"

import { report } from "../../services/app.ts"
import { downloadFile } from "../../services/panels.ts"
import { part } from "../../services/parts.ts"
import { nameOf, parseTable } from "../../core/tree.ts"
import { readFile } from "../../services/api.ts"
import type { WorkspaceState } from "../../wire/types.ts"
import { Icon } from "../icons.tsx"
import { useLocale } from "../language.tsx"
import { DocumentText, PdfPages } from "./Pages.tsx"
import { formatSize, type PanelSay } from "./words.ts"

const Markdown = part(() => import("../Markdown.tsx"))

const MAX_TEXT_BYTES = 1024 * 1024
const MAX_IMAGE_BYTES = 20 * 1024 * 1024
const MAX_MARKDOWN_CHARS = 200_000
const MAX_TABLE_ROWS = 200
const MAX_TABLE_COLUMNS = 50
const MAX_CELL_CHARS = 1_000
const IMAGE_TYPES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
  svg: "image/svg+xml",
}
/** Of which there is the text alone. */
const DOCUMENTS = new Set(["docx", "pptx", "xlsx", "odt", "hwpx", "epub"])

type Shown =
  | { kind: "text" | "markdown"; text: string }
  | { kind: "table"; rows: string[][]; text: string }
  | { kind: "image"; url: string }
  | { kind: "large" | "none" | "pdf" | "document" }

interface PreviewProps {
  sessionId: string
  path: string
  /** Another one: the file may have changed. */
  state: WorkspaceState
  say: PanelSay
  onClose: () => void
}

export function Preview({ sessionId, path, state, say, onClose }: PreviewProps) {
  const locale = useLocale()
  const [shown, setShown] = useState<Shown | null>(null)
  const [isSource, setSource] = useState(false)
  const [size, setSize] = useState(0)
  const entry = [...state.entries, ...state.newest].find((one) => one.path === path)
  const listedSize = entry?.size
  const version = entry ? `${entry.size} ${entry.modified}` : ""

  // A file that was in the state and is not any more is gone: reading it would only fail.
  const wasKnown = useRef(false)
  const close = useEffectEvent(onClose)
  useEffect(() => {
    const isGone = wasKnown.current && version === ""
    wasKnown.current ||= version !== ""
    if (isGone) return close()
    let isStale = false
    let url = ""
    load(sessionId, path, listedSize).then(
      (loaded) => {
        if (isStale) return
        setSize(loaded.size)
        setShown(loaded.shown)
        if (loaded.shown.kind === "image") url = loaded.shown.url
      },
      (error) => {
        if (isStale) return
        report(error)
        close()
      },
    )
    return () => {
      isStale = true
      if (url !== "") URL.revokeObjectURL(url)
    }
    // Read again when this very file has changed, not whenever any has.
  }, [sessionId, path, version, listedSize])

  const hasSource = shown?.kind === "markdown" || shown?.kind === "table" || shown?.kind === "pdf"
  return (
    <section className="card preview" aria-label={nameOf(path)}>
      <div className="row preview-head">
        <b className="small grow cut" title={path}>
          {nameOf(path)}
        </b>
        {hasSource && (
          <span className="seg">
            <button type="button" aria-pressed={!isSource} onClick={() => setSource(false)}>
              {say("view")}
            </button>
            <button type="button" aria-pressed={isSource} onClick={() => setSource(true)}>
              {say(shown.kind === "pdf" ? "text" : "source")}
            </button>
          </span>
        )}
        <button
          type="button"
          className="ib"
          aria-label={say("download")}
          onClick={() => void downloadFile(sessionId, path)}
        >
          <Icon name="download" />
        </button>
        <button type="button" className="ib" aria-label={say("close")} onClick={onClose}>
          <Icon name="cross" />
        </button>
      </div>
      {shown === null ? (
        <p className="hint pad" role="status">
          {say("loadingRows")}
        </p>
      ) : (
        <Body
          shown={shown}
          isSource={isSource}
          file={{ sessionId, path, name: nameOf(path), version }}
          size={formatSize(size, locale)}
          say={say}
        />
      )}
    </section>
  )
}

interface BodyProps {
  shown: Shown
  isSource: boolean
  file: { sessionId: string; path: string; name: string; version: string }
  size: string
  say: PanelSay
}

function Body({ shown, isSource, file, size, say }: BodyProps) {
  const { name } = file
  switch (shown.kind) {
    case "pdf":
      return isSource ? <DocumentText {...file} say={say} /> : <PdfPages {...file} say={say} />
    case "document":
      return <DocumentText {...file} say={say} />
    case "large":
      return <p className="hint pad">{say("tooLargeToShow", { size })}</p>
    case "none":
      return <p className="hint pad">{say("noPreview")}</p>
    case "image":
      return <img className="picture" src={shown.url} alt={name} />
    case "markdown":
      if (isSource) return <Source text={shown.text} say={say} />
      return (
        <div className="pad">
          <Suspense>
            <Markdown text={shown.text} isStreaming={false} />
          </Suspense>
        </div>
      )
    case "table": {
      if (isSource) return <Source text={shown.text} say={say} />
      const [head = [], ...rows] = shown.rows
      return (
        <div className="table-scroll pad" tabIndex={0} role="region" aria-label={name}>
          <table>
            <thead>
              <tr>
                {head.map((cell, index) => (
                  <th key={index}>{cell.slice(0, MAX_CELL_CHARS)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((cells, index) => (
                <tr key={index}>
                  {cells.map((cell, place) => (
                    <td key={place}>{cell.slice(0, MAX_CELL_CHARS)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {shown.rows.length >= MAX_TABLE_ROWS && <p className="hint">{say("firstRows", { count: MAX_TABLE_ROWS })}</p>}
          {head.length >= MAX_TABLE_COLUMNS && (
            <p className="hint">{say("firstColumns", { count: MAX_TABLE_COLUMNS })}</p>
          )}
        </div>
      )
    }
    case "text":
      return <Source text={shown.text} say={say} />
  }
}

function Source({ text, say }: { text: string; say: PanelSay }) {
  if (text.trim() === "") return <p className="hint pad">{say("noTextInside")}</p>
  return (
    <pre className="code source" tabIndex={0}>
      {text}
    </pre>
  )
}

async function load(
  sessionId: string,
  path: string,
  size: number | undefined,
): Promise<{ shown: Shown; size: number }> {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ""
  if (extension === "pdf") return { shown: { kind: "pdf" }, size: size ?? 0 }
  if (DOCUMENTS.has(extension)) return { shown: { kind: "document" }, size: size ?? 0 }
  const image = IMAGE_TYPES[extension]
  const max = image === undefined ? MAX_TEXT_BYTES : MAX_IMAGE_BYTES
  if (size !== undefined && size > max) return { shown: { kind: "large" }, size }
  const blob = await readFile(sessionId, path)
  if (blob.size > max) return { shown: { kind: "large" }, size: blob.size }
  if (image !== undefined) {
    // As a picture a document with scripts (SVG) runs none of them.
    return { shown: { kind: "image", url: URL.createObjectURL(new Blob([blob], { type: image })) }, size: blob.size }
  }
  const text = decode(new Uint8Array(await blob.arrayBuffer()))
  if (text === null) return { shown: { kind: "none" }, size: blob.size }
  if (extension === "csv" || extension === "tsv") {
    const limits = { maxRows: MAX_TABLE_ROWS, maxColumns: MAX_TABLE_COLUMNS }
    const rows = parseTable(text, extension === "csv" ? "," : "\t", limits)
    return { shown: { kind: "table", rows, text }, size: blob.size }
  }
  const isMarkdown = (extension === "md" || extension === "markdown") && text.length <= MAX_MARKDOWN_CHARS
  return { shown: { kind: isMarkdown ? "markdown" : "text", text }, size: blob.size }
}

/** UTF-8, UTF-16 with its mark, else the Korean code page; null for what is no text. */
function decode(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes)
  if (bytes.subarray(0, 8192).includes(0)) return null
  for (const encoding of ["utf-8", "euc-kr"]) {
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(bytes)
    } catch {
      // the next one
    }
  }
  return null
}
