"""What a run's tool changed can be taken back, for every tool there is: by its operation, or by the journal of files.

A new tool that changes something is tried here by itself, with the example of its promise. What has no way back stands
in the table below with its reason, and must not say that it has one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.core.operations import Operation
from tests.promises import PROMISED, PROMISES, SERVICE_OF, TOOLS, Arguments, Ids
from tests.whole_sessions import House, open_house

pytestmark = pytest.mark.anyio

NO_WAY_BACK = {
    "show_playbooks": "what was asked was asked; a choice that nobody makes expires",
    "select_playbook": "a record of what happened",
    "prompt_user": "what was asked was asked",
    "reply_prompt": "what was said was said",
    "wait_for_user": "what was asked was asked",
    "resume_from_wait": "what was said was said",
    "stop_adding": "it ends work, and takes nothing away",
    "export_file": "a copy for the person, beside what is there",
    "export_zip": "a copy for the person, beside what is there",
    "upload_file": "the person's own file, outside of every run",
}
EFFECTS = [name for name, tool in TOOLS.items() if tool.effect != "read"]
UNDOABLE = [name for name in EFFECTS if name not in NO_WAY_BACK]
MOMENTS = frozenset({"version", "updatedAt", "modified"})
"""What an undo need not bring back: a version only ever grows."""
RUN = "01900000-0000-7000-8000-000000000001"


@pytest.fixture(params=["disk", "server"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, str(request.param)) as house:
        yield house


def in_run(house: House, tool: str) -> House:
    """Return the house for one who calls a tool in a run: its model, or the person beside it."""
    actor = "model" if TOOLS[tool].audience == "model" else "person"
    return replace(house, asker=house.asker.with_call(run_id=RUN, operation_id=f"{RUN}/1/0", actor=actor))


async def seen(house: House, tool: str, ids: Ids) -> dict[str, Any]:
    """Return what every reading tool of the same service answers, searches among them."""
    service = PROMISES[SERVICE_OF[tool]]
    reading = {
        name: promise.example_arguments(ids) for name, promise in service.tools.items() if promise.effect == "read"
    }
    return {name: lasting((await house.asker.ask(name, **arguments)).data) for name, arguments in reading.items()}


def lasting(value: Any) -> Any:
    """Return data without what differs though nothing did."""
    if isinstance(value, dict):
        return {key: lasting(inner) for key, inner in value.items() if key not in MOMENTS}
    return [lasting(inner) for inner in value] if isinstance(value, list) else value


async def done_in_run(house: House, tool: str, arguments: Arguments) -> Callable[[], Awaitable[Callable[..., Any]]]:
    """Call a tool in a run, and return how to take that back; this in turn returns how to take the undo back."""
    await in_run(house, tool).asker.done(tool, **arguments)
    operations = await house.madang.operations.list_by_run(house.call, RUN)
    assert len(operations) <= 1, "one call is one operation"

    async def undo_operation(operation: Operation) -> Callable[..., Any]:
        taken = await house.madang.provider.undo(house.call, operation)
        return lambda: undo_operation(taken)

    async def undo_files(run_id: str) -> Callable[..., Any]:
        taken = await house.madang.file_undo.take_back(house.call, run_id)
        assert not taken.conflicts
        return lambda: undo_files(taken.undo_id)

    return lambda: undo_operation(operations[0]) if operations else undo_files(RUN)


@pytest.mark.parametrize("tool", UNDOABLE)
async def test_what_a_tool_did_in_a_run_is_taken_back_and_the_undo_too(house: House, tool: str) -> None:
    ids = await PROMISES[SERVICE_OF[tool]].prepare(house.asker)
    before = await seen(house, tool, ids)
    undo = await done_in_run(house, tool, PROMISED[tool].example_arguments(ids))
    after = await seen(house, tool, ids)

    redo = await undo()
    taken_back = await seen(house, tool, ids)
    undo_again = await redo()
    done_again = await seen(house, tool, ids)
    await undo_again()

    assert after != before, "nothing that a reading tool shows has changed"
    assert taken_back == before
    assert done_again == after
    assert await seen(house, tool, ids) == before


@pytest.mark.parametrize("tool", NO_WAY_BACK)
async def test_what_has_no_way_back_does_not_say_that_it_has_one(house: House, tool: str) -> None:
    ids = await PROMISES[SERVICE_OF[tool]].prepare(house.asker)
    await in_run(house, tool).asker.ask(tool, **PROMISED[tool].example_arguments(ids))

    assert not TOOLS[tool].restorable
    assert TOOLS[tool].effect != "destroy"
    assert await house.madang.operations.list_by_run(house.call, RUN) == []


def test_what_takes_away_can_be_brought_back() -> None:
    assert [name for name in EFFECTS if TOOLS[name].effect == "destroy" and not TOOLS[name].restorable] == []
