/** What fields of settings take. */

/** A name of one's own has none of the signs by which other ways to name a model are known. */
export function freeName(model: string, taken: readonly string[]): string {
  const name = model.replace(/[:#/\s]+/g, "-").slice(0, 100) || "model"
  if (!taken.includes(name)) return name
  for (let number = 2; ; number++) if (!taken.includes(`${name}-${number}`)) return `${name}-${number}`
}

/** Whether a text is a number within its bounds, or empty. */
export function isTaken(text: string, min: number, max = Number.MAX_SAFE_INTEGER, step = 1): boolean {
  if (text === "") return true
  const value = Number(text)
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text) || value < min || value > max) return false
  return step < 1 || Number.isInteger(value)
}
