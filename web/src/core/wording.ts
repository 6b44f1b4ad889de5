/**
 * No word of an answer is lost. HTML is no block of its own, so that Markdown in it is read, and its tags stand as they
 * were written, but for a few without attributes that are drawn. What Markdown keeps out of sight stands too: definitions
 * that nothing refers to, and cells beyond the head of a table.
 */

import type { Definition, FootnoteDefinition, Nodes, Parents, PhrasingContent, Root, RootContent, Table } from "mdast"
import type {} from "remark-parse"
import type { Processor } from "unified"
import type { VFile } from "vfile"

const BREAK = /^<br\s*\/?>$/i
const PAIRED = /^<(\/?)(sub|sup|kbd)\s*>$/i

export function wording(this: Processor): (root: Root, file: VFile) => void {
  const data = this.data()
  ;(data.micromarkExtensions ??= []).push({ disable: { null: ["htmlFlow"] } })
  return (root, file) => {
    const source = String(file)
    const used = new Set<Nodes>()
    const first = new Map<string, Nodes>()
    walk(root, (node) => {
      if (isDefinition(node) && !first.has(keyOf(node))) first.set(keyOf(node), node)
    })
    walk(root, (node) => {
      const kind = node.type === "footnoteReference" ? "footnoteDefinition" : "definition"
      const definition = "identifier" in node && !isDefinition(node) && first.get(`${kind} ${node.identifier}`)
      if (definition) used.add(definition)
    })
    walk(root, (node) => {
      if (node.type === "table") widen(node)
      if (!("children" in node)) return
      const children = node.children.flatMap((child): Nodes[] =>
        isDefinition(child) && !used.has(child) ? written(child, source) : [child],
      )
      node.children = drawTags(children) as typeof node.children
    })
  }
}

function walk(node: Nodes, visit: (node: Nodes) => void): void {
  visit(node)
  if ("children" in node) for (const child of node.children) walk(child, visit)
}

const isDefinition = (node: Nodes): node is Definition | FootnoteDefinition =>
  node.type === "definition" || node.type === "footnoteDefinition"

const keyOf = ({ type, identifier }: Definition | FootnoteDefinition) => `${type} ${identifier}`

/** A definition as a paragraph of its own. */
function written(node: Definition | FootnoteDefinition, source: string): RootContent[] {
  if (node.type === "definition") {
    const { start, end } = node.position ?? {}
    return [paragraph([{ type: "text", value: source.slice(start?.offset, end?.offset) }])]
  }
  const [first, ...rest] = node.children
  const label: PhrasingContent = { type: "text", value: `[^${node.label ?? node.identifier}]: ` }
  return first?.type === "paragraph"
    ? [paragraph([label, ...first.children]), ...rest]
    : [paragraph([label]), ...node.children]
}

const paragraph = (children: PhrasingContent[]): RootContent => ({ type: "paragraph", children })

/** A row is drawn as far as the table is wide: it is as wide as its longest row. */
function widen(table: Table): void {
  const width = Math.max(...table.children.map((row) => row.children.length))
  table.align = Array.from({ length: width }, (_, index) => table.align?.[index] ?? null)
}

/** Replace the tags among the children of a node: by a break, by what stands between two of a kind, else by their text. */
function drawTags(children: Nodes[]): Nodes[] {
  const drawn: Nodes[] = []
  const open: { name: string; index: number }[] = []
  for (const child of children) {
    if (child.type !== "html") {
      drawn.push(child)
      continue
    }
    const [, slash, tag] = PAIRED.exec(child.value) ?? []
    const name = tag?.toLowerCase() ?? ""
    const opening = slash === "/" ? open.findLastIndex((one) => one.name === name) : -1
    if (opening !== -1) {
      const { index } = open[opening]!
      open.length = opening
      const [, ...inside] = drawn.splice(index)
      drawn.push(element(name, inside))
    } else {
      if (slash === "") open.push({ name, index: drawn.length })
      drawn.push(BREAK.test(child.value) ? { type: "break" } : { type: "text", value: child.value })
    }
  }
  return drawn
}

/** A node that Markdown has no word for, drawn as an element of this name. */
function element(name: string, children: Nodes[]): Nodes {
  return { type: "emphasis", data: { hName: name }, children: children as PhrasingContent[] } satisfies Parents
}
