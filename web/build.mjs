/**
 * Build the front end into the folder given as the first argument: hashed assets with a .gz beside each, index.html, and
 * the licences of what is bundled. Fails when the first load is larger than its budget.
 */
import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"

import * as esbuild from "esbuild"

const WEB = dirname(fileURLToPath(import.meta.url))
const OUT = resolve(process.argv[2] ?? join(WEB, "dist"))
const FIRST_LOAD_MAX_BYTES = 250 * 1024
const LOCALES = ["en-US", "ko-KR"]

/** React Aria brings its words in some 34 languages, a fifth of the first load: two of them are ours. */
const twoLocales = {
    name: "two-locales",
    setup(build) {
        build.onLoad({ filter: /[\\/]intl[\\/].*[a-z]{2}-[A-Z]{2}\.(m?js|json)$/ }, ({ path }) => {
            const isOurs = LOCALES.some((locale) => path.includes(locale))
            return isOurs ? undefined : { contents: "export default {}", loader: "js" }
        })
    },
}

const result = await esbuild.build({
    absWorkingDir: WEB,
    entryPoints: { main: "src/main.tsx", style: "src/style/index.css" },
    outdir: join(OUT, "assets"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["chrome120", "firefox128", "safari17.5"],
    jsx: "automatic",
    minify: true,
    metafile: true,
    legalComments: "none",
    // For V8: compile all of it while it loads, in another thread, instead of each function on the main thread when it
    // is first called. A quarter of the main thread's time until the page can be used.
    banner: { js: "//# allFunctionsCalledOnLoad" },
    alias: {
        "decode-named-character-reference": join(WEB, "src/replacements/entities.ts"),
        "property-information": join(WEB, "src/replacements/properties.ts"),
    },
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [twoLocales],
    write: false,
})

if (result.warnings.length > 0) {
    // A brace that is missing or a key that is there twice is a picture or a rule that nobody sees missing.
    console.error("The front end is not built: warnings count as errors.")
    process.exit(1)
}

await rm(OUT, { recursive: true, force: true })
await mkdir(join(OUT, "assets"), { recursive: true })

const sizes = new Map()
for (const { path, contents } of result.outputFiles) {
    const zipped = gzipSync(contents, { level: 9 })
    await writeFile(path, contents)
    await writeFile(`${path}.gz`, zipped)
    sizes.set(relative(OUT, path), zipped.length)
}

const outputs = Object.fromEntries(
    Object.entries(result.metafile.outputs).map(([path, output]) => [relative(OUT, resolve(WEB, path)), output]),
)
const entry = (source) => Object.keys(outputs).find((path) => outputs[path].entryPoint === source)
const script = entry("src/main.tsx")
const style = entry("src/style/index.css")

/** What a file needs before it runs; `dynamic-import` is loaded later. */
function needs(path, seen = new Set()) {
    if (seen.has(path)) return seen
    seen.add(path)
    for (const { path: imported, kind } of outputs[path].imports) {
        if (kind === "import-statement") needs(relative(OUT, resolve(WEB, imported)), seen)
    }
    return seen
}
// A session draws Markdown, and on a wide screen the panels beside it: both count, though they come a moment later.
const lazy = ["src/views/Markdown.tsx", "src/views/panels/Panels.tsx"].flatMap((source) => [...needs(entry(source))])
const first = new Set([style, ...needs(script), ...lazy])

const page = (await readFile(join(WEB, "index.html"), "utf8"))
    .replace("/assets/style.css", `/${style}`)
    .replace("/assets/main.js", `/${script}`)
    .replace(
        "<!-- preload -->",
        [...needs(script)]
            .slice(1)
            .map((path) => `<link rel="modulepreload" href="/${path}">`)
            .join("\n    "),
    )
await writeFile(join(OUT, "index.html"), page)
await writeFile(join(OUT, "licences.txt"), await licences())

let total = gzipSync(page, { level: 9 }).length
for (const [path, size] of [...sizes].sort(([, a], [, b]) => b - a)) {
    const isFirst = first.has(path)
    if (isFirst) total += size
    console.log(`${(size / 1024).toFixed(1).padStart(7)} KB gz  ${isFirst ? "first" : "later"}  ${path}`)
}
console.log(`${(total / 1024).toFixed(1).padStart(7)} KB gz  first load, of ${FIRST_LOAD_MAX_BYTES / 1024}`)
if (total > FIRST_LOAD_MAX_BYTES) {
    console.error("The first load is larger than its budget.")
    process.exit(1)
}

/** The licence of every package that has a byte in the bundle, in one file. */
async function licences() {
    const folders = new Set()
    for (const output of Object.values(outputs)) {
        for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
            const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)
            if (match && bytesInOutput > 0) folders.add(match[1])
        }
    }
    const texts = new Map()
    for (const folder of [...folders].sort()) {
        const { name, version, license } = JSON.parse(await readFile(join(WEB, folder, "package.json"), "utf8"))
        const file = (await readdir(join(WEB, folder))).find((one) => /^licen[cs]e/i.test(one))
        const text = file ? (await readFile(join(WEB, folder, file), "utf8")).trim() : `(${license})`
        const key = createHash("sha256").update(text).digest("hex")
        const known = texts.get(key) ?? { names: [], text }
        known.names.push(`${name} ${version} (${license})`)
        texts.set(key, known)
    }
    return [...texts.values()].map(({ names, text }) => `${names.join("\n")}\n\n${text}\n`).join("\n----\n\n")
}
