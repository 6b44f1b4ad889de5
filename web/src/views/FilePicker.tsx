/** A button that lets files be chosen. */

import { useRef, type ReactNode } from "react"

interface FilePickerProps {
  className: string
  /** Where the button shows no words. */
  label?: string
  onChoose: (files: readonly File[]) => void
  children: ReactNode
}

export function FilePicker({ className, label, onChoose, children }: FilePickerProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <button
        type="button"
        className={className}
        aria-label={label}
        title={label}
        onClick={() => input.current?.click()}
      >
        {children}
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          onChoose([...(event.target.files ?? [])])
          event.target.value = "" // the same file can be chosen once more
        }}
      />
    </>
  )
}
