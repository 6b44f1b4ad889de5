/**
 * Every word of the interface, in both languages, side by side. `{name}` is filled in by `say`.
 *
 * Korean speaks as a colleague would (해요/합니다), and never says 당신.
 */

import type { Locale } from "./wire/types.ts"

const TEXTS = {
  // The frame of the application
  madang: ["Madang", "마당"],
  newSession: ["New session", "새 세션"],
  inbox: ["Inbox", "받은 질문"],
  sessions: ["Sessions", "세션"],
  manualMode: ["Manual mode", "직접 쓰기"],
  chat: ["Chat", "대화"],
  assistants: ["Assistants", "어시스턴트"],
  playbook: ["Playbook", "플레이북"],
  file: ["File", "파일"],
  settings: ["Settings", "설정"],
  main: ["Main", "주 메뉴"],
  onlyHere: ["On this computer only · 127.0.0.1", "이 컴퓨터에서만 · 127.0.0.1"],
  today: ["Today", "오늘"],
  lastWeek: ["Last 7 days", "지난 7일"],
  earlier: ["Earlier", "그 전"],
  pinnedSessions: ["Pinned", "고정함"],
  fromClient: ["From {client}", "{client}에서 온 세션"],
  untitled: ["Untitled", "제목 없음"],
  loading: ["Loading", "불러오는 중"],
  back: ["Back", "뒤로"],
  panel: ["Panel", "패널"],
  more: ["More", "더 보기"],
  close: ["Close", "닫기"],
  cancel: ["Cancel", "취소"],
  // States of a session
  running: ["Running", "진행 중"],
  yourTurn: ["Your turn", "내 차례"],
  waiting: ["Waiting", "기다림"],
  failed: ["Failed", "실패함"],
  // Sessions
  findSession: ["Find a session", "세션 찾기"],
  noSessions: ["No sessions yet", "아직 세션이 없습니다"],
  noSessionFound: ["No session has these words", "이 말이 있는 세션이 없습니다"],
  noArchived: ["Nothing is archived", "보관한 세션이 없습니다"],
  moreSessions: ["Show more", "더 보기"],
  archived: ["Archived", "보관함"],
  active: ["All", "전부"],
  rename: ["Rename", "이름 바꾸기"],
  pin: ["Pin", "고정하기"],
  unpin: ["Unpin", "고정 풀기"],
  archive: ["Archive", "보관하기"],
  restore: ["Restore", "되돌리기"],
  delete: ["Delete", "지우기"],
  deleteSession: ["Delete this session?", "이 세션을 지울까요?"],
  deleteSessionHint: [
    "Its messages, files and contents go with it. This cannot be undone.",
    "메시지와 파일, 자료도 함께 지워집니다. 되돌릴 수 없습니다.",
  ],
  sessionArchived: ["“{title}” is archived", "“{title}” 세션을 보관했습니다"],
  undo: ["Undo", "되돌리기"],
  save: ["Save", "저장"],
  title: ["Title", "제목"],
  language: ["Language", "언어"],
  // Talk
  conversation: ["Conversation", "대화"],
  welcome: ["What shall we do together?", "무엇을 함께 할까요?"],
  welcomeWithModel: ["Write what you have in mind, or pick a tool.", "하려는 일을 적거나, 도구를 골라 주세요."],
  welcomeWithoutModel: [
    "No model is needed: use the tools yourself, and read what an agent would read.",
    "모델이 없어도 됩니다. 도구를 직접 써 보면서, 에이전트가 읽게 될 글까지 함께 볼 수 있어요.",
  ],
  connectModel: ["Connect a model", "모델 연결"],
  connectModelHint: ["One on this computer, or one of a provider", "이 컴퓨터의 모델이나 밖의 모델을 씁니다"],
  manualModeHint: ["Find a tool and call it by its form", "도구를 찾아 양식으로 부릅니다"],
  // The tour of the first run
  tour: ["A tour of one minute", "1분 둘러보기"],
  tourHint: [
    "Five steps show all that Madang does. What they make is real, and stays.",
    "다섯 걸음이면 마당이 하는 일을 다 봅니다. 만든 것은 진짜로 남습니다.",
  ],
  tourSkip: ["Skip", "건너뛰기"],
  tourTitle: ["Weekly report", "주간 보고서"],
  tourPlaybook: ["Write a playbook", "플레이북 만들기"],
  tourPlaybookDo: ["Write it", "만들기"],
  tourPlaybookHint: [
    "A workflow that an agent can find and follow again, kept for all your sessions.",
    "에이전트가 다시 찾아 따를 수 있는 일의 순서입니다. 모든 세션에서 쓸 수 있게 남습니다.",
  ],
  tourPlaybookDone: ["Publish the weekly report", "주간 보고서 발행"],
  tourShow: ["Show the playbooks", "플레이북 보여 주기"],
  tourShowDo: ["Show them", "보여 주기"],
  tourShowHint: [
    "The page is for you, the text above it for the agent: both are of the same call.",
    "페이지는 사람이 보고, 위의 글은 에이전트가 읽습니다. 둘 다 같은 부름에서 나옵니다.",
  ],
  tourShowDone: ["1 page", "페이지 1개"],
  tourAsk: ["Answer a question", "질문에 답하기"],
  tourAskDo: ["Ask me", "질문 띄우기"],
  tourAskHint: [
    "The same card appears as when an agent asks. Your words go to the agent as they are.",
    "에이전트가 물을 때와 똑같은 카드가 나타납니다. 답하면 그 말이 그대로 에이전트에게 갑니다.",
  ],
  tourAnswerHint: [
    "Answer below. The next two steps use it.",
    "아래에서 답해 주세요. 다음 두 걸음에서 그 답을 씁니다.",
  ],
  tourAskDone: ["“{answer}”", "“{answer}”"],
  tourChart: ["See a chart", "차트 보기"],
  tourChartDo: ["Draw it", "그리기"],
  tourChartHint: [
    "Figures become a picture, and stay readable as a table.",
    "숫자가 그림이 되고, 표로도 읽을 수 있습니다.",
  ],
  tourChartDone: ["5 weeks", "5주 비교"],
  tourExport: ["Export a file", "파일 내보내기"],
  tourExportDo: ["Export it", "내보내기"],
  tourExportHint: [
    "A file is written into the session and handed over, with its size and checksum.",
    "세션에 파일을 쓰고, 크기와 검사값을 적어 내보냅니다.",
  ],
  tourExportDone: ["1 file", "파일 1개"],
  tourAgain: ["Take the tour again", "둘러보기 다시 하기"],
  olderMessages: ["Show older messages", "이전 메시지 보기"],
  thought: ["Thoughts", "생각한 것"],
  writing: ["Writing", "쓰는 중"],
  thinkingNow: ["Thinking", "생각하는 중"],
  copy: ["Copy", "복사"],
  copied: ["Copied", "복사함"],
  fork: ["Continue in a new session from here", "여기서 새 세션으로 갈라내기"],
  edit: ["Edit as a branch", "고쳐서 새 갈래로 보내기"],
  again: ["Ask again in a branch", "새 갈래에서 다시 묻기"],
  summary: ["Summary of what came before", "앞의 대화를 줄인 글"],
  stopped: ["Stopped", "멈췄습니다"],
  cutHere: ["Written until here", "여기까지 씀"],
  goOnPlease: ["Please go on.", "이어서 해 주세요."],
  otherModel: ["Another model", "다른 모델로"],
  justNow: ["just now", "방금"],
  findHere: ["Find in this session", "이 세션에서 찾기"],
  foundOf: ["{number} of {count}", "{count}곳 가운데 {number}"],
  foundNone: ["Not found", "없습니다"],
  previous: ["Previous", "이전"],
  next: ["Next", "다음"],
  actionBeside: ["Done beside the run", "따로 한 일"],
  answeredLate: ["Answered later", "나중에 답함"],
  runFailed: [
    "This turn failed. Everything done so far is kept.",
    "이번 차례가 실패했습니다. 한 일은 모두 남아 있습니다.",
  ],
  tryAgain: ["Go on", "이어서 하기"],
  retrying: ["The model's server is busy: attempt {attempt}", "모델 서버가 바쁩니다. {attempt}번째 시도"],
  jumpToEnd: ["Jump to the newest", "맨 아래로"],
  // Calls
  modelRead: ["What the model read", "모델이 읽은 글"],
  agentReads: ["What the agent reads", "에이전트가 읽을 글"],
  arguments: ["Arguments", "인자"],
  data: ["Data", "데이터"],
  page: ["Page", "페이지"],
  seconds: ["{seconds} s", "{seconds}초"],
  callRunning: ["running", "하는 중"],
  callDone: ["done", "끝남"],
  callFailed: ["failed", "실패"],
  callWaiting: ["waiting", "기다림"],
  callEnded: ["ended without a result", "결과 없이 끝남"],
  deedTimes: ["{deed} × {count}", "{deed} · {count}번"],
  deedFailed: ["{deed}: failed", "{deed}: 실패"],
  tookMs: ["{ms} ms", "{ms}ms 걸림"],
  sizeOfText: ["text {size}", "글 {size}"],
  sizeOfData: ["data {size}", "데이터 {size}"],
  showAll: ["Show all {count} lines", "전부 보기 · {count}줄"],
  noTextYet: ["No result yet", "아직 결과가 없습니다"],
  // Composer
  message: ["Message", "메시지"],
  placeholder: ["Write a message", "메시지를 적어 주세요"],
  placeholderRunning: [
    "What you write now is given at the next turn",
    "이어서 할 말을 적어 두면 다음 차례에 전해집니다",
  ],
  placeholderManual: ["Type the name of a tool, or press /", "도구 이름을 적거나 / 를 누르세요"],
  send: ["Send", "보내기"],
  stop: ["Stop", "멈추기"],
  attach: ["Add a file", "파일 더하기"],
  useTool: ["Use a tool", "도구 쓰기"],
  model: ["Model", "모델"],
  noModel: ["No model · manual mode", "모델 없음 · 직접 쓰기"],
  queued: ["Next turn", "다음 차례"],
  withdraw: ["Withdraw", "거두기"],
  uploading: ["Uploading {name}", "{name} 올리는 중"],
  cancelFile: ["Cancel uploading {name}", "{name} 올리기 취소"],
  removeFile: ["Remove {name}", "{name} 빼기"],
  dropHere: ["Drop to add to this session", "놓으면 이 세션에 더해집니다"],
  contextUsed: ["Context: {tokens} tokens", "맥락: 토큰 {tokens}개"],
  sendAsAnswer: ["Send as the answer", "답으로 보내기"],
  notAnAnswer: ["Sent as a message, not as an answer", "답이 아니라 메시지로 보냅니다"],
  questionsWait: ["{count} waiting for an answer", "질문 {count}개가 답을 기다립니다"],
  goToQuestion: ["Go to the question", "질문으로 가기"],
  // Gate
  approvalNeeded: ["Approval needed", "승인이 필요합니다"],
  mayTool: ["May the agent call {tool}?", "{tool} 도구를 불러도 될까요?"],
  madangAsks: [
    "Madang asks · no page and no model can write here",
    "마당이 묻습니다 · 페이지나 모델은 이 자리에 쓸 수 없습니다",
  ],
  tool: ["Tool", "도구"],
  reason: ["Why we ask", "까닭"],
  session: ["Session", "세션"],
  asker: ["Asked by", "물은 곳"],
  ourChat: ["Madang chat", "마당 대화"],
  allShown: ["All shown · {count} characters", "전부 보임 · {count}자"],
  later: ["Later", "나중에"],
  decline: ["Decline", "거절"],
  allowInSession: ["Always in this session", "이 세션에서 늘 허용"],
  allowOnce: ["Allow once", "한 번 허용"],
  ofMany: ["{number} / {count}", "{number} / {count}"],
  approvalsLater: ["{count} waiting for approval", "승인 {count}개가 기다립니다"],
  show: ["Show", "보기"],
  // Inbox
  inboxHint: [
    "Questions and approvals from every session and every client on this computer. What is not urgent can wait.",
    "이 컴퓨터의 모든 세션과 모든 클라이언트에서 온 질문과 승인입니다. 급하지 않으면 나중에 답해도 됩니다.",
  ],
  waitingCount: ["Waiting {count}", "기다림 {count}"],
  talkBefore: ["The talk before", "앞의 대화"],
  nothingBefore: ["Nothing was said before", "앞에 한 말이 없습니다"],
  me: ["Me", "나"],
  approvals: ["Approvals", "승인"],
  questions: ["Questions", "질문"],
  question: ["Question", "질문"],
  nothingWaits: ["Nothing is waiting", "기다리는 것이 없습니다"],
  nothingWaitsHint: [
    "When an agent asks something or needs approval, it is collected here.",
    "에이전트가 묻거나 허락을 구하면 여기에 모입니다.",
  ],
  openSession: ["Open session", "세션 열기"],
  dontAnswer: ["Don't answer", "답하지 않기"],
  waitTitle: ["Waiting for you", "기다림"],
  callAsModel: ["Call a tool", "도구 부르기"],
  leftOut: ["{count} more are not shown here", "여기에 없는 것이 {count}개 더 있습니다"],
  goOn: ["Go on", "이어서 하기"],
  yourAnswer: ["Your answer", "답"],
  nextPrevious: ["next, previous", "다음·이전"],
  timeLeft: ["{time} left", "{time} 남음"],
  answered: ["Answered", "답함"],
  answeredElsewhere: ["Answered elsewhere", "다른 곳에서 답함"],
  expired: ["Expired", "기한 지남"],
  declined: ["Not answered", "답하지 않음"],
  superseded: ["Asked anew", "다시 물음"],
  withdrawn: ["Withdrawn", "거둠"],
  yourModelTurn: ["It is your turn to be the model", "모델이 할 차례를 맡고 있습니다"],
  sayAsModel: ["Say and end the turn", "말하고 차례 끝내기"],
  // Manual mode
  findTool: ["Find a tool", "도구 찾기"],
  noToolFound: ["No tool has this name", "이런 이름의 도구가 없습니다"],
  pickTool: ["Pick a tool", "도구를 골라 주세요"],
  pickToolHint: ["Its form and what an agent would read appear here.", "양식과 에이전트가 읽을 글이 여기에 나옵니다."],
  pauses: ["pauses", "멈춤"],
  pausesAgent: ["pauses the agent", "에이전트가 멈춰 기다림"],
  noModelChip: ["No model", "모델 없음"],
  history: ["History", "기록"],
  noResultHint: [
    "The answer of the tool appears here, as an agent would read it.",
    "도구의 답이 에이전트가 읽는 그대로 여기에 나옵니다.",
  ],
  milliseconds: ["{ms} ms", "{ms} ms"],
  textSize: [
    "{bytes} bytes, about {tokens} tokens. This text alone is enough for a model.",
    "{bytes}바이트, 토큰 약 {tokens}개. 모델은 이 글만 읽어도 됩니다.",
  ],
  agentsWords: ["What an agent is told of it", "에이전트가 읽는 설명"],
  asModelHint: [
    "It is your turn to be the model of this session: the call becomes part of its talk.",
    "이 세션에서 모델이 할 차례를 맡고 있습니다. 부르면 대화에 남습니다.",
  ],
  forButtons: ["for buttons", "단추용"],
  call: ["Call", "부르기"],
  calling: ["Calling", "부르는 중"],
  asJson: ["As JSON", "JSON으로"],
  asForm: ["As a form", "양식으로"],
  result: ["Result", "결과"],
  noResult: ["Nothing called yet", "아직 부른 것이 없습니다"],
  required: ["Required", "꼭 적어야 합니다"],
  notSet: ["not set", "정하지 않음"],
  yes: ["Yes", "예"],
  no: ["No", "아니요"],
  addItem: ["Add one", "하나 더하기"],
  remove: ["Remove", "빼기"],
  badJson: ["This is not valid JSON", "올바른 JSON이 아닙니다"],
  badNumber: ["A number is needed", "숫자를 적어 주세요"],
  between: ["{min} to {max}", "{min}에서 {max}까지"],
  atLeast: ["At least {min}", "{min} 이상"],
  atMost: ["At most {max}", "{max} 이하"],
  textLength: ["Up to {max} characters", "{max}자까지"],
  optional: ["optional", "안 적어도 됨"],
  whatYouSee: ["What you would see", "사람에게 보이는 것"],
  palette: ["Sessions, tools, playbooks and files", "세션, 도구, 플레이북, 파일"],
  // Pages
  pageFailed: ["The page did not start within 5 seconds", "페이지가 5초 안에 뜨지 않았습니다"],
  pageFailedHint: ["What the model got is below as it is.", "모델이 받은 글은 아래에 그대로 있습니다."],
  showText: ["Show the text", "글 보기"],
  startAgain: ["Start again", "다시 띄우기"],
  enlarge: ["Enlarge", "크게 보기"],
  shrink: ["Make smaller", "작게 보기"],
  openLink: ["Open this address?", "이 주소를 열까요?"],
  foreignPage: ["page of another server", "다른 서버의 페이지"],
  scriptsOff: [
    "This page may have been written by a model: its scripts do not run.",
    "모델이 쓴 페이지일 수 있어 스크립트를 실행하지 않았습니다.",
  ],
  runScripts: ["Run its scripts", "스크립트 실행"],
  pageMessage: ["{server} wants to send this as your message", "{server}에서 이 글을 내 메시지로 보내려고 합니다"],
  pageMessageHint: ["The agent will read it as your words.", "에이전트는 내가 한 말로 읽습니다."],
  pageFile: ["{server} wants to save a file", "{server}에서 파일을 저장하려고 합니다"],
  pageFileHint: ["It was made by that server's page.", "그 서버의 페이지가 만든 파일입니다."],
  sendIt: ["Send it", "보내기"],
  openLinkHint: [
    "It leaves this computer and opens in a new tab. This is the whole address.",
    "이 컴퓨터 밖으로 나가 새 탭에서 열립니다. 위가 주소 전체입니다.",
  ],
  open: ["Open", "열기"],
  // Connection and errors
  connectionLost: ["The connection to Madang was lost. Reconnecting", "마당과 연결이 끊겼습니다. 다시 잇는 중"],
  now: ["Now", "지금"],
  nothingLost: ["What you see and what you typed stays.", "보던 것과 적던 글은 그대로 있습니다."],
  serverGone: [
    "Madang seems to have ended. Run “madang web” again in the terminal: this tab goes on by itself.",
    "마당이 꺼진 것 같습니다. 터미널에서 “madang web”을 다시 실행하면 이 탭이 스스로 이어집니다.",
  ],
  stillTrying: ["Still trying", "계속 다시 잇는 중"],
  noToken: ["This tab is not connected to Madang", "이 탭은 마당에 연결되지 않았습니다"],
  noTokenHint: [
    "Run “madang web” again in the terminal: it opens a new tab with a fresh address.",
    "터미널에서 “madang web”을 다시 실행하면 새 주소로 탭이 열립니다.",
  ],
  launchFailed: ["This address was used already, or is too old", "이미 쓴 주소이거나 너무 오래된 주소입니다"],
  unreachable: ["Madang cannot be reached", "마당에 닿지 않습니다"],
  sessionGone: ["This session is not there any more", "이 세션은 더 이상 없습니다"],
  somethingFailed: ["That did not work", "하지 못했습니다"],
  // Settings
  appearance: ["Appearance", "화면"],
  system: ["As the system", "시스템대로"],
  light: ["Light", "밝게"],
  dark: ["Dark", "어둡게"],
  models: ["Models", "모델"],
  modelsHint: ["Models are named in config.toml of the data folder.", "모델은 데이터 폴더의 config.toml에 적습니다."],
  dataFolder: ["Data folder", "데이터 폴더"],
  version: ["Version", "버전"],
  problem: ["Version and problems", "버전과 문제 알리기"],
  problemHint: [
    "The report tells of the program and this computer. Nothing that you wrote, and no file, is in it.",
    "보고서에는 프로그램과 이 컴퓨터에 대한 것만 있습니다. 적은 글이나 파일은 들어가지 않습니다.",
  ],
  makeReport: ["Problem report", "문제 보고서"],
  showLog: ["Log", "로그"],
  logEmpty: ["Nothing is in the log", "로그가 비어 있습니다"],
  keys: ["Keys", "단축키"],
} as const satisfies Record<string, readonly [en: string, ko: string]>

export type TextKey = keyof typeof TEXTS
export type Say = (key: TextKey, values?: Record<string, string | number>) => string

export const speaker = (locale: Locale): Say => speakerOf(TEXTS, locale)

/** The texts of a part that is loaded later, spoken in the same way. */
export function speakerOf<Key extends string>(
  texts: Record<Key, readonly [en: string, ko: string]>,
  locale: Locale,
): (key: Key, values?: Record<string, string | number>) => string {
  const column = locale === "ko" ? 1 : 0
  return (key, values = {}) =>
    texts[key][column].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}

/** Tool calls told as deeds. A tool that is not here is told by its name. */
const DEEDS: Record<string, readonly [en: string, ko: string]> = {
  create_playbook: ["Wrote a playbook", "플레이북을 씀"],
  list_playbooks: ["Looked at the playbooks", "플레이북을 살펴봄"],
  show_playbooks: ["Showed the playbooks", "플레이북을 보여 줌"],
  get_playbook_page: ["Turned the page of playbooks", "플레이북 쪽을 넘김"],
  get_playbook: ["Read a playbook", "플레이북을 읽음"],
  select_playbook: ["Chose a playbook", "플레이북을 고름"],
  update_playbook: ["Changed a playbook", "플레이북을 고침"],
  delete_playbook: ["Deleted a playbook", "플레이북을 지움"],
  restore_playbook: ["Restored a playbook", "플레이북을 되돌림"],
  list_playbook_runs: ["Looked at past runs", "지난 실행을 살펴봄"],
  export_playbooks: ["Exported playbooks", "플레이북을 내보냄"],
  import_playbooks: ["Imported playbooks", "플레이북을 가져옴"],
  create_goal: ["Set the goal", "목표를 세움"],
  clear_goal: ["Cleared the goal", "목표를 지움"],
  add_todo: ["Added a to-do", "할 일을 더함"],
  mark_todo: ["Marked a to-do", "할 일을 표시함"],
  clear_todos: ["Cleared to-dos", "할 일을 지움"],
  add_observation: ["Noted something", "기록을 남김"],
  clear_session: ["Cleared the plan", "계획을 비움"],
  get_current_state: ["Read the plan", "계획을 살펴봄"],
  prompt_user: ["Asked you", "물어봄"],
  reply_prompt: ["Answered a question", "질문에 답함"],
  get_prompt: ["Read an answer", "답을 읽음"],
  list_prompts: ["Looked at the questions", "질문을 살펴봄"],
  wait_for_user: ["Waited for you", "기다림"],
  resume_from_wait: ["Went on", "이어서 함"],
  visualize_data: ["Drew a chart", "차트를 그림"],
  create_store: ["Made a store", "자료함을 만듦"],
  list_stores: ["Looked at the stores", "자료함을 살펴봄"],
  add_content: ["Added a content", "자료를 더함"],
  list_content: ["Looked at the contents", "자료를 살펴봄"],
  read_content: ["Read a content", "자료를 읽음"],
  keyword_similarity_search: ["Searched the contents", "자료에서 찾음"],
  delete_content: ["Deleted a content", "자료를 지움"],
  delete_store: ["Deleted a store", "자료함을 지움"],
  read_file: ["Read a file", "파일을 읽음"],
  write_file: ["Wrote a file", "파일을 씀"],
  edit_file: ["Changed a file", "파일을 고침"],
  list_directory: ["Looked into a folder", "폴더를 살펴봄"],
  search_files: ["Looked for files", "파일을 찾음"],
  grep: ["Searched files", "파일에서 찾음"],
  move_file: ["Moved a file", "파일을 옮김"],
  delete_file: ["Deleted a file", "파일을 지움"],
  import_file: ["Imported a file", "파일을 가져옴"],
  export_file: ["Exported a file", "파일을 내보냄"],
  export_zip: ["Exported a ZIP", "ZIP으로 내보냄"],
  save_as_playbook: ["Kept it as a playbook", "플레이북으로 남김"],
  search_messages: ["Searched the messages", "메시지에서 찾음"],
}

/** Whether this is the name of a tool of ours. */
export const isTool = (name: string): boolean => Object.hasOwn(DEEDS, name)

export function deedOf(tool: string, locale: Locale): string {
  return DEEDS[tool]?.[locale === "ko" ? 1 : 0] ?? tool
}

/** What the services are for, in manual mode. One that is not here is told by its name. */
const SERVICE_TITLES: Record<string, readonly [en: string, ko: string]> = {
  playbook: ["playbook · workflows", "playbook · 플레이북"],
  planning: ["planning · goal and to-dos", "planning · 목표와 할 일"],
  ui: ["ui · questions and waiting", "ui · 질문과 기다림"],
  chart: ["chart · pictures of data", "chart · 차트"],
  content: ["content · stores and search", "content · 자료와 찾기"],
  workspace: ["workspace · files", "workspace · 파일"],
  files: ["files · files", "files · 파일"],
  export: ["export · files out", "export · 내보내기"],
  agent: ["agent · the talk itself", "agent · 대화 자체"],
}

export function serviceTitleOf(service: string, locale: Locale): string {
  return SERVICE_TITLES[service]?.[locale === "ko" ? 1 : 0] ?? service
}

/** Tools whose call ends the turn of an agent until the person has done something. */
const PAUSING = new Set(["prompt_user", "wait_for_user", "show_playbooks"])

export const doesPause = (tool: string): boolean => PAUSING.has(tool)

/** The service that a tool with a page belongs to; a tool that is not here is told by its name. */
const SERVICES: Record<string, string> = {
  prompt_user: "ui",
  wait_for_user: "ui",
  show_playbooks: "playbook",
  get_playbook_page: "playbook",
  visualize_data: "chart",
  export_file: "export",
  export_zip: "export",
}

export function serviceOf(tool: string): string {
  return SERVICES[tool] ?? tool
}

/** What a page of a tool is called in the bar above it. */
const PAGE_TITLES: Record<string, readonly [en: string, ko: string]> = {
  prompt_user: ["Question", "질문"],
  wait_for_user: ["Waiting for you", "기다림"],
  show_playbooks: ["Playbooks", "플레이북"],
  get_playbook_page: ["Playbooks", "플레이북"],
  visualize_data: ["Chart", "차트"],
  export_file: ["Exported file", "내보낸 파일"],
  export_zip: ["Exported file", "내보낸 파일"],
}

export function pageTitleOf(tool: string, locale: Locale): string {
  return PAGE_TITLES[tool]?.[locale === "ko" ? 1 : 0] ?? deedOf(tool, locale)
}
