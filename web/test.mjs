/** Bundle src/**\/*.test.ts for the Node that is here, and run them with its own test runner. */
import { spawnSync } from "node:child_process"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

import * as esbuild from "esbuild"

const WEB = dirname(fileURLToPath(import.meta.url))
const files = (await readdir(join(WEB, "src"), { recursive: true })).filter((name) => /\.test\.tsx?$/.test(name)).sort()
// Below node_modules, so that packages which are not bundled are found.
const out = await mkdtemp(join(WEB, "node_modules", ".tests-"))
try {
    await esbuild.build({
        absWorkingDir: WEB,
        entryPoints: files.map((name) => join("src", name)),
        outdir: out,
        outExtension: { ".js": ".mjs" },
        outbase: "src",
        bundle: true,
        platform: "node",
        format: "esm",
        packages: "external",
        jsx: "automatic",
        sourcemap: "inline",
    })
    const built = files.map((name) => join(out, name.replace(/\.tsx?$/, ".mjs")))
    const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...built], { stdio: "inherit" })
    process.exitCode = status ?? 1
} finally {
    await rm(out, { recursive: true, force: true })
}
