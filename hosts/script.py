"""The script that every host and framework is led through, call by call. Standard library alone: adapters import it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

SERVER = "madang"
"""The name Madang is configured under; hosts put it in front of its tools."""

PLAYBOOKS = 20
"""How many playbooks there are when the script shows them."""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call of the script. `arguments` are made from what the earlier steps gave to the model."""

    title: str
    tool: str
    arguments: Callable[[Sequence[str]], Arguments]
    settled_by: tuple[str, ...] = ()
    """Where the step pauses: the tools that the model has to know to end the pause."""
    fails: bool = False
    max_bytes: int | None = None

    @property
    def pauses(self) -> bool:
        return bool(self.settled_by)


def _fixed(**arguments: Any) -> Callable[[Sequence[str]], Arguments]:
    return lambda _given: arguments


def _created_id(given: Sequence[str]) -> Arguments:
    match = _ID.search(given[0]) if given else None
    return {"id": match.group() if match else "the-id-was-not-given"}


STEPS = (
    Step(
        "create",
        "create_playbook",
        _fixed(goal="Bake rye bread", workflow=[{"description": "Weigh the flour"}, {"description": "Knead"}]),
    ),
    Step("list", "list_playbooks", _fixed(page=1, pageSize=5)),
    Step(
        "show 20",
        "show_playbooks",
        _fixed(page=1, pageSize=PLAYBOOKS),
        settled_by=("select_playbook",),
        max_bytes=3 * 1024,
    ),
    Step("select", "select_playbook", _created_id),
    Step(
        "ask",
        "prompt_user",
        _fixed(prompt="Which quarter should the report cover?", type="select", options=["Spring", "Autumn"]),
        settled_by=("reply_prompt",),
    ),
    Step("unknown id", "get_playbook", _fixed(id="no-such-playbook"), fails=True),
    Step(
        "wrong argument",
        "create_playbook",
        _fixed(goal="Bake a cake", workflow=[{"outputVariable": "cake"}]),
        fails=True,
    ),
    Step(
        "chart",
        "visualize_data",
        _fixed(
            type="bar", title="Loaves sold", data=[{"label": "Monday", "value": 12}, {"label": "Tuesday", "value": 30}]
        ),
    ),
    Step("write", "write_file", _fixed(path="loaves.csv", content="day,loaves\nMonday,12\nTuesday,30\n")),
    Step("export", "export_file", _fixed(path="loaves.csv")),
)


def earlier_playbooks() -> str:
    """Return the arguments of the `import_playbooks` call that makes all playbooks but the one the script creates."""
    playbooks = [
        {"goal": f"Prepare the monthly report number {number}", "workflow": [{"description": "Collect the figures"}]}
        for number in range(1, PLAYBOOKS)
    ]
    return json.dumps({"document": json.dumps({"madangPlaybooks": 1, "playbooks": playbooks})})
