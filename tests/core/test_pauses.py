"""A pause as people are told of it."""

from __future__ import annotations

import pytest

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.pauses import PauseRecord

ASSISTANT, SESSION = AssistantId("default"), SessionId("one")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (
            Call(assistant_id=ASSISTANT, door="mcp-stdio", client_id="c1", client_name="Claude Desktop"),
            "Claude Desktop",
        ),
        (Call(assistant_id=ASSISTANT, door="agent", run_id="r1"), "run"),
        (Call(assistant_id=ASSISTANT, door="command"), "command"),
        (Call(assistant_id=ASSISTANT, door="host"), ""),
    ],
    ids=["client", "run", "command", "chat"],
)
def test_who_asked_is_told_by_a_name_that_people_know(call: Call, name: str) -> None:
    pause = PauseRecord("p1", "prompt", "ui", "prompt_user", "Tea?", SESSION, ASSISTANT, call.asker, "2026-01-01")

    assert pause.asker_name == name
