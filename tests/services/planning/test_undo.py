"""Every change of a plan is an operation that can be taken back, and so can the undo."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from madang.core.errors import Conflict, Denied
from madang.core.operations import Operation
from madang.records.operations import OperationStore
from tests.asking import Asker

CHANGES: dict[str, dict[str, Any]] = {
    "create_goal": {"goal": "Sail"},
    "clear_goal": {},
    "add_todo": {"name": "Pack"},
    "mark_todo": {"id": 2, "summary": "done"},
    "update_todo": {"id": 3, "position": 1},
    "clear_todos": {"ids": [1, 3]},
    "add_observation": {"observation": "It rains"},
    "clear_session": {},
}


async def state(asker: Asker) -> dict[str, Any]:
    data = (await asker.done("get_current_state")).data
    return {name: data[name] for name in ("goal", "lastClearedGoal", "todos", "observations")}


async def given(asker: Asker) -> dict[str, Any]:
    await asker.done("create_goal", goal="Move house")
    for name in ("Boxes", "Van", "Keys"):
        await asker.done("add_todo", name=name)
    await asker.done("add_observation", observation="The van is blue")
    return await state(asker)


async def newest(asker: Asker) -> Operation:
    [operation] = await OperationStore(asker.database).list_newest(asker.call, 1)
    return operation


def person(asker: Asker) -> Asker:
    return asker.with_call(actor="person", door="host")


@pytest.mark.parametrize("tool", CHANGES)
async def test_what_a_tool_changed_is_taken_back_and_the_undo_too(asker: Asker, tool: str) -> None:
    asker = person(asker)
    before = await given(asker)
    await asker.done(tool, **CHANGES[tool])
    after = await state(asker)

    undone = await asker.provider.undo(asker.call, await newest(asker))
    taken_back = await state(asker)
    await asker.provider.undo(asker.call, undone)

    assert after != before
    assert taken_back == before
    assert await state(asker) == after


async def test_what_was_changed_since_stays(asker: Asker) -> None:
    asker = person(asker)
    await given(asker)
    await asker.done("clear_todos")
    cleared = await newest(asker)
    await asker.done("add_todo", name="Later")
    await asker.done("create_goal", goal="Sail")

    await asker.provider.undo(asker.call, cleared)

    now = await state(asker)
    assert [todo["name"] for todo in now["todos"]] == ["Boxes", "Van", "Keys", "Later"]
    assert now["goal"] == "Sail"
    assert len({todo["id"] for todo in now["todos"]}) == 4


async def test_an_operation_is_taken_back_once(asker: Asker) -> None:
    asker = person(asker)
    before = await given(asker)
    await asker.done("clear_session")
    operation = await newest(asker)
    await asker.provider.undo(asker.call, operation)

    with pytest.raises(Conflict):
        await asker.provider.undo(asker.call, operation)

    assert await state(asker) == before


@pytest.mark.parametrize("actor", ["model", "foreign"])
async def test_no_model_takes_something_back(asker: Asker, actor: Any) -> None:
    await given(asker)
    operation = await newest(asker)

    with pytest.raises(Denied):
        await asker.provider.undo(replace(asker.call, actor=actor), operation)


async def test_a_call_that_is_repeated_changes_nothing_more_and_says_the_same(asker: Asker) -> None:
    await given(asker)
    once = asker.with_call(operation_id="run-1/1/0")

    first = await once.done("add_todo", name="Pack")
    again = await once.done("add_todo", name="Pack")

    assert again.text == first.text
    assert [todo["name"] for todo in (await state(asker))["todos"]].count("Pack") == 1
