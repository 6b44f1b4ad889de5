"""Whether the calls of a run turn in a circle. Pure: a next owner of the run decides the same of the same rows.

A circle is
- the same call three times, with no other successful effect between;
- a cycle of two or three calls, three times; or of up to three tools whose arguments differ, where each round leaves
  the plan as it was, or nothing succeeds;
- ten changes of the plan, and nothing else, that leave it as it was, or lead to no more than five different plans.

Reading again is free after progress. The calls that are judged begin after the person's last message and after the last
compaction: a model must read again then what it no longer has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from madang.core.phrases import Phrase, say

MAX_RECENT_CALLS = 128
ROUNDS = 3
MAX_CYCLE = 3
MIN_FAILED = 6
"""Calls of a cycle with other arguments each time, none of which succeeds: a model may try some."""
PLAN_CALLS = 10
MAX_PLANS = 5

Shape = Literal["same", "cycle", "plan"]


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that is done."""

    turn: int
    number: int
    """In its turn."""
    tool: str
    key: str
    """Equal for equal calls: of a read with its result, of an effect by its arguments alone; empty of one that was not
    made."""
    is_effect: bool
    is_ok: bool
    plan: str = ""
    """Equal for equal plans after it; empty if it tells none."""

    @property
    def is_progress(self) -> bool:
        return self.is_effect and self.is_ok


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle that the last of some calls closes, and the calls that it consists of."""

    shape: Shape
    keys: frozenset[str]
    is_about_plan: bool = False

    def is_left_by(self, call: PastCall) -> bool:
        """Tell whether a later call is progress beyond it."""
        return call.is_progress and call.key not in self.keys and not (self.is_about_plan and call.plan)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done about the calls of the last turn."""

    circle: Circle
    number: int
    """Of the call, in its turn, that closes the circle."""
    is_over: bool
    """The model was told in an earlier turn, and went on all the same."""


def plan_digest(data: Mapping[str, Any] | None) -> str:
    """Return a value that is equal for equal plans; empty if the data of a result tell no plan."""
    if data is None or not {"goal", "todos", "observations"} <= data.keys():
        return ""
    # Ids grow, and what the goal was before is no part of the plan.
    todos = [[todo.get(name) for name in ("name", "status", "summary")] for todo in data["todos"]]
    plan = json.dumps([data["goal"], todos, data["observations"]])
    return hashlib.sha256(plan.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def judge(calls: Sequence[PastCall]) -> Verdict | None:
    """Return what is to be done about the last turn of these calls, oldest first; None if nothing.

    The model is told of a circle once; if it closes one again without progress in between, the run is over.
    """
    told: Circle | None = None
    told_turn = 0
    verdict: Verdict | None = None
    for place, call in enumerate(calls):
        if told is not None and told.is_left_by(call):
            told = None
        circle = find_circle(calls[: place + 1])
        if circle is None:
            continue
        is_now = call.turn == calls[-1].turn
        if told is None:
            told, told_turn = circle, call.turn
            verdict = Verdict(circle, call.number, is_over=False) if is_now else None
        elif is_now and told_turn < call.turn:
            return Verdict(circle, call.number, is_over=True)
    return verdict


def find_circle(calls: Sequence[PastCall]) -> Circle | None:
    """Return the circle that the last call closes."""
    if not calls or not calls[-1].key:
        return None
    return _same(calls) or _cycle(calls) or _plan(calls)


def _same(calls: Sequence[PastCall]) -> Circle | None:
    key, count = calls[-1].key, 0
    for call in reversed(calls):
        if call.key == key:
            count += 1
            if count == ROUNDS:
                return Circle("same", frozenset({key}))
        elif call.is_progress:
            break
    return None


def _cycle(calls: Sequence[PastCall]) -> Circle | None:
    for length in range(1, MAX_CYCLE + 1):
        rounds = calls[-ROUNDS * length :]
        if len(rounds) < ROUNDS * length or not all(call.key for call in rounds):
            continue
        keys = frozenset(call.key for call in rounds)
        if _repeats([call.key for call in rounds], length):
            return Circle("cycle", keys)
        if not _repeats([call.tool for call in rounds], length):
            continue
        failed = calls[-max(MIN_FAILED, len(rounds)) :]
        is_failing = len(failed) >= MIN_FAILED and not any(call.is_ok for call in failed)
        if is_failing and _repeats([call.tool for call in failed], length):
            return Circle("cycle", keys)
        if _leaves_plan(rounds, length):
            return Circle("cycle", keys, is_about_plan=True)
    return None


def _repeats(values: Sequence[str], length: int) -> bool:
    return all(values[place] == values[place - length] for place in range(length, len(values)))


def _leaves_plan(rounds: Sequence[PastCall], length: int) -> bool:
    """Tell whether each round changed the plan, and left it as it was, and nothing else was changed."""
    if any(call.is_progress and not call.plan for call in rounds):
        return False
    ends: list[str] = []
    for start in range(0, len(rounds), length):
        changes = [call.plan for call in rounds[start : start + length] if call.is_progress]
        ends += changes[-1:]
    return len(ends) == ROUNDS and len(set(ends)) == 1


def _plan(calls: Sequence[PastCall]) -> Circle | None:
    if not (calls[-1].is_progress and calls[-1].plan):
        return None
    plans: list[str] = []
    keys: set[str] = set()
    for call in reversed(calls):
        if call.is_progress and not call.plan:
            break
        if call.is_progress:
            plans.append(call.plan)
            keys.add(call.key)
    if len(plans) < PLAN_CALLS:
        return None
    if plans[0] in plans[PLAN_CALLS:] or len(set(plans[:PLAN_CALLS])) <= MAX_PLANS:
        return Circle("plan", frozenset(keys), is_about_plan=True)
    return None


HINTS: Mapping[Shape, Phrase] = {
    "same": say(
        "Hint: You made this call {count} times, and nothing else was done in between. Do something else, or say what "
        "is in the way: if it goes on like this, the run ends.",
        count=ROUNDS,
    ),
    "cycle": say(
        "Hint: You made the same calls in turns, {count} times. Do something else, or say what is in the way: if it "
        "goes on like this, the run ends.",
        count=ROUNDS,
    ),
    "plan": say(
        "Hint: You changed the plan {count} times, and it is where it was. Do what the plan is for, or say what is in "
        "the way: if it goes on like this, the run ends.",
        count=PLAN_CALLS,
    ),
}
"""What the model is told, behind the result of the call that closes a circle."""

ENDS: Mapping[Shape, Phrase] = {
    "same": say("The model made the same call again and again, and was told so."),
    "cycle": say("The model made the same calls in turns, again and again, and was told so."),
    "plan": say("The model changed the plan to and fro, and was told so."),
}
"""What the person is told when the run ends for it."""
