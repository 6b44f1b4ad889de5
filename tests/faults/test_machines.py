"""Playbooks and plans against plain Python, through restarts and power cuts at any moment.

Every call that changes something may meet a power cut. Then it was done or it was not, and if it was acknowledged it
was done. Whatever else happens, all that can be seen is what the model has.
"""

from __future__ import annotations

import os
import unicodedata
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.faults.disks import LOSSES
from tests.faults.house import Cut, House

EXAMPLES = int(os.environ.get("MADANG_TEST_EXAMPLES", "20"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

SIGNS = st.characters(codec="utf-8", exclude_characters="\0")
WORDS = st.sampled_from(["apple", "Apple", "ÄPFEL", "äpfel", "사과", "100%", "a_b", r"a\b", "straße", "İ", "'", '"'])
TEXTS = st.one_of(WORDS, st.lists(WORDS, min_size=2, max_size=3).map(" ".join), st.text(SIGNS, min_size=1, max_size=12))
NAMES = TEXTS.filter(str.strip)
CUTS = st.builds(Cut, st.integers(1, 60), st.sampled_from(LOSSES), st.integers(0, 2**32))
MAYBE_CUT = st.one_of(st.none(), st.none(), CUTS)


class Living(RuleBasedStateMachine):
    """What both machines do: live, die and live again."""

    def __init__(self) -> None:
        super().__init__()
        self.house = House()

    @rule()
    def restart(self) -> None:
        self.house.restart()

    @rule(cut=CUTS)
    def cut_power(self, cut: Cut) -> None:
        self.house.cut_power(cut)

    def teardown(self) -> None:
        self.house.close()


@dataclass(frozen=True)
class Kept:
    """A playbook as the model has it. What only Madang can know is empty until it was seen."""

    goal: str
    command: str
    steps: tuple[str, ...]
    version: int = 1
    id: str = ""
    updated_at: str = ""

    def is_like(self, seen: Kept) -> bool:
        expected = replace(self, id=self.id or seen.id, updated_at=self.updated_at or seen.updated_at)
        return expected == seen

    @property
    def sort_key(self) -> str:
        return fold(self.goal)[:100]

    @property
    def content(self) -> tuple[str, str, tuple[str, ...]]:
        return self.goal, self.command, self.steps


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def are_like(expected: list[Kept], seen: list[Kept]) -> bool:
    return len(expected) == len(seen) and all(one.is_like(other) for one, other in zip(expected, seen, strict=True))


class Playbooks(Living):
    """Playbooks of one assistant: a list in the order of their making."""

    MAX_KEPT = 12

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Kept] = []
        self.runs: list[tuple[str, int]] = []

    def change(self, cut: Cut | None, after: list[Kept], tool: str, **arguments: Any) -> None:
        """Make a call that turns what is kept into `after`, all of it or, when the power goes, perhaps nothing."""
        before = self.kept
        if cut is None:
            self.house.done(tool, **arguments)
            allowed = [after]
        else:
            reply = self.house.ask_and_cut(cut, tool, **arguments)
            allowed = [before, after] if reply.is_error else [after]
        seen = self.see()
        assert any(are_like(one, seen) for one in allowed), (allowed, seen)
        self.kept = seen

    def see(self) -> list[Kept]:
        items = self.house.done("list_playbooks")["page"]["items"]
        found = []
        for item in items:
            playbook = self.house.done("get_playbook", id=item["id"])["playbook"]
            assert item == {name: playbook[name] for name in item if name != "steps"} | {
                "steps": len(playbook["workflow"])
            }
            steps = tuple(step["description"] for step in playbook["workflow"])
            texts = playbook["goal"], playbook["initialCommand"], steps
            found.append(Kept(*texts, playbook["version"], playbook["id"], playbook["updatedAt"]))
        return found

    @precondition(lambda self: len(self.kept) < self.MAX_KEPT)
    @rule(cut=MAYBE_CUT, goal=NAMES, command=TEXTS, steps=st.lists(TEXTS, max_size=3))
    def create(self, cut: Cut | None, goal: str, command: str, steps: list[str]) -> None:
        arguments = {"goal": goal, "initialCommand": command, "workflow": [{"description": step} for step in steps]}
        self.change(cut, [*self.kept, Kept(goal, command, tuple(steps))], "create_playbook", **arguments)

    @precondition(lambda self: self.kept)
    @rule(cut=MAYBE_CUT, data=st.data(), goal=st.none() | NAMES, command=TEXTS, is_versioned=st.booleans())
    def update(self, cut: Cut | None, data: st.DataObject, goal: str | None, command: str, is_versioned: bool) -> None:
        number = data.draw(st.integers(0, len(self.kept) - 1))
        old = self.kept[number]
        new = replace(old, goal=goal or old.goal, command=command, version=old.version + 1, updated_at="")
        patch = {"initialCommand": command} | ({"goal": goal} if goal else {})
        version = {"expectedVersion": old.version} if is_versioned else {}
        after = [*self.kept[:number], new, *self.kept[number + 1 :]]
        self.change(cut, after, "update_playbook", id=old.id, playbook=patch, **version)

    @precondition(lambda self: self.kept)
    @rule(data=st.data(), off=st.sampled_from([-1, 1, 7]))
    def update_a_version_that_is_not_there(self, data: st.DataObject, off: int) -> None:
        old = data.draw(st.sampled_from(self.kept))
        version = old.version + off if old.version + off > 0 else old.version + 1
        reply = self.house.ask("update_playbook", id=old.id, playbook={"goal": "no"}, expectedVersion=version)
        assert reply.error_code == "conflict"

    @precondition(lambda self: self.kept)
    @rule(cut=MAYBE_CUT, data=st.data())
    def delete(self, cut: Cut | None, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(self.kept))
        self.change(cut, [one for one in self.kept if one.id != gone.id], "delete_playbook", id=gone.id)
        if gone not in self.kept:
            for tool in ("get_playbook", "select_playbook", "delete_playbook"):
                assert self.house.ask(tool, id=gone.id).error_code == "not_found"

    @precondition(lambda self: self.kept)
    @rule(cut=MAYBE_CUT, data=st.data())
    def select(self, cut: Cut | None, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(self.kept))
        run = chosen.goal, chosen.version
        if cut is None:
            self.house.done("select_playbook", id=chosen.id)
            was_done = True
        else:
            reply = self.house.ask_and_cut(cut, "select_playbook", id=chosen.id)
            was_done = not reply.is_error or self.seen_runs() != self.runs
        if was_done:
            self.runs.insert(0, run)

    def seen_runs(self) -> list[tuple[str, int]]:
        items = self.house.done("list_playbook_runs")["page"]["items"]
        return [(run["goal"], run["version"]) for run in items]

    @precondition(lambda self: 0 < len(self.kept) <= self.MAX_KEPT // 2)
    @rule(cut=MAYBE_CUT, data=st.data(), format=st.sampled_from(["yaml", "json"]))
    def export_and_import(self, cut: Cut | None, data: st.DataObject, format: str) -> None:
        """All of a document or nothing of it, and what comes in is what went out."""
        chosen = data.draw(st.none() | st.lists(st.sampled_from(self.kept), min_size=1, unique=True))
        ids: dict[str, Any] = {} if chosen is None else {"ids": [one.id for one in chosen]}
        exported = self.house.done("export_playbooks", format=format, **ids)
        assert exported["count"] == len(self.kept if chosen is None else chosen)
        copies = [Kept(*one.content) for one in (self.kept if chosen is None else chosen)]
        self.change(cut, [*self.kept, *copies], "import_playbooks", document=exported["document"])

    @rule(
        page_size=st.sampled_from([1, 2, 3, 5, 100]),
        query=st.one_of(st.just(""), TEXTS, st.tuples(WORDS, WORDS).map(" ".join)),
        sort_by=st.sampled_from(["createdAt", "updatedAt", "goal"]),
        is_descending=st.booleans(),
    )
    def list_all_pages(self, page_size: int, query: str, sort_by: str, is_descending: bool) -> None:
        keys = {"createdAt": lambda _: "", "updatedAt": lambda one: one.updated_at, "goal": lambda one: one.sort_key}
        words = fold(query.strip()).split()
        found = [one for one in self.kept if all(word in fold(f"{one.goal}\n{one.command}") for word in words)]
        wanted = [one.id for one in sorted(found, key=keys[sort_by])]
        wanted = wanted[::-1] if is_descending else wanted
        arguments: dict[str, Any] = {
            "pageSize": page_size,
            "query": query,
            "sortBy": sort_by,
            "sortOrder": "desc" if is_descending else "asc",
        }
        pages = -(-len(wanted) // page_size)
        for page in range(1, max(pages, 1) + 1):
            seen = self.house.done("list_playbooks", page=page, **arguments)["page"]
            ids = [item["id"] for item in seen["items"]]
            assert ids == wanted[(page - 1) * page_size : page * page_size]
            assert (seen["totalItems"], seen["totalPages"]) == (len(wanted), pages)
            assert (seen["hasPreviousPage"], seen["hasNextPage"]) == (page > 1, page < pages)
        beyond = self.house.ask("list_playbooks", page=max(pages, 1) + 1, **arguments)
        # Nothing is the empty page, whatever its number.
        assert beyond.error_code == ("out_of_range" if wanted else "")

    @invariant()
    def everything_is_as_the_model_has_it(self) -> None:
        assert self.see() == self.kept
        assert self.seen_runs() == self.runs


def new_plan() -> dict[str, Any]:
    return {"goal": "", "lastClearedGoal": "", "todos": [], "observations": []}


class Plans(Living):
    """Plans of two sessions that do not know of each other."""

    SESSIONS = ("morning", "evening")
    WHERE = st.sampled_from(SESSIONS)

    def __init__(self) -> None:
        super().__init__()
        self.plans = {session: new_plan() for session in self.SESSIONS}
        self.next_ids = dict.fromkeys(self.SESSIONS, 1)

    def change(self, cut: Cut | None, session: str, after: dict[str, Any], tool: str, **arguments: Any) -> bool:
        """Make a call that turns the plan into `after`; return whether it did, for it may not when the power goes."""
        before = self.plans[session]
        if cut is None:
            data = self.house.done(tool, session, **arguments)
            assert {name: data[name] for name in after} == after
            allowed = [after]
        else:
            reply = self.house.ask_and_cut(cut, tool, session, **arguments)
            allowed = [before, after] if reply.is_error else [after]
        seen = self.see(session)
        assert seen in allowed
        self.plans[session] = seen
        return seen == after

    def see(self, session: str) -> dict[str, Any]:
        state = self.house.done("get_current_state", session)
        return {name: state[name] for name in new_plan()}

    def copy(self, session: str) -> dict[str, Any]:
        return deepcopy(self.plans[session])

    @rule(cut=MAYBE_CUT, session=WHERE, goal=NAMES)
    def create_goal(self, cut: Cut | None, session: str, goal: str) -> None:
        after = self.copy(session)
        if goal != after["goal"]:
            after |= {"goal": goal, "lastClearedGoal": after["goal"] or after["lastClearedGoal"]}
        self.change(cut, session, after, "create_goal", goal=goal)

    @rule(cut=MAYBE_CUT, session=WHERE)
    def clear_goal(self, cut: Cut | None, session: str) -> None:
        after = self.copy(session)
        after |= {"goal": "", "lastClearedGoal": after["goal"] or after["lastClearedGoal"]}
        self.change(cut, session, after, "clear_goal")

    @rule(cut=MAYBE_CUT, session=WHERE, name=NAMES)
    def add_todo(self, cut: Cut | None, session: str, name: str) -> None:
        after = self.copy(session)
        after["todos"].append({"id": self.next_ids[session], "name": name, "status": "pending", "summary": ""})
        if self.change(cut, session, after, "add_todo", name=name):
            self.next_ids[session] += 1

    @rule(cut=MAYBE_CUT, session=WHERE, data=st.data(), completed=st.booleans(), summary=st.none() | TEXTS)
    def mark_todo(
        self, cut: Cut | None, session: str, data: st.DataObject, completed: bool, summary: str | None
    ) -> None:
        after = self.copy(session)
        id = data.draw(st.integers(1, self.next_ids[session] + 1))
        arguments = {"id": id, "completed": completed} | ({} if summary is None else {"summary": summary})
        for todo in after["todos"]:
            if todo["id"] == id:
                todo["status"] = "completed" if completed else "pending"
                todo["summary"] = todo["summary"] if summary is None else summary
                self.change(cut, session, after, "mark_todo", **arguments)
                return
        assert self.house.ask("mark_todo", session, **arguments).error_code == "not_found"

    @rule(cut=MAYBE_CUT, session=WHERE, data=st.data())
    def clear_todos(self, cut: Cut | None, session: str, data: st.DataObject) -> None:
        after = self.copy(session)
        there = [todo["id"] for todo in after["todos"]]
        some = st.lists(st.sampled_from(there), min_size=1, unique=True) if there else st.none()
        ids = data.draw(st.none() | some)
        after["todos"] = [todo for todo in after["todos"] if ids is not None and todo["id"] not in ids]
        self.change(cut, session, after, "clear_todos", **({} if ids is None else {"ids": ids}))

    @rule(session=WHERE, data=st.data())
    def clear_a_todo_that_is_not_there(self, session: str, data: st.DataObject) -> None:
        there = [todo["id"] for todo in self.plans[session]["todos"]]
        ids = [*data.draw(st.permutations(there)), self.next_ids[session]]
        assert self.house.ask("clear_todos", session, ids=ids).error_code == "not_found"

    @rule(cut=MAYBE_CUT, session=WHERE, observation=NAMES)
    def add_observation(self, cut: Cut | None, session: str, observation: str) -> None:
        after = self.copy(session)
        after["observations"] = [*after["observations"], observation][-10:]
        self.change(cut, session, after, "add_observation", observation=observation)

    @rule(cut=MAYBE_CUT, session=WHERE)
    def clear_session(self, cut: Cut | None, session: str) -> None:
        self.change(cut, session, new_plan(), "clear_session")
        if cut:  # whether it was done cannot be seen in a plan that was empty, but by the number of its next to-do
            self.change(None, session, new_plan(), "clear_session")
        self.next_ids[session] = 1

    @invariant()
    def both_sessions_are_as_the_model_has_them(self) -> None:
        assert {session: self.see(session) for session in self.SESSIONS} == self.plans


TestPlaybooks = Playbooks.TestCase
TestPlaybooks.settings = SETTINGS
TestPlans = Plans.TestCase
TestPlans.settings = SETTINGS
