"""What the tools of the planning service promise."""

from __future__ import annotations

from tests.asking import Asker
from tests.promises import Ids, Promise, ServicePromises


async def prepare(asker: Asker) -> Ids:
    await asker.done("create_goal", goal="Goal of the session")
    await asker.done("add_todo", name="First todo")
    await asker.done("add_observation", observation="Seen")
    return {}


async def fill(asker: Asker) -> Ids:
    for number in range(1, 11):
        await asker.done("add_observation", observation="관" * 2000)
        await asker.done("add_todo", name="할" * 1000)
        await asker.done("mark_todo", id=number, summary="요" * 2000)
    for goal in ("옛" * 2000, "새" * 2000):
        await asker.done("create_goal", goal=goal)
    return {}


PROMISES = ServicePromises(
    {
        "create_goal": Promise("write", {"goal": "New goal"}),
        "clear_goal": Promise("destroy", {}),
        "add_todo": Promise("write", {"name": "New todo"}),
        "mark_todo": Promise("write", {"id": 1, "summary": "well"}, refused={"id": 99}),
        "update_todo": Promise(
            "write",
            {"id": 1, "name": "Renamed"},
            refused={"id": 99},
            largest={"id": 1, "position": 5},
            audience="panel",
        ),
        "clear_todos": Promise("destroy", {"ids": [1]}),
        "add_observation": Promise("write", {"observation": "New"}, largest={"observation": "새" * 2000}),
        "clear_session": Promise("destroy", {}),
        "get_current_state": Promise("read", {}),
    },
    prepare,
    fill,
)
