/**
 * Two ESLint rules over the imports of a module, those of types and late ones (`import()`) included: packages look past
 * types, and cycles of types are the ones that grow. Every import of ours is relative and names its file, so there is
 * nothing to resolve.
 */
import { readFileSync, statSync } from "node:fs"
import { dirname, relative, resolve, sep } from "node:path"

const IMPORT = /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g

/** By path, as of a time of change: an editor lints again and again in one process. */
const known = new Map()

function importsOf(path) {
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs === undefined) return []
    const cached = known.get(path)
    if (cached?.mtimeMs === mtimeMs) return cached.imports
    const imports = [...readFileSync(path, "utf8").matchAll(IMPORT)].map(([, name]) => resolve(dirname(path), name))
    known.set(path, { mtimeMs, imports })
    return imports
}

/** The shortest way from one module to another along imports, both ends included; null if there is none. */
function wayBetween(start, target) {
    const ways = [[start]]
    const seen = new Set([start])
    for (const way of ways) {
        const last = way.at(-1)
        if (last === target) return way
        for (const next of importsOf(last)) {
            if (!seen.has(next)) ways.push([...way, next])
            seen.add(next)
        }
    }
    return null
}

/** Have each import of one of our own modules looked at. */
function eachImport(context, check) {
    const visit = ({ source }) => {
        const name = source?.value
        if (typeof name === "string" && name.startsWith(".")) check(source, resolve(dirname(context.filename), name))
    }
    return {
        ImportDeclaration: visit,
        ImportExpression: visit,
        ExportAllDeclaration: visit,
        ExportNamedDeclaration: visit,
        TSImportType: visit,
    }
}

/** No module imports itself by a detour. */
const noCycle = {
    meta: { type: "problem", schema: [], messages: { cycle: "This import closes a cycle: {{way}}." } },
    create: (context) =>
        eachImport(context, (node, imported) => {
            const way = wayBetween(imported, context.filename)
            if (way === null) return
            const names = [context.filename, ...way].map((path) => relative(context.cwd, path))
            context.report({ node, messageId: "cycle", data: { way: names.join(" > ") } })
        }),
}

/**
 * A folder imports from itself and from layers below its own. `layers` are lists of folders below `root`, from the top to
 * the bottom; those in one list do not know each other. A folder that is in none of them imports nothing and is not
 * imported: it has to be put somewhere.
 */
const layers = {
    meta: {
        type: "problem",
        schema: [{ type: "object", required: ["root", "layers"] }],
        messages: { upward: "{{from}}/ may not import from {{to}}/." },
    },
    create(context) {
        const [options] = context.options
        const root = resolve(context.cwd, options.root)
        const folderOf = (path) =>
            relative(root, path)
                .split(sep)[0]
                .replace(/(\.test)?\.tsx?$/, "")
        const levelOf = (folder) => options.layers.findIndex((names) => names.includes(folder))
        const from = folderOf(context.filename)
        return eachImport(context, (node, imported) => {
            const to = folderOf(imported)
            const isBelow = levelOf(from) !== -1 && levelOf(to) > levelOf(from)
            if (from !== to && !isBelow) context.report({ node, messageId: "upward", data: { from, to } })
        })
    },
}

export default { rules: { "no-cycle": noCycle, layers } }
