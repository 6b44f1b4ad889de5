/** The playbooks of the assistant: browsed, searched, run, edited, and when each was run. */

import { useEffect, useState } from "react"

import { app, notify, refreshSoon, report } from "../../services/app.ts"
import { isManual } from "../../core/choices.ts"
import { act, useMounted, useRows } from "../../services/panels.ts"
import { findSession } from "../../core/sessions.ts"
import { stepStates, type StepState } from "../../core/steps.ts"
import { useStore } from "../../services/store.ts"
import type { Talk } from "../../core/talk.ts"
import { listStateRows, sendMessage } from "../../services/api.ts"
import type { Playbook, PlaybookInState, PlaybookState, Selection } from "../../wire/types.ts"
import { Icon } from "../icons.tsx"
import { formatTime, useLocale } from "../language.tsx"
import type { PanelProps } from "./props.ts"
import { EmptyPanel, failureOf, ListEnd, NoState, RowMenu, Search } from "./parts.tsx"
import { PlaybookForm } from "./PlaybookForm.tsx"
import { formatMoment, type PanelSay } from "./words.ts"

const PAGE_SIZE = 50
const HISTORY_ROWS = 50

type Screen = { name: "list" } | { name: "new" } | { name: "edit" | "history"; id: string; goal: string }

export function PlaybooksPanel({ sessionId, talk, say }: PanelProps) {
  const route = useStore(app, ({ route }) => route)
  const wanted = route.screen === "chat" && route.sessionId === sessionId ? (route.playbook ?? "") : ""
  const [screen, setScreen] = useState<Screen>({ name: "list" })
  useEffect(() => {
    if (wanted !== "") setScreen({ name: "edit", id: wanted, goal: "" })
  }, [wanted])
  const state = talk.services.playbook
  if (state === undefined || failureOf(state) !== "") return <NoState state={state} say={say} />
  const toList = () => setScreen({ name: "list" })
  switch (screen.name) {
    case "new":
      return <PlaybookForm sessionId={sessionId} say={say} onClose={toList} />
    case "edit":
      return <EditPlaybook sessionId={sessionId} id={screen.id} say={say} onClose={toList} />
    case "history":
      return (
        <History sessionId={sessionId} id={screen.id} goal={screen.goal} state={state} say={say} onClose={toList} />
      )
    case "list":
      return <PlaybookList sessionId={sessionId} talk={talk} state={state} say={say} onScreen={setScreen} />
  }
}

interface ListProps {
  sessionId: string
  talk: Talk
  state: PlaybookState
  say: PanelSay
  onScreen: (screen: Screen) => void
}

function PlaybookList({ sessionId, talk, state, say, onScreen }: ListProps) {
  const [query, setQuery] = useState("")
  const [found, setFound] = useState<readonly PlaybookInState[] | null>(null)
  const { rows, total, loadMore } = useRows<PlaybookInState>({
    sessionId,
    service: "playbook",
    list: "playbooks",
    first: { rows: state.playbooks, total: state.total },
    pageSize: PAGE_SIZE,
    state,
  })

  // A search is the person's own call; it is made again when the playbooks have changed.
  useEffect(() => {
    if (query === "") return setFound(null)
    let isStale = false
    void act(sessionId, "list_playbooks", { query, page: 1, pageSize: PAGE_SIZE }).then((outcome) => {
      if (isStale || outcome === undefined) return
      const page = outcome.data["page"] as { items: Omit<PlaybookInState, "lastRunAt">[] }
      setFound(page.items.map((item) => ({ ...item, lastRunAt: "" })))
    })
    return () => {
      isStale = true
    }
  }, [sessionId, query, state])

  const shown = found ?? rows
  const { mounted, end } = useMounted(shown.length)
  if (state.total === 0)
    return (
      <EmptyPanel icon="book" title={say("noPlaybooks")} hint={say("noPlaybooksHint")}>
        <button type="button" className="btn" onClick={() => onScreen({ name: "new" })}>
          <Icon name="plus" small />
          {say("newPlaybook")}
        </button>
      </EmptyPanel>
    )
  return (
    <>
      <div className="row panel-tools">
        <Search label={say("findPlaybook")} clearLabel={say("clearSearch")} query={query} onSearch={setQuery} />
        <button type="button" className="btn" onClick={() => onScreen({ name: "new" })}>
          <Icon name="plus" small />
          {say("makePlaybook")}
        </button>
      </div>
      {state.selected !== null && query === "" && (
        <Selected playbook={state.selected} state={state} talk={talk} say={say} onScreen={onScreen} />
      )}
      {shown.length === 0 ? (
        <p className="hint">{say("nothingFound", { query })}</p>
      ) : (
        <ul className="card list" aria-label={say("playbooks")}>
          {shown.slice(0, mounted).map((playbook) => (
            <PlaybookRow key={playbook.id} sessionId={sessionId} playbook={playbook} say={say} onScreen={onScreen} />
          ))}
          {mounted < shown.length && <li ref={end} />}
        </ul>
      )}
      {found === null && mounted >= rows.length && rows.length < total && (
        <ListEnd left={total - rows.length} say={say} onMore={loadMore} />
      )}
    </>
  )
}

interface SelectedProps {
  playbook: Playbook
  state: PlaybookState
  talk: Talk
  say: PanelSay
  onScreen: (screen: Screen) => void
}

/** What this session selected last, as far as the plan tells how far it is. */
function Selected({ playbook, state, talk, say, onScreen }: SelectedProps) {
  const locale = useLocale()
  const { description, requiredArtifacts } = playbook.successCriteria
  const criteria = [description, ...requiredArtifacts].filter(Boolean).join(" · ")
  const { id, goal } = playbook
  const selectedAt = state.lastRun?.selectedAt ?? ""
  const steps = stepStates(
    playbook.workflow.map((step) => step.description),
    talk.services.planning?.todos ?? [],
  )
  return (
    <div className="card selected-playbook">
      <div className="row">
        <h3 className="grow">{goal}</h3>
        <SelectedChip steps={steps} run={talk.run.state} say={say} />
      </div>
      {playbook.initialCommand !== "" && <p className="small soft">{playbook.initialCommand}</p>}
      <ol className="small steps">
        {playbook.workflow.map((step, index) => (
          <StepRow
            key={step.stepId}
            number={index + 1}
            text={step.description}
            output={step.outputVariable}
            state={steps?.[index] ?? "open"}
            isRunning={talk.run.state === "running"}
            say={say}
          />
        ))}
      </ol>
      {criteria !== "" && <p className="hint">{say("whenDone", { criteria })}</p>}
      {selectedAt !== "" && (
        <p className="hint num">
          {say("chosenAt", { time: formatMoment(selectedAt, locale) })}
          {steps === null && playbook.workflow.length > 0 && ` · ${say("progressUnknown")}`}
        </p>
      )}
      <div className="row">
        <button type="button" className="btn" onClick={() => onScreen({ name: "edit", id, goal })}>
          <Icon name="edit" small />
          {say("edit")}
        </button>
        <button type="button" className="btn quiet" onClick={() => onScreen({ name: "history", id, goal })}>
          <Icon name="history" small />
          {say("historyOf", { count: state.selectedRuns })}
        </button>
      </div>
    </div>
  )
}

function SelectedChip({ steps, run, say }: { steps: StepState[] | null; run: Talk["run"]["state"]; say: PanelSay }) {
  if (steps?.every((state) => state === "done")) return <span className="chip ok">{say("playbookFinished")}</span>
  if (run === "running") return <span className="chip on">{say("playbookRuns")}</span>
  if (run === "waiting") return <span className="chip wait">{say("yourTurn")}</span>
  return <span className="chip on">{say("selectedPlaybook")}</span>
}

interface StepProps {
  number: number
  text: string
  output: string
  state: StepState
  isRunning: boolean
  say: PanelSay
}

function StepRow({ number, text, output, state, isRunning, say }: StepProps) {
  const isNow = state === "now"
  return (
    <li className={`row ${state === "open" ? "soft" : ""}`} {...(isNow && { "aria-current": "step" })}>
      {state === "done" ? (
        <span className="tick" role="img" aria-label={say("stepDone")}>
          <Icon name="tick" small />
        </span>
      ) : isNow && isRunning ? (
        <span className="spin" role="img" aria-label={say("stepNow")} />
      ) : (
        <span className="num soft">{number}</span>
      )}
      {isNow ? <b className="grow">{text}</b> : <span className="grow">{text}</span>}
      {output !== "" && <code className="xs soft">{output}</code>}
    </li>
  )
}

interface RowProps {
  sessionId: string
  playbook: PlaybookInState
  say: PanelSay
  onScreen: (screen: Screen) => void
}

function PlaybookRow({ sessionId, playbook, say, onScreen }: RowProps) {
  const locale = useLocale()
  const { id, goal } = playbook
  const last = playbook.lastRunAt
  const remove = async () => {
    const outcome = await act(sessionId, "delete_playbook", { id })
    if (outcome)
      notify(say("playbookDeleted", { goal }), { undo: () => void act(sessionId, "restore_playbook", { id }) })
  }
  return (
    <li className="item">
      <div className="grow">
        <h3>{goal}</h3>
        <div className="meta num">
          {say("stepCount", { count: playbook.steps })} · {formatTime(playbook.updatedAt, locale)} ·{" "}
          {last === "" ? say("neverRun") : say("lastRun", { time: formatTime(last, locale) })}
        </div>
      </div>
      <button
        type="button"
        className="ib"
        aria-label={`${say("run")}: ${goal}`}
        title={say("run")}
        onClick={() => void runPlaybook(sessionId, playbook, say)}
      >
        <Icon name="play" />
      </button>
      <RowMenu
        label={say("moreOf", { name: goal })}
        actions={[
          { id: "edit", title: say("edit"), act: () => onScreen({ name: "edit", id, goal }) },
          { id: "history", title: say("history"), act: () => onScreen({ name: "history", id, goal }) },
          { id: "remove", title: say("remove"), isBad: true, act: () => void remove() },
        ]}
      />
    </li>
  )
}

/** With a model it is asked to; without one the person is the model, and selects it. */
async function runPlaybook(sessionId: string, { id, goal }: PlaybookInState, say: PanelSay): Promise<void> {
  const shared = app.get()
  if (shared.me === null || isManual(shared.me, findSession(shared, sessionId)))
    return void (await act(sessionId, "select_playbook", { id }))
  try {
    await sendMessage(sessionId, { text: say("runMessage", { goal, id }) })
    refreshSoon()
  } catch (error) {
    report(error)
  }
}

function EditPlaybook({
  sessionId,
  id,
  say,
  onClose,
}: {
  sessionId: string
  id: string
  say: PanelSay
  onClose: () => void
}) {
  const [playbook, setPlaybook] = useState<Playbook | null>(null)
  useEffect(() => {
    listStateRows<Playbook>(sessionId, "playbook", "selected", { under: id, page: 1, pageSize: 1 }).then(
      ({ rows }) => setPlaybook(rows[0] ?? null),
      report,
    )
  }, [sessionId, id])
  if (playbook === null) return <NoState state={undefined} say={say} />
  return <PlaybookForm sessionId={sessionId} playbook={playbook} say={say} onClose={onClose} />
}

interface HistoryProps {
  sessionId: string
  id: string
  goal: string
  state: PlaybookState
  say: PanelSay
  onClose: () => void
}

function History({ sessionId, id, goal, state, say, onClose }: HistoryProps) {
  const locale = useLocale()
  const { rows, total, isLoading, loadMore } = useRows<Selection>({
    sessionId,
    service: "playbook",
    list: "runs",
    under: id,
    pageSize: HISTORY_ROWS,
    state,
  })
  return (
    <>
      <div className="row panel-tools">
        <button type="button" className="ib" aria-label={say("back")} onClick={onClose} autoFocus>
          <Icon name="back" />
        </button>
        <h2 className="grow cut">{goal}</h2>
      </div>
      {rows.length === 0 && !isLoading && <p className="hint">{say("noHistory")}</p>}
      <ol className="log">
        {rows.map((run) => (
          <li key={run.id}>
            <time dateTime={run.selectedAt}>{formatMoment(run.selectedAt, locale)}</time>
            {say("version", { version: run.version })}
            {run.sessionId === sessionId && <span className="soft"> · {say("thisSession")}</span>}
          </li>
        ))}
      </ol>
      {rows.length < total && <ListEnd left={total - rows.length} say={say} onMore={loadMore} />}
    </>
  )
}
