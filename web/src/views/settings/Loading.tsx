/** Something that is being read: nothing for a moment, then lines of about its height. */

import { useWords } from "./words.ts"

const WIDTHS = ["40%", "96%", "90%", "62%"]

export function Loading() {
  const words = useWords()
  return (
    <div className="skeleton" aria-busy="true">
      {WIDTHS.map((width) => (
        <div key={width} className="sk line" style={{ width }} />
      ))}
      <p className="vh" role="status">
        {words("loading")}
      </p>
    </div>
  )
}
