/**
 * Markdown of a model: no HTML but a few bare tags, no pictures fetched, links that say where they lead. One remembered
 * part a block.
 */

import { memo, useMemo, useState, type MouseEvent, type ReactNode } from "react"
import ReactMarkdown, { type Components } from "react-markdown"

import { askLink } from "../services/app.ts"
import { isSeparable, splitBlocks } from "../core/blocks.ts"
import { gfm } from "../replacements/gfm.ts"
import { highlight } from "../core/highlight.ts"
import { wording } from "../core/wording.ts"
import { Icon } from "./icons.tsx"
import { useSay } from "./language.tsx"

const PLUGINS = [gfm, wording]
const COMPONENTS: Components = {
  // A picture would tell its server that this was read: its text stands for it.
  img: ({ alt, src }) => <span className="soft">[{alt || String(src ?? "")}]</span>,
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  code: ({ className, children }) => {
    const language = /language-(\S+)/.exec(className ?? "")?.[1]
    return (
      <code>{language === undefined ? children : <Highlighted code={String(children)} language={language} />}</code>
    )
  },
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
}

const Block = memo(function Block({ text }: { text: string }) {
  const say = useSay()
  const footnotes = useMemo(
    () => ({ footnoteLabel: say("footnotes"), footnoteLabelProperties: { className: ["vh"] } }),
    [say],
  )
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} remarkRehypeOptions={footnotes} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  )
})

/**
 * Blocks that are complete are not parsed again while a text streams. At its end it is drawn as a whole only if its
 * blocks need one another: drawing thousands of words anew would stop the tab for a moment.
 */
export default function Markdown({ text, isStreaming }: { text: string; isStreaming: boolean }) {
  const isWhole = !isStreaming && !isSeparable(text)
  const blocks = useMemo(() => (isWhole ? [text] : splitBlocks(text)), [text, isWhole])
  return (
    <div className="prose">
      {blocks.map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  )
}

/** Only the web and mail: what else a model writes as an address is plain text. It is shown whole before it is opened. */
function Link({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (href === undefined || !/^(https?:|mailto:)/i.test(href) || !URL.canParse(href)) return <span>{children}</span>
  const ask = (event: MouseEvent) => {
    event.preventDefault()
    void askLink(href)
  }
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href} onClick={ask} onAuxClick={ask}>
      {children}
    </a>
  )
}

const Highlighted = memo(function Highlighted({ code, language }: { code: string; language: string }) {
  return highlight(code, language).map(([kind, text], index) =>
    kind === "" ? (
      text
    ) : (
      <span key={index} className={`hl-${kind}`}>
        {text}
      </span>
    ),
  )
})

function CodeBlock({ children }: { children: ReactNode }) {
  const say = useSay()
  const [isCopied, setCopied] = useState(false)
  const [element, setElement] = useState<HTMLPreElement | null>(null)
  const copy = async () => {
    await navigator.clipboard.writeText(element?.textContent ?? "")
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <div className="code-block">
      <pre className="code" tabIndex={0} ref={setElement}>
        {children}
      </pre>
      <button
        type="button"
        className="ib"
        aria-label={isCopied ? say("copied") : say("copy")}
        onClick={() => void copy()}
      >
        <Icon name={isCopied ? "tick" : "copy"} />
      </button>
    </div>
  )
}
