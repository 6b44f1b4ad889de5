import assert from "node:assert/strict"
import { test } from "node:test"

import { gfmFromMarkdown } from "mdast-util-gfm"
import { gfm as gfmSyntax } from "micromark-extension-gfm"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import ReactMarkdown from "react-markdown"
import type {} from "remark-parse"
import type { Processor } from "unified"

import { gfm } from "../replacements/gfm.ts"

// What the application reads of its browser while it is loaded.
const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined }
Object.assign(globalThis, { location: { hash: "" }, localStorage: storage, sessionStorage: storage })
Object.defineProperty(globalThis, "navigator", { value: { language: "en", platform: "" } })
const { default: Markdown } = await import("./Markdown.tsx")
const { LocaleContext } = await import("./language.tsx")

function draw(text: string, isStreaming = false): string {
  const html = renderToStaticMarkup(createElement(Markdown, { text, isStreaming }))
  return html.replace(/^<div class="prose">([^]*)<\/div>$/, "$1")
}

/** What can be read of it: what is drawn as an element stands for its tag. */
function read(html: string): string {
  return html
    .replace(/<br\/>\n?/g, "")
    .replace(/<[^>]*>/g, "")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#x27;/g, "'")
    .replace(/&amp;/g, "&")
}

function checkTable(table: readonly (readonly [text: string, html: string])[]): void {
  for (const [text, html] of table) {
    assert.equal(draw(text), html, text)
    assert.equal(draw(text, true), html, `streamed: ${text}`)
  }
}

test("HTML that is not drawn stands as it was written", () => {
  checkTable([
    ["vector<int> v", "<p>vector&lt;int&gt; v</p>"],
    ["Map<String, List<Integer>> m", "<p>Map&lt;String, List&lt;Integer&gt;&gt; m</p>"],
    ["<think>hm</think> so", "<p>&lt;think&gt;hm&lt;/think&gt; so</p>"],
    [
      '<div align="center">Centred **important** words</div>',
      "<p>&lt;div align=&quot;center&quot;&gt;Centred <strong>important</strong> words&lt;/div&gt;</p>",
    ],
    [
      "<details>\n<summary>More</summary>\n\n- one\n\n</details>",
      "<p>&lt;details&gt;\n&lt;summary&gt;More&lt;/summary&gt;</p><ul>\n<li>one</li>\n</ul><p>&lt;/details&gt;</p>",
    ],
    ["a <!-- a *note* --> b", "<p>a &lt;!-- a *note* --&gt; b</p>"],
    ["<!-- alone -->", "<p>&lt;!-- alone --&gt;</p>"],
    ["<!DOCTYPE html>", "<p>&lt;!DOCTYPE html&gt;</p>"],
    ["<?php echo 1 ?>", "<p>&lt;?php echo 1 ?&gt;</p>"],
    ["<![CDATA[ x ]]>", "<p>&lt;![CDATA[ x ]]&gt;</p>"],
    ["<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"],
    ['<img src=x onerror="alert(1)">', "<p>&lt;img src=x onerror=&quot;alert(1)&quot;&gt;</p>"],
    ["# <u>Title</u>", "<h1>&lt;u&gt;Title&lt;/u&gt;</h1>"],
    ["- <b>x</b>", "<ul>\n<li>&lt;b&gt;x&lt;/b&gt;</li>\n</ul>"],
  ])
})

test("a few tags without attributes are drawn, in pairs", () => {
  checkTable([
    ["First<br>second<br/>third<BR />fourth", "<p>First<br/>\nsecond<br/>\nthird<br/>\nfourth</p>"],
    ["<br>\nfirst", "<p><br/>\n\nfirst</p>"],
    ["H<sub>2</sub>O, x<sup>**2**</sup>", "<p>H<sub>2</sub>O, x<sup><strong>2</strong></sup></p>"],
    ["<kbd>Ctrl</kbd>+<KBD>C</KBD>", "<p><kbd>Ctrl</kbd>+<kbd>C</kbd></p>"],
    ["<sup>a<sub>b</sub></sup>", "<p><sup>a<sub>b</sub></sup></p>"],
    ["<sup>a<sub>b</sup></sub>", "<p><sup>a&lt;sub&gt;b</sup>&lt;/sub&gt;</p>"],
    ["x<sub>2 and </sup>", "<p>x&lt;sub&gt;2 and &lt;/sup&gt;</p>"],
    ['<sub onclick="x()">a</sub>', "<p>&lt;sub onclick=&quot;x()&quot;&gt;a&lt;/sub&gt;</p>"],
    ['a<br class="x">b', "<p>a&lt;br class=&quot;x&quot;&gt;b</p>"],
    ["`<br>`", "<p><code>&lt;br&gt;</code></p>"],
  ])
  const cell = /<td>(.*)<\/td>/s.exec(draw("| a |\n|---|\n| one<br>two |"))
  assert.equal(cell?.[1], "one<br/>\ntwo")
})

test("what nothing refers to, and what is beyond a table, is read too", () => {
  assert.equal(draw("[1]: important"), "<p>[1]: important</p>")
  assert.equal(draw("[^1]: important *words*"), "<p>[^1]: important <em>words</em></p>")
  assert.equal(read(draw("See [it][1].\n\n[1]: https://a.example/\n[1]: other")), "See it.\n[1]: other")
  assert.equal(read(draw("| a |\n|---|\n| 1 | 2 |")).replace(/\s/g, ""), "a12")
})

test("emphasis stands next to Korean, Chinese and Japanese", () => {
  checkTable([
    ['**"인용"**입니다', "<p><strong>&quot;인용&quot;</strong>입니다</p>"],
    ["**“인용”**입니다", "<p><strong>“인용”</strong>입니다</p>"],
    ["**API(인터페이스)**를", "<p><strong>API(인터페이스)</strong>를</p>"],
    ["**50%**입니다", "<p><strong>50%</strong>입니다</p>"],
    ["값은**(중요)**입니다", "<p>값은<strong>(중요)</strong>입니다</p>"],
    ["*(기울임)*은", "<p><em>(기울임)</em>은</p>"],
    ['***"둘 다"***는', "<p><em><strong>&quot;둘 다&quot;</strong></em>는</p>"],
    ['~~"취소"~~는', "<p><del>&quot;취소&quot;</del>는</p>"],
    ["**`code`**를", "<p><strong><code>code</code></strong>를</p>"],
    ["**重要。**所以", "<p><strong>重要。</strong>所以</p>"],
    ["これは**「強調」**です", "<p>これは<strong>「強調」</strong>です</p>"],
    ["**（括弧）**です", "<p><strong>（括弧）</strong>です</p>"],
    ['**"x"**𠮷と𠮷**"y"**', "<p><strong>&quot;x&quot;</strong>𠮷と𠮷<strong>&quot;y&quot;</strong></p>"],
    ["**굵게** 그리고 *기울임*", "<p><strong>굵게</strong> 그리고 <em>기울임</em></p>"],
    ["3 * 4 * 5는 ** 60", "<p>3 * 4 * 5는 ** 60</p>"],
    ["변수_이름_둘과 __init__을", "<p>변수_이름_둘과 __init__을</p>"],
  ])
  assert.match(draw("**[문서](https://a.example/)**를"), /^<p><strong><a [^>]*>문서<\/a><\/strong>를<\/p>$/)
})

/** Repeatable choices (mulberry32). */
function chooser(seed: number): <T>(from: readonly T[]) => T {
  return (from) => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return from[((mixed ^ (mixed >>> 14)) >>> 0) % from.length]!
  }
}

function strict(this: Processor): void {
  const data = this.data()
  ;(data.micromarkExtensions ??= []).push(gfmSyntax())
  ;(data.fromMarkdownExtensions ??= []).push(gfmFromMarkdown())
}

test("where there is no CJK, emphasis is what CommonMark says", () => {
  const plain = (text: string) =>
    renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [strict], children: text }))
  const pieces = ["*", "**", "***", "~~", "_", "__", "a", "b1", '"', "(", ")", "%", ".", " ", "é", "“", "—", "🙂", "$"]
  const choose = chooser(1)
  for (let round = 0; round < 1_000; round++) {
    const text = `x${Array.from({ length: 10 }, () => choose(pieces)).join("")}`
    const drawn = renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [gfm], children: text }))
    assert.equal(drawn, plain(text), text)
  }
})

test("every letter of a text with tags can be read", () => {
  const pieces = [
    ...["<", ">", "</", "/>", "<!--", "-->", "<?", "?>", "<![CDATA[", "]]>", "<!DOCTYPE html>", "&", '"', "'", "="],
    ...["<div>", "</div>", '<p class="k">', "<int>", "<br>", "<sub>", "</sub>", "<kbd>", "</kbd>", "<details>"],
    ...["<script>", "</script>", "<pre>", "<style>", "<h1>", "<table>", "<td>", "<x-y z>", "<br/>", "<hr>", "<T, U>"],
    ...["말", "words", "Ω", " ", " ", "\n", "\n\n", "**", "*", "|", "- ", "# ", "> "],
  ]
  const letters = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, "")
  const sorted = (text: string) => [...text].sort().join("")
  const choose = chooser(2)
  for (let round = 0; round < 1_000; round++) {
    const made = Array.from({ length: 14 }, () => choose(pieces)).join("")
    const text = made.replace(/ +\n/g, "\n") // two spaces are a break of their own
    const html = draw(text, choose([true, false]))
    // A tag that is drawn is seen as what it does.
    const tags = (html.match(/<\/?(br|sub|kbd)\/?>/g) ?? []).join("")
    assert.equal(sorted(letters(read(html) + tags)), sorted(letters(text)), JSON.stringify(text))
  }
})

test("the heading of footnotes is heard, not seen, and in the interface's language", () => {
  const text = "It rests[^1].\n\n[^1]: For some days."
  assert.match(draw(text), /<h2 class="vh" id="[^"]*">Footnotes<\/h2>/)
  const markdown = createElement(Markdown, { text, isStreaming: false })
  const korean = renderToStaticMarkup(createElement(LocaleContext.Provider, { value: "ko" }, markdown))
  assert.match(korean, /<h2 class="vh" id="[^"]*">각주<\/h2>/)
})
