"""A playbook from what a run did: the calls that mattered, and what one took from another. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from madang.agent.calls import parse_arguments
from madang.core.texts import one_line
from madang.records.runs.journal import RunCall

MIN_LINKED_CHARS = 6
"""A shorter value that stands in a result and later in arguments may well be there by chance."""
MAX_STEPS = 200
MAX_DESCRIPTION_CHARS = 1_000


@dataclass(slots=True)
class _Step:
    call: RunCall
    arguments: dict[str, Any]
    text: str
    is_kept: bool
    output: str = ""
    needs: dict[str, str] = field(default_factory=dict)
    """Values of its arguments that came from earlier results, and the names under which those are known."""


def distil(
    calls: Sequence[RunCall], is_effect: Callable[[str], bool], not_steps: frozenset[str]
) -> list[dict[str, Any]]:
    """Return the steps of a playbook, as `create_playbook` takes them, oldest first.

    A read is a step only if a later one took something from it; repeats are none.
    """
    steps: list[_Step] = []
    seen: set[str] = set()
    for call in calls:
        arguments = parse_arguments(call.arguments)
        key = f"{call.tool} {json.dumps(arguments, sort_keys=True)}"
        if call.outcome == "ok" and arguments is not None and call.tool not in not_steps and key not in seen:
            seen.add(key)
            text = "\n".join(str(part.get("text", "")) for part in call.result)
            steps.append(_Step(call, arguments, text, is_effect(call.tool)))
    for place in range(len(steps) - 1, -1, -1):
        if steps[place].is_kept:
            _link(steps, place)
    return [_written(step) for step in steps if step.is_kept][:MAX_STEPS]


def _link(steps: list[_Step], place: int) -> None:
    """Name what a step takes from earlier ones, and keep those."""
    step = steps[place]
    for value in _texts(step.arguments):
        for number, earlier in enumerate(steps[:place], 1):
            if len(value) >= MIN_LINKED_CHARS and value in earlier.text and value not in earlier.call.arguments:
                earlier.is_kept = True
                earlier.output = earlier.output or f"{earlier.call.tool}_{number}"
                step.needs[value] = earlier.output
                break


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _written(step: _Step) -> dict[str, Any]:
    arguments = json.dumps(step.arguments, ensure_ascii=False)
    for value, name in step.needs.items():
        arguments = arguments.replace(json.dumps(value, ensure_ascii=False)[1:-1], "{" + name + "}")
    return {
        "description": one_line(f"{step.call.tool} {arguments}", MAX_DESCRIPTION_CHARS),
        "action": {"toolName": step.call.tool[:200]},
        "requiredData": list(dict.fromkeys(step.needs.values()))[:50],
        "outputVariable": step.output[:200],
    }
