/** Documents by their pages: a PDF as it looks, page by page, and the text of any, with the number of each page. */

import { useEffect, useState, type KeyboardEvent } from "react"

import { ApiError, readFilePage, readFileText, Unreachable } from "../../services/api.ts"
import { Icon } from "../icons.tsx"
import type { PanelSay } from "./words.ts"

const MAX_SHOWN_PAGES = 300

interface DocumentProps {
  sessionId: string
  path: string
  name: string
  /** Another one: the file has changed. */
  version: string
  say: PanelSay
}

/** The pages of a PDF as pictures, which the server draws: nothing in the file is run here or there. */
export function PdfPages({ sessionId, path, name, version, say }: DocumentProps) {
  const [page, setPage] = useState(1)
  const [picture, setPicture] = useState<{ url: string; page: number; pages: number } | null>(null)
  const [problem, setProblem] = useState("")
  useEffect(() => {
    let isStale = false
    let url = ""
    readFilePage(sessionId, path, page).then(
      ({ image, pages }) => {
        if (isStale) return
        url = URL.createObjectURL(image)
        setPicture({ url, page, pages })
        setProblem("")
      },
      (error: unknown) => !isStale && setProblem(reasonOf(error, say)),
    )
    return () => {
      isStale = true
      if (url !== "") URL.revokeObjectURL(url)
    }
  }, [sessionId, path, page, version, say])
  if (problem !== "") return <Problem text={problem} />
  if (picture === null)
    return (
      <p className="hint pad" role="status">
        {say("drawingPage")}
      </p>
    )
  const go = (to: number) => setPage(Math.max(1, Math.min(to, picture.pages)))
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowLeft: page - 1, ArrowRight: page + 1, Home: 1, End: picture.pages }[event.key]
    if (to === undefined) return
    event.preventDefault()
    go(to)
  }
  return (
    <div className="pdf" role="group" aria-label={say("pagesOf", { name })} onKeyDown={onKeyDown}>
      <img
        className="picture"
        src={picture.url}
        alt={say("pageOf", { page: picture.page, pages: picture.pages })}
        aria-busy={picture.page !== page}
      />
      {picture.pages > 1 && (
        <div className="row pdf-pages">
          <button
            type="button"
            className="ib turned"
            aria-label={say("pageBefore")}
            aria-disabled={page === 1}
            onClick={() => go(page - 1)}
          >
            <Icon name="chevron" />
          </button>
          <span className="num small" role="status">
            {say("pageOf", { page, pages: picture.pages })}
          </span>
          <button
            type="button"
            className="ib"
            aria-label={say("pageAfter")}
            aria-disabled={page === picture.pages}
            onClick={() => go(page + 1)}
          >
            <Icon name="chevron" />
          </button>
        </div>
      )}
    </div>
  )
}

interface PageText {
  number: number
  text: string
}

/** What a document says, without its look. */
export function DocumentText({ sessionId, path, name, version, say }: DocumentProps) {
  const [pages, setPages] = useState<{ pages: PageText[]; isCut: boolean } | null>(null)
  const [problem, setProblem] = useState("")
  useEffect(() => {
    let isStale = false
    readFileText(sessionId, path).then(
      ({ text, isCut, pageLines }) => {
        if (isStale) return
        setPages({ pages: pagesOf(text, pageLines), isCut })
        setProblem("")
      },
      (error: unknown) => !isStale && setProblem(reasonOf(error, say)),
    )
    return () => {
      isStale = true
    }
  }, [sessionId, path, version, say])
  if (problem !== "") return <Problem text={problem} />
  if (pages === null)
    return (
      <p className="hint pad" role="status">
        {say("loadingRows")}
      </p>
    )
  const shown = pages.pages.slice(0, MAX_SHOWN_PAGES)
  const isCut = pages.isCut || shown.length < pages.pages.length
  return (
    <>
      <p className="hint pad">
        {say("textOnly")}
        {isCut && ` ${say("beginningOnly")}`}
      </p>
      <div className="source page-texts" tabIndex={0} role="region" aria-label={name}>
        {shown.map(({ number, text }) => (
          <section key={number}>
            {pages.pages.length > 1 && <h4 className="xs soft num">{say("pageNumber", { page: number })}</h4>}
            <pre className="code">{text}</pre>
          </section>
        ))}
      </div>
    </>
  )
}

/** Cut a text where its pages begin; lines are counted from 1. */
function pagesOf(text: string, pageLines: readonly number[]): PageText[] {
  const lines = text.split("\n")
  const starts = pageLines.length > 0 ? pageLines : [1]
  return starts.map((start, index) => ({
    number: index + 1,
    text: lines
      .slice(start - 1, (starts[index + 1] ?? lines.length + 1) - 1)
      .join("\n")
      .trimEnd(),
  }))
}

function Problem({ text }: { text: string }) {
  return (
    <div className="note bad" role="alert">
      <Icon name="warning" small />
      {text}
    </div>
  )
}

/** In the server's words where it has some: broken, protected, too large, only pictures. */
function reasonOf(error: unknown, say: PanelSay): string {
  if (error instanceof ApiError) return [error.message, error.hint].filter(Boolean).join(" ")
  if (error instanceof Unreachable) return say("noAnswer")
  throw error
}
