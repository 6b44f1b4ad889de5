/** The texts of the list of sessions, in both languages. They are loaded with it. */

export const SESSION_TEXTS = {
  import: ["Import", "불러오기"],
  importHint: ["An archive of a session, as “Export” saves it", "“내보내기”로 저장한 세션의 보관 파일"],
  imported: ["“{title}” is imported", "“{title}” 세션을 불러왔습니다"],
  exporting: ["Preparing the archive", "보관 파일을 준비하는 중"],
  all: ["All", "전부"],
  said: ["Said", "말"],
  returned: ["Tools", "도구"],
  titled: ["Titles", "제목"],
  everyAssistant: ["All assistants", "모든 어시스턴트"],
  defaultAssistant: ["Default assistant", "기본 어시스턴트"],
  assistant: ["Assistant", "어시스턴트"],
  client: ["MCP client", "MCP 클라이언트"],
  messages: ["{count} {count|message|messages}", "메시지 {count}"],
  calls: ["{count} {count|tool call|tool calls}", "도구 {count}"],
  places: [
    "{places} {places|place|places} in {sessions} {sessions|session|sessions} · {ms} ms · looked for in titles, in what was said and in what tools returned",
    "세션 {sessions}개에서 {places}곳 · {ms} ms · 제목, 말, 도구의 결과에서 찾았습니다",
  ],
  morePlaces: ["The newest only: more words find less.", "최근 것만 보입니다. 말을 더 적으면 좁혀집니다."],
} as const
