/** The signs of the interface: 16 units, drawn with the stroke of the text around them. */

const PATHS = {
  plus: "M8 3v10M3 8h10",
  inbox: "M2 9.5h3.2l1 2h3.6l1-2H14M2 9.5 4 3h8l2 6.5V13H2z",
  search: "M11.3 7a4.3 4.3 0 1 1-8.6 0 4.3 4.3 0 0 1 8.6 0zm-1 3.3 3.2 3.2",
  tools:
    "M3 4.5h6.4M12.6 4.5h.4M3 11.5h.4M6.6 11.5H13M12.6 4.5a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 0 1 3.2 0zM6.6 11.5a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 0 1 3.2 0z",
  chat: "M2.5 3.5h11v8h-6L4.5 14v-2.5h-2z",
  settings:
    "M10.2 8a2.2 2.2 0 1 1-4.4 0 2.2 2.2 0 0 1 4.4 0zM8 1.8v1.7M8 12.5v1.7M1.8 8h1.7M12.5 8h1.7M3.6 3.6l1.2 1.2M11.2 11.2l1.2 1.2M12.4 3.6l-1.2 1.2M4.8 11.2l-1.2 1.2",
  back: "M10 3.5 5.5 8l4.5 4.5",
  chevron: "m6 3.5 4.5 4.5L6 12.5",
  up: "m3.5 10 4.5-4.5 4.5 4.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  tick: "m3.5 8.5 3 3 6-7",
  cross: "m4 4 8 8M12 4l-8 8",
  attach: "m13 7.5-5.3 5.3a3 3 0 0 1-4.3-4.3l5.6-5.6a2 2 0 0 1 2.9 2.9l-5.5 5.5a1 1 0 0 1-1.5-1.5L10 4.7",
  send: "M8 13V3.5M4 7.2l4-4 4 4",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  question:
    "M13.8 8A5.8 5.8 0 1 1 2.2 8a5.8 5.8 0 0 1 11.6 0zM6.3 6.3a1.8 1.8 0 1 1 2.5 1.7c-.6.3-.8.7-.8 1.2M8 11.3h.01",
  gate: "M1.8 5.5C4 5.2 6 4.2 8 2.5c2 1.7 4 2.7 6.2 3M3.5 5.5v8M12.5 5.5v8M6.5 13.5v-5h3v5",
  hand: "M5 8.5V4a1 1 0 0 1 2 0v3.5-5a1 1 0 0 1 2 0v5V3.5a1 1 0 0 1 2 0V9c0 3-1.5 5-4 5-2 0-3-1-4.5-3.8-.5-1 .8-1.7 1.5-.9z",
  warning: "M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.7h.01",
  plug: "M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2.5",
  play: "M5 3.2 12.5 8 5 12.8z",
  page: "M4 2h5l3 3v9H4zM9 2v3h3",
  enlarge: "M9.5 2.5h4v4M13.5 2.5 9 7M6.5 13.5h-4v-4M2.5 13.5 7 9",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  fork: "M5 3v10M5 8.5c5 0 6-1.5 6-5",
  edit: "m3 13 .7-3L10.5 3.2l2.3 2.3L6 12.3z",
  panel: "M4 3h8a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zM10 3v10",
  stop: "M6 4.5h4A1.5 1.5 0 0 1 11.5 6v4a1.5 1.5 0 0 1-1.5 1.5H6A1.5 1.5 0 0 1 4.5 10V6A1.5 1.5 0 0 1 6 4.5z",
  lock: "M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  person: "M10.6 5.2a2.6 2.6 0 1 1-5.2 0 2.6 2.6 0 0 1 5.2 0zM3 13.5c.5-2.7 2.5-4 5-4s4.5 1.3 5 4",
  chip: "M5.5 4h5A1.5 1.5 0 0 1 12 5.5v5a1.5 1.5 0 0 1-1.5 1.5h-5A1.5 1.5 0 0 1 4 10.5v-5A1.5 1.5 0 0 1 5.5 4zM6.5 1.8V4M9.5 1.8V4M6.5 12v2.2M9.5 12v2.2M1.8 6.5H4M1.8 9.5H4M12 6.5h2.2M12 9.5h2.2",
  download: "M8 2.5V10M4.5 7 8 10.5 11.5 7M3 13.5h10",
  book: "M8 4.2C6.5 3 4.5 2.8 2.5 3v9.5c2-.2 4 0 5.5 1.2 1.5-1.2 3.5-1.4 5.5-1.2V3c-2-.2-4 0-5.5 1.2zM8 4.2v9.5",
  goal: "M13.5 8a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0zM10 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0z",
  list: "M6 4.5h7M6 8h7M6 11.5h7M3 4.5h.01M3 8h.01M3 11.5h.01",
  chart: "M3 13V8M8 13V3M13 13V6",
  history: "M3 8a5 5 0 1 0 1.5-3.6M3 2.5v2.7h2.7M8 5.5V8l2 1.2",
  folder: "M2 12.5v-9h4l1.5 2H14v7z",
  layers: "m8 2.5 6 3-6 3-6-3zM2.5 8.5 8 11.2l5.5-2.7M2.5 11.2 8 13.8l5.5-2.6",
  spark: "M8 2v3.5M8 10.5V14M2 8h3.5M10.5 8H14M4 4l2 2M10 10l2 2M12 4l-2 2M6 10l-2 2",
  clock: "M13.8 8A5.8 5.8 0 1 1 2.2 8a5.8 5.8 0 0 1 11.6 0zM8 4.8V8l2.2 1.5",
  again: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.7h-2.7",
  table:
    "M4 3h8a1.5 1.5 0 0 1 1.5 1.5v7A1.5 1.5 0 0 1 12 13H4a1.5 1.5 0 0 1-1.5-1.5v-7A1.5 1.5 0 0 1 4 3zM2.5 6.5h11M7 6.5V13",
  image:
    "M4 3h8a1.5 1.5 0 0 1 1.5 1.5v7A1.5 1.5 0 0 1 12 13H4a1.5 1.5 0 0 1-1.5-1.5v-7A1.5 1.5 0 0 1 4 3zM7.2 6.5a1.2 1.2 0 1 1-2.4 0 1.2 1.2 0 0 1 2.4 0zm-4.2 5.500 3.5-3 2 1.5 2-2 3 2.500",
  upload: "M8 10.5V3M4.5 6.5 8 3l3.5 3.5M3 13.5h10",
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, small = false, className = "" }: { name: IconName; small?: boolean; className?: string }) {
  return (
    <svg className={`i ${small ? "s" : ""} ${className}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} strokeWidth={name === "more" ? 2.4 : undefined} />
    </svg>
  )
}

/** What a call does, by its tool; one that is not known is a tool. */
const TOOL_ICONS: [RegExp, IconName][] = [
  [/^(prompt_user|reply_prompt|get_prompt|list_prompts)$/, "question"],
  [/^(wait_for_user|resume_from_wait)$/, "hand"],
  [/playbook/, "book"],
  [/goal|^get_current_state$/, "goal"],
  [/todo|observation|^clear_session$/, "list"],
  [/^visualize_data$/, "chart"],
  [/^export_|^import_/, "download"],
  [/grep|search/, "search"],
  [/directory/, "folder"],
  [/file/, "page"],
  [/content|store/, "layers"],
]

export function toolIcon(tool: string): IconName {
  return TOOL_ICONS.find(([pattern]) => pattern.test(tool))?.[1] ?? "tools"
}

export function Mark() {
  return (
    <svg viewBox="0 0 24 24" fill="none" aria-hidden="true" className="mark">
      <path
        d="M9.2 20.5H7A3.5 3.5 0 0 1 3.5 17V7A3.5 3.5 0 0 1 7 3.5h10A3.5 3.5 0 0 1 20.5 7v10a3.5 3.5 0 0 1-3.5 3.5h-2.2"
        stroke="currentColor"
        strokeWidth="2.4"
        strokeLinecap="round"
      />
      <circle cx="9.6" cy="9.7" r="2.1" fill="currentColor" />
      <circle className="yours" cx="14.2" cy="14.1" r="2.1" fill="currentColor" />
    </svg>
  )
}

export function fileIcon({ kind, path }: { kind: string; path: string }): IconName {
  if (kind === "folder") return "folder"
  if (/\.(csv|tsv|xlsx?)$/i.test(path)) return "table"
  if (/\.(png|jpe?g|gif|webp|avif|svg|bmp)$/i.test(path)) return "image"
  return "page"
}
