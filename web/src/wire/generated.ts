/** Every shape that crosses between browser and host. Made by `scripts/generate`: do not edit. */

export interface Acted {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/action"
  value: TextValue
}

/** The tool a step would use, and what for. */
export interface Action {
  toolName: string
  purpose: string
}

export interface Answered {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/answered"
  value: AnsweredValue
}

export interface AnsweredLate {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/answered_late"
  value: AnsweredLateValue
}

export interface AnsweredLateValue {
  messageId: string
  id: string
  text: string
  pause?: CallPause
}

export interface AnsweredValue {
  messageId: string
  model: string
  inputTokens: number | null
  outputTokens: number | null
  isCut?: boolean
  images?: number
}

export interface ArgumentsContinued {
  seq?: number
  at?: string
  type: "TOOL_CALL_ARGS"
  toolCallId: string
  delta: string
}

export interface ArgumentsEnded {
  seq?: number
  at?: string
  type: "TOOL_CALL_END"
  toolCallId: string
}

export interface AssistantAnswer {
  id: string
  name: string
  model: string
}

export interface AssistantDetails {
  id: string
  name: string
  instructions: string
  model: string
  options: OwnOptions
  limits: RunLimits
  defaultLimits: RunLimits
  services: ServiceAnswer[]
  decisions: DecisionAnswer[]
  sessionCount: number
  isDefault: boolean
  isInConfig: boolean
  version: number
  updatedAt: string
}

/** What is given is changed; `version` is that of what was read. */
export interface AssistantPatch {
  version: number
  name?: string
  instructions?: string
  model?: string
  options?: OwnOptions
  limits?: RunLimits
  services?: Record<string, "on" | "ask" | "off">
}

export interface AssistantSummary {
  id: string
  name: string
  model: string
  sessionCount: number
  isDefault: boolean
  updatedAt: string
}

export interface AssistantsAnswer {
  assistants: AssistantSummary[]
}

export interface Attachment {
  contentId: string
  name: string
}

export interface CallAnswer {
  tool: string
  arguments: string
  state: "received" | "asking" | "approved" | "started" | "waiting" | "done"
  outcome: "" | "ok" | "error" | "denied" | "interrupted" | "cancelled" | "unanswered" | "answered_late"
  text: string
  data: Record<string, unknown> | null
  dataLeftOut: number
  tookMs: number | null
  view: ViewReference | null
  pauseId: string
  pause: CallPause | null
}

/** What a call has asked the person, and how that stands. */
export interface CallPause {
  id: string
  kind: "choice" | "prompt" | "wait" | "approval" | "model"
  status: "open" | "answered" | "cancelled" | "expired" | "withdrawn" | "superseded"
  settledBy: "" | "person" | "program" | "client" | "relayed" | "run"
  settledAt: string
  settler: string
  answer: string
  expiresAt: string
}

export interface ChoiceAnswer {
  value: string
  label: string
}

/** A program that called tools. Its name is what it says of itself. */
export interface ClientAnswer {
  name: string
  door: string
  calls: number
  firstAt: string
  lastAt: string
  sessions: ClientSessionAnswer[]
}

export interface ClientCallAnswer {
  seq: number
  at: string
  client: string
  tool: string
  effect: string
  arguments: string
  outcome: string
  tookMs: number
}

export interface ClientCallsAnswer {
  calls: ClientCallAnswer[]
  hasMore: boolean
}

export interface ClientCallsQuery {
  before?: number
}

export interface ClientSessionAnswer {
  id: string
  title: string
  calls: number
  lastAt: string
}

export interface ClientsAnswer {
  days: number
  clients: ClientAnswer[]
}

export interface Compacted {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/compacted"
  value: CompactedValue
}

export interface CompactedValue {
  messageId: string
  upToSeq: number
  text?: string
}

/** A content without its text. */
export interface ContentInState {
  contentId: string
  filename: string
  mimeType: string
  size: number
  lines: number
  pages: number
  uploadedAt: string
}

/** The stores of a session, its newest contents, how many there are in all, and what is being done for them. */
export interface ContentState {
  stores: StoreInState[]
  contents: ContentInState[]
  total: number
  jobs: JobInState[]
}

export interface DataAnswer {
  folder: string
  freeBytes: number
  sessionCount: number
  isOnServer: boolean
  deletionWords: string
}

export interface DataSizeAnswer {
  databaseBytes: number
  fileBytes: number
  otherBytes: number
  isCut: boolean
}

/** A tool that the person has allowed for more than one call. */
export interface DecisionAnswer {
  scope: "session" | "assistant"
  scopeId: string
  sessionTitle: string
  assistantId: string
  tool: string
  decidedAt: string
}

export interface DecisionsAnswer {
  decisions: DecisionAnswer[]
}

export interface DefaultModelBody {
  name: string
}

export interface DeleteAssistantQuery {
  version: number
}

export interface DeleteDataBody {
  words: string
}

export interface DeletedAssistantAnswer {
  successorId: string
  sessionCount: number
}

/** Of what is live: `offset` counts code points, as Python does, not UTF-16 units. */
export interface DeltaMetadata {
  runId: string
  messageNo: number
  offset: number
}

/** Nothing but that it is done. */
export type Done = Record<string, never>

export interface EntryRow {
  path: string
  kind: "file" | "folder" | "link" | "other"
  size: number
  modified: string
}

/** Why a request was not served. */
export interface ErrorAnswer {
  code: string
  message: string
  hint: string
}

export interface EventsQuery {
  after?: number
}

/** One of the last exports, with the address of the resource it is. */
export interface ExportInState {
  id: string
  uri: string
  name: string
  size: number
  madeAt: string
}

export interface ExportQuery {
  id: string
  name: string
}

export interface FileAnswer {
  path: string
  size: number
}

export interface FilePageQuery {
  path: string
  page?: number
}

export interface FileQuery {
  path: string
}

/** What a document says. */
export interface FileTextAnswer {
  text: string
  size: number
  isCut: boolean
  pageLines: number[]
}

/** A folder, and how much is in it. */
export interface FolderInState {
  path: string
  total: number
}

export interface ForgetDecisionQuery {
  scope: "session" | "assistant"
  scopeId: string
  tool: string
}

export interface ForkBody {
  messageId: string
  before?: boolean
}

export interface HelloAnswer {
  proof: string
}

export interface HelloQuery {
  nonce: string
}

/** The session that an archive has become. */
export interface ImportAnswer {
  sessionId: string
  title: string
}

export interface InboxAnswer {
  items: InboxItemAnswer[]
  settled: SettledItemAnswer[]
  next: string
}

export interface InboxChanged {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/inbox"
  value: InboxValue
}

export interface InboxItemAnswer {
  id: string
  kind: "choice" | "prompt" | "wait" | "approval" | "model"
  service: string
  type: "text" | "select" | "multiselect" | "choice" | "wait" | "approval" | "model"
  title: string
  text: string
  choices: ChoiceAnswer[]
  leftOut: number
  hint: string
  reason: string
  canDecline: boolean
  scopes: ("once" | "session" | "assistant")[]
  sessionId: string
  sessionTitle: string
  runId: string
  callId: string
  tool: string
  openedAt: string
  expiresAt: string
  asker: string
}

export interface InboxQuery {
  state?: "open" | "answered" | "over"
  after?: string
  limit?: number
}

export interface InboxValue {
  open: number
  turns: number
}

export interface Interrupt {
  id: string
  reason: "choice" | "prompt" | "wait" | "approval" | "model"
  message: string
  toolCallId: string
  expiresAt?: string
}

/** A file that is being read, or a search index that is brought up to what was added, and takes a while. */
export interface JobInState {
  jobId: string
  kind: "reading" | "indexing"
  name: string
  state: "queued" | "running" | "failed"
  startedAt: string
  error: string
  canStop: boolean
}

/** A key by its name, and where it is. Never the key. */
export interface KeyAnswer {
  name: string
  place: "environment" | "keyring" | "file" | "missing" | "none" | "unreadable"
}

export interface KeyBody {
  key: string
}

export interface LaunchAnswer {
  token: string
}

export interface LaunchBody {
  code: string
}

/** A new launch code, for a program of the same person that has the browser token. */
export interface LaunchCodeAnswer {
  code: string
}

export interface LocalServer {
  name: string
  url: string
  models: string[]
}

export interface LocalServersAnswer {
  servers: LocalServer[]
}

export interface LogAnswer {
  lines: string[]
}

export interface LogQuery {
  lines?: number
}

export interface ManualCall {
  tool: string
  arguments?: Record<string, unknown>
}

export interface MeAnswer {
  version: string
  locale: "en" | "ko"
  locales: ("en" | "ko")[]
  model: string
  isModelFixed: boolean
  models: ModelChoice[]
  assistants: AssistantAnswer[]
  assistantId: string
  dataDir: string
  contentOrigin: string
  toolCount: number
}

/** The model is asked again, because its answer cannot be used or before its run ends. */
export interface Mended {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/mend"
  value: MendedValue
}

export interface MendedValue {
  messageId: string
  reason: "cut" | "empty" | "malformed" | "finish" | "check"
  text: string
}

export interface MessageAnswer {
  id: string
  seq: number
  role: "user" | "assistant" | "tool" | "summary"
  parts: Record<string, unknown>[]
  createdAt: string
  kind: "" | "action" | "answered_late" | "stopped" | "cut" | "mend" | "check"
  model: string
  inputTokens: number | null
}

export interface MessageBody {
  text: string
  attachments?: Attachment[]
  model?: string
}

export interface MessageContinued {
  seq?: number
  at?: string
  type: "TEXT_MESSAGE_CONTENT"
  messageId: string
  delta: string
  metadata?: DeltaMetadata
}

export interface MessageEndMetadata {
  images: number
  files?: MessageFile[]
}

export interface MessageEnded {
  seq?: number
  at?: string
  type: "TEXT_MESSAGE_END"
  messageId: string
  metadata?: MessageEndMetadata
}

export interface MessageFile {
  name: string
  contentId: string
}

export interface MessageStarted {
  seq?: number
  at?: string
  type: "TEXT_MESSAGE_START"
  messageId: string
  role: "user" | "assistant"
}

export interface MessageValue {
  messageId: string
}

export interface MessagesAnswer {
  messages: MessageAnswer[]
  calls: Record<string, CallAnswer>
  notes: NoteAnswer[]
  queued: QueuedAnswer[]
  run: RunAnswer | null
  retry: RetryAnswer | null
  untold: UntoldAnswer[]
  lastSeq: number
  hasMore: boolean
}

export interface MessagesQuery {
  before?: number
  limit?: number
}

export interface ModelAnswer {
  name: string
  model: string
  provider: string
  isLocal: boolean
  windowTokens: number | null
  hasPrices: boolean
  isConfigured: boolean
  key: KeyAnswer
}

export interface ModelChoice {
  name: string
  label: string
  contextTokens: number | null
}

export interface ModelSwitched {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/model"
  value: ModelSwitchedValue
}

export interface ModelSwitchedValue {
  before: string
  model: string
  code: string
  text: string
}

export interface ModelsAnswer {
  default: string
  fixed: string
  models: ModelAnswer[]
  vendors: VendorAnswer[]
  keyPlace: "keyring" | "file" | "environment"
  keyFile: string
}

export interface NewAssistantBody {
  name: string
  copyOf?: string
}

export interface NewModelBody {
  name: string
  url?: string
  provider?: string
  model: string
  key?: string
  windowTokens?: number
}

export interface NewSessionBody {
  assistantId?: string
  locale?: "en" | "ko"
  title?: string
}

/** A body that says nothing: `{}`. */
export type NoBody = Record<string, never>

/** The state of a service that has none to show: an empty object. */
export type NoState = Record<string, never>

/** The end of a run that did not go well, or another model that took over, between messages. */
export interface NoteAnswer {
  seq: number
  note: "failed" | "cancelled" | "model"
  text: string
  code: string
  retryHelps: boolean
  at: string
}

/** Something was done beside the run, and its model is told before the next request: `madang/action` says when. */
export interface Noted {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/noted"
  value: NotedValue
}

export interface NotedValue {
  id: string
  by: string
  text: string
}

/** Whether runs of this process wait for a database that does not answer: no event can be stored meanwhile. */
export interface OutageChanged {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/outage"
  value: OutageValue
}

export interface OutageValue {
  reason: string
}

/** The options of an assistant. None leaves it to the model's configuration. */
export interface OwnOptions {
  temperature?: number
  maxOutputTokens?: number
  thinking?: "off" | "low" | "medium" | "high"
}

export interface Paused {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/pause"
  value: PausedValue
}

export interface PausedValue {
  toolCallId: string
  id: string
  kind: "choice" | "prompt" | "wait" | "approval" | "model"
  view?: ViewReference
  pause?: CallPause
}

/** What is in the inbox: at connect, and when it changes. */
export interface PausesChanged {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/pauses"
  value: PausesValue
}

/** What is open in the inbox: a reader that knows all of these has nothing to ask for. */
export interface PausesValue {
  ids: string[]
  items: InboxItemAnswer[]
}

/** A plan as panels show it: with the time of each observation. */
export interface PlanInState {
  goal: string
  lastClearedGoal: string
  todos: Todo[]
  observations: string[]
  observedAt: string[]
}

/** A stored playbook. */
export interface Playbook {
  id: string
  agentId: string
  goal: string
  initialCommand: string
  workflow: Step[]
  successCriteria: SuccessCriteria
  createdAt: string
  updatedAt: string
  version: number
}

/** A playbook without its steps; long texts are cut. */
export interface PlaybookInState {
  id: string
  goal: string
  initialCommand: string
  steps: number
  version: number
  updatedAt: string
  lastRunAt: string
}

/** The playbooks that changed last, how many there are, and the last selection; None if none was selected. */
export interface PlaybookState {
  total: number
  playbooks: PlaybookInState[]
  lastRun: Selection | null
  selected: Playbook | null
  selectedRuns: number
  runs: Selection[]
}

/** The run that was started, or the message that waits for the run that is not over. */
export interface PostAnswer {
  runId: string
  queuedId: string
}

/** A question, from being asked to being settled. Its status changes once: from pending to one of the others. */
export interface Question {
  messageId: string
  type: "text" | "select" | "multiselect"
  prompt: string
  options: string[]
  placeholder: string
  status: "pending" | "answered" | "cancelled" | "expired" | "withdrawn"
  answer: unknown
  createdAt: string
  expiresAt: string
  settledAt: string
  by: "" | "person" | "program" | "client" | "relayed" | "run"
}

export interface Queued {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/queued"
  value: TextValue
}

export interface QueuedAnswer {
  id: string
  text: string
  createdAt: string
}

export interface ReasoningContinued {
  seq?: number
  at?: string
  type: "REASONING_MESSAGE_CONTENT"
  messageId: string
  delta: string
  metadata?: DeltaMetadata
}

export interface ReasoningEndMetadata {
  tookMs: number
}

export interface ReasoningEnded {
  seq?: number
  at?: string
  type: "REASONING_MESSAGE_END"
  messageId: string
  metadata?: ReasoningEndMetadata
}

export interface ReasoningStarted {
  seq?: number
  at?: string
  type: "REASONING_MESSAGE_START"
  messageId: string
  role: "reasoning"
}

export interface ReportAnswer {
  text: string
}

/** Requests that left this computer, by host. */
export interface RequestsAnswer {
  days: number
  hosts: RequestsByHost[]
}

export interface RequestsByHost {
  host: string
  purpose: string
  count: number
  lastAt: string
}

export interface ResultMetadata {
  outcome: "" | "ok" | "error" | "denied" | "interrupted" | "cancelled" | "unanswered" | "answered_late"
  tookMs?: number
  data?: Record<string, unknown>
  dataLeftOut?: number
  images?: number
  view?: ViewReference
  pause?: CallPause
}

/** The model has the results of a turn, all in one message. */
export interface ResultsGiven {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/results"
  value: MessageValue
}

/** The last event of a stream that ends. */
export interface Resync {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/resync"
  value: ResyncValue
}

export interface ResyncValue {
  reason: "slow" | "stopping" | "gap" | "beyond"
}

export interface Retried {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/retry"
  value: RetriedValue
}

export interface RetriedValue {
  attempt: number
  afterS: number
  code: string
}

/** The model's server is asked again. */
export interface RetryAnswer {
  attempt: number
  code: string
}

export interface RunAnswer {
  id: string
  state: "running" | "waiting" | "finished" | "failed" | "cancelled"
}

export interface RunCancelled {
  type: "cancelled"
  withdrawn?: string[]
}

/**
 * `interrupted`: the process that ran it ended, and another goes on with it. `incomplete`: its model stopped
 * without an answer that can be used, also when it was asked again.
 */
export interface RunFailed {
  seq?: number
  at?: string
  type: "RUN_ERROR"
  message: string
  code: string
  retryHelps?: boolean
}

export interface RunFinished {
  seq?: number
  at?: string
  type: "RUN_FINISHED"
  threadId: string
  runId: string
  outcome: RunSucceeded | RunCancelled | RunInterrupted
}

/** It waits for the person. */
export interface RunInterrupted {
  type: "interrupt"
  interrupts: Interrupt[]
}

/** The limits of one run. None is no limit. */
export interface RunLimits {
  turns?: number
  calls?: number
  tokens?: number
  cost?: number
  unattendedMinutes?: number
}

export interface RunStarted {
  seq?: number
  at?: string
  type: "RUN_STARTED"
  threadId: string
  runId: string
  parentRunId?: string
}

export interface RunSucceeded {
  type: "success"
}

/** Which runs of the person are running: at connect, and when it changes. */
export interface RunsChanged {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/runs"
  value: RunsValue
}

export interface RunsValue {
  runs: WorkingRun[]
}

export interface SavedKeyAnswer {
  key: KeyAnswer
  message: string
}

/** One selection of a playbook for execution. */
export interface Selection {
  id: string
  playbookId: string
  goal: string
  version: number
  sessionId: string
  selectedAt: string
}

/** A service as it is set for one assistant. */
export interface ServiceAnswer {
  name: string
  title: string
  description: string
  mode: "on" | "ask" | "off"
  status: "loading" | "ready" | "error"
  toolCount: number
  tokens: number
  runsCode: boolean
  reachesOut: boolean
}

/** The whole state of a service that changed, as an operation of JSON Patch. */
export interface ServiceChange {
  op: "add"
  path: string
  value: Record<string, unknown>
}

export interface ServiceStateAnswer {
  name: string
  title: string
  description: string
  stateSchema: Record<string, unknown>
}

export interface ServiceStatesAnswer {
  services: ServiceStateAnswer[]
}

export interface SessionAnswer {
  id: string
  title: string
  assistantId: string
  locale: "en" | "ko" | null
  parentId: string
  createdAt: string
  lastAt: string
  lastSeq: number
  isPinned: boolean
  isArchived: boolean
  run: RunAnswer | null
  openPauses: number
  client: string
}

/** A message that has the words of a query. */
export interface SessionHit {
  sessionId: string
  messageId: string
  kind: "said" | "returned"
  excerpt: string
}

/** What is given is changed. */
export interface SessionPatch {
  title?: string
  isArchived?: boolean
  isPinned?: boolean
  locale?: "en" | "ko"
}

export interface SessionSize {
  sessionId: string
  messages: number
  calls: number
}

export interface SessionsAnswer {
  sessions: SessionAnswer[]
  next: string
  hits: SessionHit[]
  hasMoreHits: boolean
  sizes: SessionSize[]
}

export interface SessionsChanged {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/sessions"
  value: SessionsValue
}

export interface SessionsQuery {
  query?: string
  archived?: number
  assistant?: string
  session?: string
  sized?: number
  after?: string
  limit?: number
}

/** What has changed in the list of sessions: a reader that knows the list puts it in, and asks for nothing. */
export interface SessionsValue {
  sessions: SessionAnswer[]
  gone: string[]
  isIncomplete: boolean
}

export interface SettleAnswer {
  id: string
  status: "open" | "answered" | "cancelled" | "expired" | "withdrawn" | "superseded"
  text: string
}

/** Exactly one of these; `scope` goes with `allow`, `text` may go with `calls`. */
export interface SettleBody {
  answer?: string | string[]
  decline?: boolean
  allow?: boolean
  scope?: "once" | "session" | "assistant"
  say?: string
  calls?: ManualCall[]
}

/** What was asked and is over. */
export interface SettledItemAnswer {
  id: string
  kind: "choice" | "prompt" | "wait" | "approval" | "model"
  title: string
  sessionId: string
  sessionTitle: string
  tool: string
  openedAt: string
  asker: string
  status: "open" | "answered" | "cancelled" | "expired" | "withdrawn" | "superseded"
  settledAt: string
  settledBy: "" | "person" | "program" | "client" | "relayed" | "run"
  settler: string
  answer: string
}

export interface StateDelta {
  seq?: number
  at?: string
  type: "STATE_DELTA"
  delta: ServiceChange[]
}

export interface StateRowsAnswer {
  rows: Record<string, unknown>[]
  total: number
}

export interface StateRowsQuery {
  under?: string
  page?: number
  pageSize?: number
}

export interface StateServices {
  services: Record<string, unknown>
}

/** The state of every service, at the beginning of a stream. */
export interface StateSnapshot {
  seq?: number
  at?: string
  type: "STATE_SNAPSHOT"
  snapshot: StateServices
}

/** A step of a stored playbook: it has an id. */
export interface Step {
  description: string
  stepId: string
  action: Action
  requiredData: string[]
  outputVariable: string
}

export interface StopAnswer {
  stopped: boolean
}

/** The end of an answer that the person stopped: half of one. */
export interface Stopped {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/stopped"
  value: MessageValue
}

/** A store, and how many contents it has. */
export interface StoreInState {
  storeId: string
  name: string
  contents: number
}

/** Whatever is on a stream. */
export type StreamEvent =
  | RunStarted
  | RunFinished
  | RunFailed
  | MessageStarted
  | MessageContinued
  | MessageEnded
  | ReasoningStarted
  | ReasoningContinued
  | ReasoningEnded
  | ToolStarted
  | ArgumentsContinued
  | ArgumentsEnded
  | ToolFinished
  | Answered
  | Stopped
  | Mended
  | ResultsGiven
  | Queued
  | Withdrawn
  | Noted
  | Acted
  | Paused
  | AnsweredLate
  | Retried
  | ModelSwitched
  | Compacted
  | StateSnapshot
  | StateDelta
  | InboxChanged
  | PausesChanged
  | SessionsChanged
  | RunsChanged
  | OutageChanged
  | Resync

/** How to tell that the goal is reached. */
export interface SuccessCriteria {
  description: string
  requiredArtifacts: string[]
}

export interface TextValue {
  messageId: string
  text: string
}

/** One thing to do. */
export interface Todo {
  id: number
  name: string
  status: "pending" | "completed"
  summary: string
}

export interface ToolAnswer {
  name: string
  title: string
  description: string
  service: string
  effect: "read" | "write" | "destroy"
  audience: "model" | "person" | "panel"
  showsPage: boolean
  inputSchema: Record<string, unknown>
}

export interface ToolCallAnswer {
  text: string
  data: Record<string, unknown>
  isError: boolean
  tookMs: number
  view: ViewReference | null
  pauseId: string
}

export interface ToolCallBody {
  arguments?: Record<string, unknown>
}

export interface ToolFinished {
  seq?: number
  at?: string
  type: "TOOL_CALL_RESULT"
  messageId: string
  toolCallId: string
  content: string
  role: "tool"
  metadata: ResultMetadata
}

export interface ToolStarted {
  seq?: number
  at?: string
  type: "TOOL_CALL_START"
  toolCallId: string
  toolCallName: string
  parentMessageId: string
}

export interface ToolsAnswer {
  tools: ToolAnswer[]
}

/** What came of asking a model for a word. That it failed is an answer too. */
export interface TryModelAnswer {
  isOk: boolean
  text: string
  tookMs: number
  message: string
  hint: string
}

export interface TryModelBody {
  name: string
}

export interface TurnAnswer {
  runId: string
  callIds: string[]
}

/** The turn of the model where the person is it: calls, a text, or both. Without a call the run ends after it. */
export interface TurnBody {
  say?: string
  calls?: ManualCall[]
}

/** What a session wants from the person, and what they answered lately, newest first. */
export interface UiState {
  pendingPrompts: Question[]
  openWaits: Wait[]
  recentAnswers: (Question | Wait)[]
}

/** What was done beside the run, and the model is told before its next request. */
export interface UntoldAnswer {
  id: string
  by: string
  text: string
}

export interface UploadAnswer {
  contentId: string
  name: string
  size: number
}

export interface UploadQuery {
  name: string
}

export interface VendorAnswer {
  name: string
  title: string
  url: string
  isInstalled: boolean
  extra: string
  key: KeyAnswer
}

export interface ViewAnswer {
  id: string
  uri: string
  html: string
  tool: string
  service: string
  server: string
  mayRunScripts: boolean
  sessionId: string
  toolInput: Record<string, unknown>
  toolResult: Record<string, unknown>
  pause: ViewPause | null
}

export interface ViewCallAnswer {
  result: Record<string, unknown>
}

export interface ViewCallBody {
  name: string
  arguments?: Record<string, unknown>
}

export interface ViewPause {
  id: string
  status: "open" | "answered" | "cancelled" | "expired" | "withdrawn" | "superseded"
  settledBy: "" | "person" | "program" | "client" | "relayed" | "run"
  settledAt: string
  settler: string
  answer: string
}

export interface ViewReadAnswer {
  contents: Record<string, unknown>[]
}

export interface ViewReadBody {
  uri: string
}

export interface ViewReference {
  id: string
  uri: string
}

/** A stop until the person says to continue. */
export interface Wait {
  waitId: string
  message: string
  resumeInstruction: string
  status: "waiting" | "resumed" | "expired" | "withdrawn"
  createdAt: string
  expiresAt: string
  resumedAt: string
  elapsedS: number
  by: "" | "person" | "program" | "client" | "relayed" | "run"
}

export interface Withdrawn {
  seq?: number
  at?: string
  type: "CUSTOM"
  name: "madang/withdrawn"
  value: MessageValue
}

/** A run that is running, in whatever process. */
export interface WorkingRun {
  id: string
  sessionId: string
  title: string
  startedAt: string
  isElsewhere: boolean
}

/** How many files a session has, those that changed last, and its last exports, both newest first. */
export interface WorkspaceState {
  folder: string
  isFolderMissing: boolean
  files: number
  newest: EntryRow[]
  entries: EntryRow[]
  folders: FolderInState[]
  exports: ExportInState[]
  exportCount: number
}

/** What each service tells of its state, by its name. */
export interface ServiceStates {
  playbook: PlaybookState
  planning: PlanInState
  ui: UiState
  chart: NoState
  content: ContentState
  workspace: WorkspaceState
}
