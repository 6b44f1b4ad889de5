import type { AssistantPatch } from "../../wire/generated.ts"

/** Change an assistant: the parts of the form say what, the editor saves it. */
export type Change = (patch: Omit<AssistantPatch, "version">) => void
