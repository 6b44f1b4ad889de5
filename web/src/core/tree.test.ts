import assert from "node:assert/strict"
import { test } from "node:test"

import { foldersAbove, foldersOf, freeName, parseTable } from "./tree.ts"

const entry = (path: string, kind: "file" | "folder") => ({ path, kind, size: 1, modified: "" })

test("the entries of a state are put into their folders, and a folder that it lacks is not there", () => {
  const folders = foldersOf({
    folder: "",
    isFolderMissing: false,
    files: 900,
    newest: [],
    entries: [entry("big", "folder"), entry("sub", "folder"), entry("a.md", "file"), entry("sub/b.md", "file")],
    folders: [
      { path: "", total: 700 },
      { path: "sub", total: 1 },
    ],
    exports: [],
    exportCount: 0,
  })
  assert.deepEqual(
    folders.get("")!.rows.map(({ path }) => path),
    ["big", "sub", "a.md"],
  )
  assert.equal(folders.get("")!.total, 700)
  assert.deepEqual(
    folders.get("sub")!.rows.map(({ path }) => path),
    ["sub/b.md"],
  )
  assert.equal(folders.get("big"), undefined)
})

test("a name that is taken gets a number before its extension", () => {
  assert.equal(freeName("보고서.md", new Set()), "보고서.md")
  assert.equal(freeName("보고서.md", new Set(["보고서.md", "보고서 (2).md"])), "보고서 (3).md")
  assert.equal(freeName(".env", new Set([".env"])), ".env (2)")
})

test("a table is read with quotes, line breaks in cells and an end of any kind", () => {
  assert.deepEqual(parseTable('a,b\r\n"x, ""y""\nz",2', ",", { maxRows: 10, maxColumns: 10 }), [
    ["a", "b"],
    ['x, "y"\nz', "2"],
  ])
  assert.deepEqual(parseTable("1\t2\n3\t4\n5\t6\n", "\t", { maxRows: 2, maxColumns: 10 }), [
    ["1", "2"],
    ["3", "4"],
  ])
})

test("a table with more columns than anybody reads is cut", () => {
  const wide = `${"x,".repeat(100_000)}end\na,b,c`
  assert.deepEqual(parseTable(wide, ",", { maxRows: 5, maxColumns: 2 }), [
    ["x", "x"],
    ["a", "b"],
  ])
})

test("a path is seen when all folders above it are open", () => {
  assert.deepEqual(foldersAbove("a/b/c.md"), ["a", "a/b"])
  assert.deepEqual(foldersAbove("c.md"), [])
})
