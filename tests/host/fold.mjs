/** Fold what a host told, as the front end does: events from the beginning, and a page of messages. For test_reload.py. */
import { createRequire } from "node:module"
import { join } from "node:path"

const web = process.argv[2]
const esbuild = createRequire(join(web, "package.json"))("esbuild")
const { outputFiles } = await esbuild.build({
    absWorkingDir: web,
    stdin: { contents: `export * from "./src/core/fold.ts"; export * from "./src/core/talk.ts"`, resolveDir: web },
    bundle: true,
    format: "esm",
    write: false,
})
const source = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
const { EMPTY_TALK, addImages, addOlder, fold, openTalk } = await import(source)

let input = ""
for await (const chunk of process.stdin) input += chunk
const { events, pages } = JSON.parse(input)
const [newest, ...older] = pages
const reloaded = older.reduce(addOlder, openTalk(newest))
const live = pages.reduce(addImages, events.reduce(fold, EMPTY_TALK))
console.log(JSON.stringify({ live, reloaded }))
