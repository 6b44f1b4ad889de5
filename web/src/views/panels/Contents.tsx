/** The contents of the session: all of them, searched with excerpts, added and removed. */

import { useEffect, useState } from "react"

import { notify } from "../../services/app.ts"
import { act, addContent, useMounted, useRows } from "../../services/panels.ts"
import type { ContentInState, ContentState } from "../../wire/types.ts"
import { FilePicker } from "../FilePicker.tsx"
import { fileIcon, Icon } from "../icons.tsx"
import { useLocale } from "../language.tsx"
import { Marked } from "./Marked.tsx"
import type { PanelProps } from "./props.ts"
import { EmptyPanel, failureOf, ListEnd, NoState, RowMenu, Search } from "./parts.tsx"
import { Uploads, useUploads } from "./Uploads.tsx"
import { formatSize, type PanelSay } from "./words.ts"

const PAGE_SIZE = 100
const MAX_SEARCHED_STORES = 5

export function ContentsPanel({ sessionId, talk, say }: PanelProps) {
  const state = talk.services.content
  if (state === undefined || failureOf(state) !== "") return <NoState state={state} say={say} />
  return <Contents sessionId={sessionId} state={state} say={say} />
}

function Contents({ sessionId, state, say }: { sessionId: string; state: ContentState; say: PanelSay }) {
  const [query, setQuery] = useState("")
  const adding = useUploads(sessionId, "contents")
  const { rows, total, loadMore } = useRows<ContentInState>({
    sessionId,
    service: "content",
    list: "contents",
    first: { rows: state.contents, total: state.total },
    pageSize: PAGE_SIZE,
    state,
  })
  const { mounted, end } = useMounted(rows.length)
  const add = (files: readonly File[]) => {
    for (const file of files)
      void addContent(sessionId, file).then((id) => {
        if (id?.startsWith("image-")) notify(say("imageNotSearched", { name: file.name }))
      })
  }
  const remove = async ({ contentId, filename }: ContentInState) => {
    if ((await act(sessionId, "delete_content", { contentId })) === undefined) return
    const undo = () => void act(sessionId, "restore_content", { contentId })
    notify(say("contentDeleted", { name: filename }), { undo })
  }
  if (state.total === 0 && adding.length === 0)
    return (
      <EmptyPanel icon="layers" title={say("noContents")} hint={say("noContentsHint")}>
        <FilePicker className="btn" onChoose={add}>
          <Icon name="upload" small />
          {say("chooseFile")}
        </FilePicker>
      </EmptyPanel>
    )
  return (
    <>
      <div className="row panel-tools">
        <Search label={say("findContent")} clearLabel={say("clearSearch")} query={query} onSearch={setQuery} />
      </div>
      {query !== "" && <Passages sessionId={sessionId} state={state} query={query} say={say} />}
      <h2 className="sec">
        {say("allContents")}
        <span className="chip">{total}</span>
        <FilePicker className="btn quiet end" onChoose={add}>
          <Icon name="plus" small />
          {say("add")}
        </FilePicker>
      </h2>
      <Uploads uploads={adding} say={say} />
      {rows.length > 0 && (
        <ul className="card list" aria-label={say("allContents")}>
          {rows.slice(0, mounted).map((content) => (
            <ContentRow key={content.contentId} content={content} say={say} onRemove={() => void remove(content)} />
          ))}
          {mounted < rows.length && <li ref={end} />}
        </ul>
      )}
      {mounted >= rows.length && rows.length < total && (
        <ListEnd left={total - rows.length} say={say} onMore={loadMore} />
      )}
    </>
  )
}

function ContentRow({ content, say, onRemove }: { content: ContentInState; say: PanelSay; onRemove: () => void }) {
  const locale = useLocale()
  const { filename, pages, lines, size } = content
  return (
    <li className="item low">
      <Icon name={fileIcon({ kind: "file", path: filename })} />
      <span className="grow cut small" title={filename}>
        {filename}
      </span>
      <span className="xs soft num" title={formatSize(size, locale)}>
        {pages > 0 ? say("pages", { count: pages }) : say("lines", { count: lines.toLocaleString(locale) })}
      </span>
      <RowMenu
        label={say("moreOf", { name: filename })}
        actions={[{ id: "remove", title: say("remove"), isBad: true, act: onRemove }]}
      />
    </li>
  )
}

interface Passage {
  contentId: string
  chunkId: string
  filename: string
  score: number
  context: string
  lineRange: number[]
}

/** What a search finds, in all stores of the session: the person's own call. */
function Passages({
  sessionId,
  state,
  query,
  say,
}: {
  sessionId: string
  state: ContentState
  query: string
  say: PanelSay
}) {
  const [found, setFound] = useState<{ passages: readonly Passage[]; ms: number } | null>(null)
  useEffect(() => {
    let isStale = false
    const stores = state.stores.slice(0, MAX_SEARCHED_STORES)
    void Promise.all(stores.map(({ storeId }) => act(sessionId, "keyword_similarity_search", { query, storeId }))).then(
      (outcomes) => {
        if (isStale) return
        const passages = outcomes.flatMap((outcome) => (outcome?.data["results"] as Passage[] | undefined) ?? [])
        const ms = Math.max(0, ...outcomes.map((outcome) => outcome?.tookMs ?? 0))
        setFound({ passages: passages.sort((one, other) => other.score - one.score), ms })
      },
    )
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
  const contents = new Set(found.passages.map(({ contentId }) => contentId)).size
  return (
    <>
      <p className="hint" role="status">
        {found.passages.length === 0
          ? say("nothingFound", { query })
          : say("passages", { passages: found.passages.length, contents, ms: found.ms })}
      </p>
      {found.passages.length > 0 && (
        <ul className="card list">
          {found.passages.map((passage) => (
            <li key={passage.chunkId} className="item">
              <Icon name={fileIcon({ kind: "file", path: passage.filename })} />
              <div className="grow">
                <h3 className="cut">{passage.filename}</h3>
                <p className="excerpt">
                  <Marked text={passage.context} words={query.split(/\s+/)} />
                </p>
                <div className="meta num">
                  {say("lineRange", { from: passage.lineRange[0] ?? 0, to: passage.lineRange[1] ?? 0 })} ·{" "}
                  {say("score", { score: passage.score.toFixed(1) })}
                </div>
              </div>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
