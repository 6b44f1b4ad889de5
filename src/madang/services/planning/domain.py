"""What a plan is and how it changes. Pure: every change returns a new plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from madang.core.documents import NOT_BLANK, Document
from madang.core.errors import LimitExceeded, NotFound
from madang.core.phrases import Phrase, say
from madang.core.texts import one_line

MAX_OBSERVATIONS = 10
MAX_TODOS = 500
MAX_HINT_TODOS = 20
MAX_HINT_NAME_CHARS = 60

Goal = Annotated[str, Field(min_length=1, max_length=2_000), NOT_BLANK]
TodoName = Annotated[str, Field(min_length=1, max_length=1_000), NOT_BLANK]
TodoSummary = Annotated[str, Field(max_length=2_000)]
Observation = Annotated[str, Field(min_length=1, max_length=2_000), NOT_BLANK]
TodoId = Annotated[int, Field(ge=1, le=10**9)]

TodoPosition = Annotated[int, Field(ge=1, le=MAX_TODOS)]

TodoStatus = Literal["pending", "completed"]


class Todo(Document):
    """One thing to do."""

    id: int
    name: str
    status: TodoStatus = "pending"
    summary: str = ""


class PlanState(Document):
    """A plan as tools and panels show it."""

    goal: str = ""
    last_cleared_goal: str = ""
    todos: list[Todo] = Field(default_factory=list)
    observations: list[str] = Field(default_factory=list)


class TodoChange(Document):
    """One todo before and after an operation; None where it was not there. `index` is its place before."""

    id: int
    before: Todo | None = None
    after: Todo | None = None
    index: int = 0


class PlanChange(Document):
    """What an operation changed of a plan: each piece before and after it; None where it stayed as it was."""

    goal: tuple[str, str] | None = None
    last_cleared_goal: tuple[str, str] | None = None
    todos: list[TodoChange] = Field(default_factory=list)
    observations: tuple[list[str], list[str]] | None = None
    observed_at: tuple[list[str], list[str]] | None = None
    next_id: tuple[int, int] | None = None


class Plan(Document):
    """A plan as it is stored: the state, the id of the next to-do, and when each observation was made.

    Ids are not reused until the session is cleared.
    """

    state: PlanState = PlanState()
    next_id: int = 1
    observed_at: list[str] = Field(default_factory=list)
    """Of the last observations, in their order; older plans have none of them."""

    @property
    def pending(self) -> list[Todo]:
        return [todo for todo in self.state.todos if todo.status == "pending"]

    @property
    def completed(self) -> list[Todo]:
        return [todo for todo in self.state.todos if todo.status == "completed"]

    def with_goal(self, goal: str) -> Plan:
        """Set the goal; the one it replaces becomes the previous goal. To-dos stay."""
        if goal == self.state.goal:
            return self
        previous = self.state.goal or self.state.last_cleared_goal
        return self._changed(goal=goal, last_cleared_goal=previous)

    def without_goal(self) -> Plan:
        return self._changed(goal="", last_cleared_goal=self.state.goal or self.state.last_cleared_goal)

    def with_todo(self, name: str) -> Plan:
        """Add a to-do at the end.

        Raises:
            LimitExceeded: there are too many already.
        """
        if len(self.state.todos) >= MAX_TODOS:
            raise LimitExceeded(
                say("A plan holds at most {limit} todos.", limit=MAX_TODOS),
                hint=say("Use 'clear_todos' with the ids of completed ones first."),
            )
        todo = Todo.model_construct(id=self.next_id, name=name, status="pending", summary="")
        changed = self._changed(todos=[*self.state.todos, todo])
        return changed.model_copy(update={"next_id": self.next_id + 1})

    def with_todo_marked(self, id: int, status: TodoStatus, summary: str | None) -> Plan:
        """Set a to-do's status, and its summary if one is given.

        Raises:
            NotFound: there is no such to-do; the hint lists the ids there are.
        """
        self._check_ids([id])
        change: dict[str, object] = {"status": status}
        if summary is not None:
            change["summary"] = summary
        return self._changed(
            todos=[todo.model_copy(update=change) if todo.id == id else todo for todo in self.state.todos]
        )

    def with_todo_changed(self, id: int, name: str | None, position: int | None) -> Plan:
        """Rename a to-do, or move it to another place, counted from 1; one past the end is the end.

        Raises:
            NotFound: there is no such to-do.
        """
        self._check_ids([id])
        todo = self.todo(id)
        index = self.state.todos.index(todo)
        todos = [one for one in self.state.todos if one.id != id]
        renamed = todo if name is None else todo.model_copy(update={"name": name})
        todos.insert(index if position is None else position - 1, renamed)
        return self._changed(todos=todos)

    def without_todos(self, ids: Sequence[int]) -> Plan:
        """Remove the named to-dos, or all of them when none is named.

        Raises:
            NotFound: one of them is not there; then none is removed.
        """
        self._check_ids(ids)
        return self._changed(todos=[todo for todo in self.state.todos if ids and todo.id not in ids])

    @property
    def observation_times(self) -> list[str]:
        """When each observation was made; empty where that is not known."""
        count = len(self.state.observations)
        return [*[""] * (count - len(self.observed_at)), *self.observed_at][-count:] if count else []

    def with_observation(self, observation: str, at: str) -> tuple[Plan, str]:
        """Add an observation; return the plan and the oldest one if it was dropped."""
        observations = [*self.state.observations, observation]
        dropped = observations.pop(0) if len(observations) > MAX_OBSERVATIONS else ""
        times = [*self.observation_times, at][-len(observations) :]
        return self._changed(observations=observations).model_copy(update={"observed_at": times}), dropped

    def changed_since(self, before: Plan) -> PlanChange:
        """Return what makes this plan of an earlier one."""
        old, new = before.state, self.state
        places = {todo.id: index for index, todo in enumerate(old.todos)}
        olds, news = {todo.id: todo for todo in old.todos}, {todo.id: todo for todo in new.todos}
        todos = [
            TodoChange(id=id, before=olds.get(id), after=news.get(id), index=places.get(id, 0))
            for id in dict.fromkeys((*olds, *news))
            if olds.get(id) != news.get(id)
        ]
        if not todos and old.todos != new.todos:  # moved
            todos = [TodoChange(id=todo.id, before=todo, after=todo, index=places[todo.id]) for todo in old.todos]
        return PlanChange(
            goal=_pair(old.goal, new.goal),
            last_cleared_goal=_pair(old.last_cleared_goal, new.last_cleared_goal),
            todos=todos,
            observations=_pair(old.observations, new.observations),
            observed_at=_pair(before.observed_at, self.observed_at),
            next_id=_pair(before.next_id, self.next_id),
        )

    def without(self, change: PlanChange, *, is_repeated: bool = False) -> Plan:
        """Return the plan with a change taken back, piece by piece; a piece that was changed again since stays.

        `is_repeated`: the same change is made again, so that it may give the same ids.
        """
        state = self.state
        todos = list(state.todos)
        for one in sorted(change.todos, key=lambda one: one.index):
            now = next((todo for todo in todos if todo.id == one.id), None)
            if now != one.after:
                continue
            if now is not None:
                place = todos.index(now)
                todos.remove(now)
                if one.before is not None:
                    todos.insert(one.index if one.before == one.after else place, one.before)
            elif one.before is not None and len(todos) < MAX_TODOS:
                todos.insert(one.index, one.before)
        restored = self._changed(
            goal=_before(change.goal, state.goal),
            last_cleared_goal=_before(change.last_cleared_goal, state.last_cleared_goal),
            todos=todos,
            observations=_before(change.observations, state.observations),
        )
        observed_at = _before(change.observed_at, self.observed_at)
        # Ids are not given twice: a todo that is taken back may be named in the history.
        next_id = _before(change.next_id, self.next_id) if is_repeated else self.next_id
        next_id = max(next_id, 1 + max((todo.id for todo in todos), default=0))
        return restored.model_copy(update={"observed_at": observed_at, "next_id": next_id})

    def todo(self, id: int) -> Todo:
        return next(todo for todo in self.state.todos if todo.id == id)

    def _check_ids(self, ids: Sequence[int]) -> None:
        known = {todo.id for todo in self.state.todos}
        missing = [id for id in ids if id not in known]
        if missing:
            raise NotFound(
                say("There is no todo with ID {ids}.", ids=", ".join(map(str, missing[:10]))),
                hint=self._known_todos(),
            )

    def _known_todos(self) -> Phrase:
        """Return the to-dos there are, pending ones first; ids alone would force the model to look them up."""
        todos = [*self.pending, *self.completed]
        if not todos:
            return say("There are no todos. Use 'add_todo' to make one.")
        names = ", ".join(f"ID:{todo.id} {one_line(todo.name, MAX_HINT_NAME_CHARS)}" for todo in todos[:MAX_HINT_TODOS])
        if len(todos) > MAX_HINT_TODOS:
            return say(
                "The IDs there are: {names}, and {count} more ('get_current_state').",
                names=names,
                count=len(todos) - MAX_HINT_TODOS,
            )
        return say("The IDs there are: {names}.", names=names)

    def _changed(self, **parts: object) -> Plan:
        return self.model_copy(update={"state": self.state.model_copy(update=parts)})


ValueT = TypeVar("ValueT")


def _pair(before: ValueT, after: ValueT) -> tuple[ValueT, ValueT] | None:
    return None if before == after else (before, after)


def _before(pair: tuple[ValueT, ValueT] | None, now: ValueT) -> ValueT:
    """Return what there was before, if it is now as it was left."""
    return pair[0] if pair is not None and now == pair[1] else now
