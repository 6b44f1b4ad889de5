/** The plan: goal, todos and log, as the model has them; ticked, renamed, moved and added to by the person. */

import { useLayoutEffect, useRef, useState, type DragEvent, type KeyboardEvent, type ReactNode } from "react"

import { notify } from "../../services/app.ts"
import { act, useMounted } from "../../services/panels.ts"
import type { PlanInState, Todo } from "../../wire/types.ts"
import { Icon } from "../icons.tsx"
import { useLocale } from "../language.tsx"
import type { PanelProps } from "./props.ts"
import { EmptyPanel, failureOf, LineForm, ListEnd, NoState, RowMenu } from "./parts.tsx"
import { formatMoment, type PanelSay } from "./words.ts"

const MAX_GOAL_CHARS = 2_000
const MAX_TODO_CHARS = 1_000

export function PlanPanel({ sessionId, talk, say, untold }: PanelProps & { untold: ReactNode }) {
  const plan = talk.services.planning
  if (plan === undefined || failureOf(plan) !== "") return <NoState state={plan} say={say} />
  // Not where the person is the model: it is their turn then, and nobody has asked anything.
  const isAsked = Object.values(talk.calls).some(({ isRunning, pauseId }) => isRunning && pauseId !== "")
  const isWaiting = talk.run.state === "waiting" && isAsked
  const mine = changedByMe(talk.untold)
  return <Plan sessionId={sessionId} plan={plan} mine={mine} isWaiting={isWaiting} untold={untold} say={say} />
}

type Mine = ReadonlyMap<number, "addedByMe" | "changedByMe">

/** Todos that the person changed and the model was not told of. The tools' own words name them, in either language. */
function changedByMe(untold: PanelProps["talk"]["untold"]): Mine {
  const mine = new Map<number, "addedByMe" | "changedByMe">()
  for (const { by, text } of untold) {
    const match = /^\[(add_todo|mark_todo|update_todo)\].*?\bID:(\d+)/.exec(text)
    if (by !== "person" || match === null) continue
    const id = Number(match[2])
    if (mine.get(id) !== "addedByMe") mine.set(id, match[1] === "add_todo" ? "addedByMe" : "changedByMe")
  }
  return mine
}

interface PlanProps {
  sessionId: string
  plan: PlanInState
  mine: Mine
  /** The agent waits for the person: what it is at, it cannot go on with. */
  isWaiting: boolean
  untold: ReactNode
  say: PanelSay
}

function Plan({ sessionId, plan, mine, isWaiting, untold, say }: PlanProps) {
  const [isAdding, setAdding] = useState(false)
  const [isNoting, setNoting] = useState(false)
  const { todos, observations } = plan
  const isEmpty = plan.goal === "" && todos.length === 0 && observations.length === 0
  const add = async (name: string) => (await act(sessionId, "add_todo", { name })) !== undefined
  return (
    <>
      <Goal sessionId={sessionId} plan={plan} isEmpty={isEmpty} say={say} />
      <h2 className="sec">
        {say("todos")}
        <button type="button" className="ib end" aria-label={say("addTodo")} onClick={() => setAdding(true)}>
          <Icon name="plus" />
        </button>
      </h2>
      <Todos sessionId={sessionId} todos={todos} mine={mine} isWaiting={isWaiting} say={say} />
      {isAdding && (
        <LineForm
          label={say("newTodo")}
          button={say("add")}
          cancel={say("cancel")}
          maxLength={MAX_TODO_CHARS}
          onSave={add}
          onCancel={() => setAdding(false)}
        />
      )}
      {untold}
      <h2 className="sec">
        {say("log")}
        <button type="button" className="ib end" aria-label={say("addNote")} onClick={() => setNoting(true)}>
          <Icon name="plus" />
        </button>
      </h2>
      {observations.length > 0 && (
        <ol className="log">
          {observations.map((observation, index) => (
            <li key={index}>
              <Moment at={plan.observedAt[index] ?? ""} />
              {observation}
            </li>
          ))}
        </ol>
      )}
      {isNoting && (
        <LineForm
          label={say("newNote")}
          button={say("add")}
          cancel={say("cancel")}
          maxLength={MAX_GOAL_CHARS}
          onSave={(observation) => {
            setNoting(false)
            void act(sessionId, "add_observation", { observation })
          }}
          onCancel={() => setNoting(false)}
        />
      )}
    </>
  )
}

/** When something was noted; nothing where that is not known. */
function Moment({ at }: { at: string }) {
  const locale = useLocale()
  if (at === "") return null
  return <time dateTime={at}>{formatMoment(at, locale)}</time>
}

function Goal({
  sessionId,
  plan,
  isEmpty,
  say,
}: {
  sessionId: string
  plan: PlanInState
  isEmpty: boolean
  say: PanelSay
}) {
  const [isEditing, setEditing] = useState(false)
  const done = plan.todos.filter(({ status }) => status === "completed").length
  const total = plan.todos.length
  if (isEditing)
    return (
      <div className="goal">
        <LineForm
          label={say("goal")}
          value={plan.goal}
          button={say("save")}
          cancel={say("cancel")}
          maxLength={MAX_GOAL_CHARS}
          onSave={(goal) => {
            setEditing(false)
            if (goal !== plan.goal) void act(sessionId, "create_goal", { goal })
          }}
          onCancel={() => setEditing(false)}
        />
        {plan.goal !== "" && (
          <button
            type="button"
            className="btn quiet no"
            onClick={() => {
              setEditing(false)
              void act(sessionId, "clear_goal", {})
            }}
          >
            {say("clearGoal")}
          </button>
        )}
      </div>
    )
  if (plan.goal === "" && isEmpty)
    return (
      <EmptyPanel icon="goal" title={say("noGoal")} hint={say("noGoalHint")}>
        <button type="button" className="btn" onClick={() => setEditing(true)}>
          <Icon name="plus" small />
          {say("setGoal")}
        </button>
      </EmptyPanel>
    )
  return (
    <div className="goal">
      <div className="row">
        <span className="label grow xs soft">{say("goal")}</span>
        <button
          type="button"
          className="ib"
          aria-label={say("editGoal")}
          title={say("editGoal")}
          onClick={() => setEditing(true)}
        >
          <Icon name="edit" />
        </button>
      </div>
      <h2 className={plan.goal === "" ? "soft" : ""}>{plan.goal || say("noGoal")}</h2>
      {plan.lastClearedGoal !== "" && (
        <p className="xs soft cut">{say("previousGoal", { goal: plan.lastClearedGoal })}</p>
      )}
      {total > 0 && (
        <div className="row xs soft num">
          <div
            className="bar ok grow"
            role="progressbar"
            aria-label={say("doneOf", { done, total })}
            aria-valuenow={done}
            aria-valuemin={0}
            aria-valuemax={total}
          >
            <i style={{ width: `${(100 * done) / total}%` }} />
          </div>
          {done} / {total}
        </div>
      )}
    </div>
  )
}

interface TodosProps {
  sessionId: string
  todos: readonly Todo[]
  mine: Mine
  isWaiting: boolean
  say: PanelSay
}

function Todos({ sessionId, todos, mine, isWaiting, say }: TodosProps) {
  const { mounted, end, mountMore } = useMounted(todos.length)
  const list = useRef<HTMLUListElement>(null)
  /** The one that is being moved by keys: whatever the list does with its rows, the focus goes with it. */
  const moved = useRef<number | null>(null)
  useLayoutEffect(() => {
    if (moved.current === null) return
    list.current?.querySelector<HTMLElement>(`[data-todo="${moved.current}"] .box`)?.focus()
    moved.current = null
  }, [todos])
  const [dragged, setDragged] = useState<number | null>(null)
  const current = todos.find(({ status }) => status === "pending")?.id
  const move = async (todo: Todo, position: number) => {
    if (position < 1 || position > todos.length) return
    const outcome = await act(sessionId, "update_todo", { id: todo.id, position })
    if (outcome) notify(say("todoMoved", { name: todo.name, place: position }))
  }
  const onDrop = (event: DragEvent, position: number) => {
    event.preventDefault()
    const todo = todos.find(({ id }) => id === dragged)
    setDragged(null)
    if (todo) void move(todo, position)
  }
  if (todos.length === 0) return null
  return (
    <ul className="todos" aria-label={say("todos")} ref={list}>
      {todos.slice(0, mounted).map((todo, index) => (
        <TodoRow
          key={todo.id}
          sessionId={sessionId}
          todo={todo}
          place={index + 1}
          count={todos.length}
          isCurrent={todo.id === current}
          isWaiting={isWaiting && todo.id === current}
          mark={mine.get(todo.id)}
          say={say}
          onMove={(position) => {
            moved.current = todo.id
            void move(todo, position)
          }}
          onDragStart={() => setDragged(todo.id)}
          onDrop={(event) => onDrop(event, index + 1)}
        />
      ))}
      {mounted < todos.length && (
        <li ref={end}>
          <ListEnd left={todos.length - mounted} say={say} onMore={mountMore} />
        </li>
      )}
    </ul>
  )
}

interface TodoRowProps {
  sessionId: string
  todo: Todo
  place: number
  count: number
  isCurrent: boolean
  isWaiting: boolean
  mark: "addedByMe" | "changedByMe" | undefined
  say: PanelSay
  onMove: (position: number) => void
  onDragStart: () => void
  onDrop: (event: DragEvent) => void
}

function TodoRow(props: TodoRowProps) {
  const { sessionId, todo, place, count, isCurrent, isWaiting, mark, say, onMove, onDragStart, onDrop } = props
  const [isRenaming, setRenaming] = useState(false)
  const [wasRenamed, setRenamed] = useState(false)
  const endRenaming = () => {
    setRenaming(false)
    setRenamed(true)
  }
  const isDone = todo.status === "completed"
  const onKeyDown = (event: KeyboardEvent) => {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return
    event.preventDefault()
    event.stopPropagation() // above the panel it changes the session
    event.nativeEvent.stopImmediatePropagation()
    onMove(place + (event.key === "ArrowUp" ? -1 : 1))
  }
  if (isRenaming)
    return (
      <li>
        <LineForm
          label={say("rename")}
          value={todo.name}
          button={say("save")}
          cancel={say("cancel")}
          maxLength={MAX_TODO_CHARS}
          onSave={(name) => {
            endRenaming()
            if (name !== todo.name) void act(sessionId, "update_todo", { id: todo.id, name })
          }}
          onCancel={endRenaming}
        />
      </li>
    )
  return (
    <li
      data-todo={todo.id}
      className={`todo ${isDone ? "done" : ""} ${isCurrent ? "now" : ""}`}
      draggable
      onDragStart={onDragStart}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      onKeyDown={onKeyDown}
    >
      <button
        type="button"
        className="box"
        role="checkbox"
        aria-checked={isDone}
        aria-label={todo.name}
        autoFocus={wasRenamed}
        onClick={() => void act(sessionId, "mark_todo", { id: todo.id, completed: !isDone })}
      >
        {isDone && <Icon name="tick" />}
      </button>
      <span className="grow">
        <span className="name">{todo.name}</span>
        {todo.summary !== "" && <span className="sum">{todo.summary}</span>}
        {isWaiting && todo.summary === "" && <span className="sum">{say("waitsForAnswer")}</span>}
      </span>
      {isWaiting && <span className="dot wait" />}
      {mark && <span className="chip on">{say(mark)}</span>}
      <RowMenu
        label={say("moreOf", { name: todo.name })}
        actions={[
          { id: "rename", title: say("rename"), act: () => setRenaming(true) },
          ...(place > 1 ? [{ id: "up", title: say("moveUp"), act: () => onMove(place - 1) }] : []),
          ...(place < count ? [{ id: "down", title: say("moveDown"), act: () => onMove(place + 1) }] : []),
          {
            id: "remove",
            title: say("remove"),
            isBad: true,
            act: () => void act(sessionId, "clear_todos", { ids: [todo.id] }),
          },
        ]}
      />
    </li>
  )
}
