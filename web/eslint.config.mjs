/** What a machine keeps of the front end: its layers, no cycles, pure code in core, and the dependencies of hooks. */
import reactHooks from "eslint-plugin-react-hooks"
import tseslint from "typescript-eslint"

import imports from "./lint/imports.mjs"

/** From the top to the bottom, as import-linter has them for Python. */
const LAYERS = [["main"], ["views"], ["services", "frame"], ["core"], ["texts", "replacements"], ["wire"]]

export default [
    { ignores: ["dist", "src/wire/generated.ts"] },
    { linterOptions: { reportUnusedDisableDirectives: "error" } },
    ...tseslint.configs.recommended,
    // tsc has its own of these (noUnusedLocals, noUnusedParameters), which knows what begins with "_".
    { rules: { "@typescript-eslint/no-unused-vars": "off" } },
    {
        files: ["src/**"],
        plugins: { imports, "react-hooks": reactHooks },
        rules: {
            "imports/no-cycle": "error",
            "imports/layers": ["error", { root: "src", layers: LAYERS }],
            "react-hooks/rules-of-hooks": "error",
            "react-hooks/exhaustive-deps": "error",
            "max-lines-per-function": ["error", { max: 150 }],
            "no-restricted-syntax": [
                "error",
                {
                    selector: "CallExpression[callee.name='useStore'][arguments.length=1][arguments.0.name='app']",
                    message:
                        "Every notice would draw this again: select what it shows (useStore(app, select), useFields).",
                },
            ],
        },
    },
    {
        files: ["src/core/**"],
        ignores: ["**/*.test.ts"],
        rules: {
            // Nothing that is not of the language itself: no document, no storage, no network, no clock of the browser.
            "no-undef": "error",
            "@typescript-eslint/no-restricted-imports": [
                "error",
                {
                    patterns: [
                        { regex: "^[^.]", allowTypeImports: true, message: "core/ is pure: only types of packages." },
                    ],
                },
            ],
        },
    },
]
