"""What becomes of the calls of a turn: which can be made, which are settled by what came of a pause. Pure.

An effect is had at most once: a call that may have happened is told to the model as interrupted, not repeated. What can
be done again without harm is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from madang.core.tools import Tool
from madang.llm.messages import CallPart
from madang.records.runs.journal import RunCall


def number_calls(parts: Sequence[CallPart], prefix: str) -> list[CallPart]:
    """Return calls with ids that name one each: servers leave some out, and give others twice."""
    seen: set[str] = set()
    calls: list[CallPart] = []
    for number, part in enumerate(parts):
        id = part.id if part.id and part.id not in seen else f"{prefix}-{number}"
        seen.add(id)
        calls.append(replace(part, id=id))
    return calls


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call; None if they are no JSON object."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def can_repeat(tool: Tool | None) -> bool:
    """Tell whether a call that may have happened can be made again: it changes nothing, or is done once."""
    return tool is None or tool.idempotent or tool.once_per_operation


def is_effect(tool: Tool | None) -> bool:
    """Tell whether a call is made in its turn: all but reads are."""
    return tool is not None and tool.effect != "read"


def cut_fingerprint(tool: str) -> str:
    """Return the same for each call of a tool that was cut off: no two are cut at the same place."""
    return _hash(tool, "cut")


def fingerprint(tool: str, arguments: str, text: str | None, plan: str = "") -> str:
    """Return a value that is equal for the same call; with a `text`, only if that was its result, too.

    Behind it is what `plan_digest` tells of the plan, if anything.
    """
    parsed = parse_arguments(arguments)
    canonical = arguments if parsed is None else json.dumps(parsed, sort_keys=True)
    key = _hash(tool, canonical, text)
    return f"{key}:{plan}" if plan else key


def _hash(*values: str | None) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """The calls of a turn that are not done, by what is to be done with them."""

    interrupted: list[RunCall] = field(default_factory=list)
    """They may have been done, by an owner that died."""
    undecided: list[RunCall] = field(default_factory=list)
    """The policy is asked."""
    approved: list[RunCall] = field(default_factory=list)
    """They may be made: the policy or the person has said so."""
    asked: list[RunCall] = field(default_factory=list)
    """A pause of theirs is open, or was settled: the approval, or what the call itself asked."""


def plan_turn(calls: Sequence[RunCall], tools: dict[str, Tool | None]) -> TurnPlan:
    """Return what there is to do in a turn, from the rows alone: a next owner plans the same."""
    plan = TurnPlan()
    for call in calls:
        match call.state:
            case "done":
                continue
            case "started" if not can_repeat(tools[call.tool]):
                plan.interrupted.append(call)
            case "started" | "approved":
                plan.approved.append(call)
            case "received":
                plan.undecided.append(call)
            case "asking" | "waiting":
                plan.asked.append(call)
    return plan
