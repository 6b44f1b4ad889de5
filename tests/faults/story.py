"""A fixed story of writes through the provider, and the state after each: whoever is stopped on the way must be found
at the last step that was acknowledged, or at the one after it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from madang.core.results import Reply
from madang.database.port import Database, Row, Transaction
from madang.database.sqlite.database import SqliteDatabase
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.services import builtin_services
from tests.asking import NO_FOLDERS, Asker


@dataclass(frozen=True)
class Step:
    """One call. `of` is the goal of the playbook it is about: ids are made anew each time."""

    tool: str
    arguments: dict[str, Any]
    of: str = ""


DOCUMENT = "madangPlaybooks: 1\nplaybooks:\n- {goal: imported, workflow: []}\n- {goal: imported too, workflow: []}\n"
STORY = (
    Step("create_playbook", {"goal": "harvest", "workflow": [{"description": "look at the field"}]}),
    Step("create_goal", {"goal": "bring it in"}),
    Step("add_todo", {"name": "sharpen the scythe"}),
    Step("update_playbook", {"playbook": {"initialCommand": "go"}, "expectedVersion": 1}, of="harvest"),
    Step("add_todo", {"name": "call the neighbours"}),
    Step("import_playbooks", {"document": DOCUMENT}),
    Step("mark_todo", {"id": 1, "summary": "it is sharp"}),
    Step("select_playbook", {}, of="harvest"),
    Step("add_observation", {"observation": "rain is coming " * 60}),
    Step("delete_playbook", {}, of="imported too"),
    Step("update_playbook", {"playbook": {"workflow": []}, "expectedVersion": 2}, of="harvest"),
    Step("create_playbook", {"goal": "수확", "workflow": [{"description": "x" * 4000}] * 5}),
    Step("clear_todos", {"ids": [2]}),
    Step("delete_playbook", {}, of="harvest"),
)


@asynccontextmanager
async def open_story(database: Database) -> AsyncIterator[Asker]:
    """Open the built-in services on a database at once; both are closed at the end."""
    provider = Provider(AuditLog(database))
    for service in builtin_services(database, NO_FOLDERS):
        provider.register(service)
    try:
        await provider.open_all()
        yield Asker(provider, database)
    finally:
        await provider.close()
        await database.close()


async def tell(asker: Asker, step: Step) -> Reply:
    """Make the call of one step."""
    arguments = dict(step.arguments)
    if step.of:
        found = await asker.ask("list_playbooks", query=step.of, sortBy="createdAt", sortOrder="asc")
        if found.is_error:
            return found
        arguments["id"] = next(item["id"] for item in found.data["page"]["items"] if item["goal"] == step.of)
    return await asker.ask(step.tool, **arguments)


async def state(asker: Asker) -> dict[str, Any]:
    """Return everything this assistant and session can see, but for ids and times."""
    page = (await asker.done("list_playbooks")).data["page"]
    playbooks = []
    for item in page["items"]:
        playbook = (await asker.done("get_playbook", id=item["id"])).data["playbook"]
        steps = [step["description"] for step in playbook["workflow"]]
        playbooks.append([playbook["goal"], playbook["initialCommand"], playbook["version"], steps])
    runs = (await asker.done("list_playbook_runs")).data["page"]["items"]
    return {
        "total": page["totalItems"],
        "playbooks": playbooks,
        "runs": [[run["goal"], run["version"]] for run in runs],
        "plan": (await asker.done("get_current_state")).data,
    }


async def states() -> list[dict[str, Any]]:
    """Return the state before the first step and after each."""
    async with open_story(SqliteDatabase(None)) as asker:
        found = [await state(asker)]
        for step in STORY:
            reply = await tell(asker, step)
            assert not reply.is_error, reply.text
            found.append(await state(asker))
    return found


async def check_inside(database: Database) -> None:
    """Check an open database: it is whole, and every count that is kept agrees with the rows."""

    async def work(tx: Transaction) -> dict[str, list[Row]]:
        return {name: await tx.all(sql) for name, sql in _CHECKS.items()}

    _assert_whole(await database.read(work))


def check_file(path: Path) -> None:
    """As `check_inside`, for a database that nobody has open."""
    connection = apsw.Connection(str(path))
    try:
        _assert_whole({name: connection.execute(sql).fetchall() for name, sql in _CHECKS.items()})
    finally:
        connection.close()


def _assert_whole(found: dict[str, list[Row]]) -> None:
    assert found["integrity"] == [("ok",)]
    assert found["foreign keys"] == []
    assert found["totals"] == found["rows"]
    for (document,) in found["plans"]:
        ids = [todo["id"] for todo in json.loads(document)["state"]["todos"]]
        assert len(ids) == len(set(ids))


_CHECKS = {
    "integrity": "PRAGMA integrity_check",
    "foreign keys": "PRAGMA foreign_key_check",
    "totals": "SELECT no, total FROM playbook_owner WHERE total > 0 ORDER BY no",
    "rows": "SELECT owner_no, count(*) FROM playbook GROUP BY 1 ORDER BY 1",
    "plans": "SELECT document FROM plan",
}
