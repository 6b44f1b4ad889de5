/**
 * GitHub's Markdown for reading: tables, tasks, footnotes, bare addresses. What remark-gfm does, without its half that
 * writes Markdown, which is a tenth of the chunk. Emphasis may stand next to CJK.
 */

import { gfmFromMarkdown } from "mdast-util-gfm"
import { gfm as gfmSyntax } from "micromark-extension-gfm"
import type {} from "remark-parse"
import type { Processor } from "unified"

import { besideCjk } from "./cjk.ts"

export function gfm(this: Processor): void {
  const data = this.data()
  const syntax = gfmSyntax()
  ;(data.micromarkExtensions ??= []).push(syntax, besideCjk(syntax))
  ;(data.fromMarkdownExtensions ??= []).push(gfmFromMarkdown())
}
