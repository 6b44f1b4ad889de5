import assert from "node:assert/strict"
import { test } from "node:test"

import { find, html } from "./properties.ts"

test("React is given properties as it knows them, and what it does not know as attributes", () => {
  const nameOf = (property: string) => {
    const info = find(html, property)
    return info.space ? info.property : info.attribute
  }
  assert.deepEqual(["className", "href", "checked", "id"].map(nameOf), ["className", "href", "checked", "id"])
  assert.equal(nameOf("ariaDescribedBy"), "aria-describedby")
  assert.equal(nameOf("dataFootnoteRef"), "data-footnote-ref")
  assert.equal(nameOf("dataFootnoteBackref"), "data-footnote-backref")
})
