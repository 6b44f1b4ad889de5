/**
 * How the properties of drawn Markdown are called in React: in place of a list of all of HTML and SVG, which is a tenth
 * of the chunk. No HTML of a model is drawn, so these are the few that the parser of Markdown makes itself.
 */

interface Info {
  property: string
  attribute: string
  /** Of what React knows by its property; others are given by their attribute. */
  space?: "html"
}

export const html = { space: "html" }
export const svg = { space: "svg" }
export const hastToReact = {}

export function find(_schema: unknown, property: string): Info {
  const [, family, rest] = /^(aria|data)([A-Z].*)$/.exec(property) ?? []
  if (rest === undefined) return { property, attribute: property.toLowerCase(), space: "html" }
  const attribute =
    family === "aria" ? `aria-${rest.toLowerCase()}` : `data${rest.replace(/[A-Z]/g, "-$&").toLowerCase()}`
  return { property, attribute }
}
