"""Every change of playbooks is an operation that can be taken back, and so can the undo."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from madang.core.errors import Conflict, NotFound
from madang.core.operations import Operation
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.records.operations import OperationStore
from madang.services.playbook.service import PlaybookService
from tests.asking import Asker
from tests.backends import BACK_ENDS
from tests.services.playbook.playbooks import STEP

DOCUMENT = '{"madangPlaybooks": 1, "playbooks": [{"goal": "Milk", "workflow": []}, {"goal": "Juice", "workflow": []}]}'
CHANGES = ("create_playbook", "update_playbook", "delete_playbook", "import_playbooks")


class Shelf:
    """An assistant with three playbooks."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker.with_call(actor="person", door="host")
        self.ids: list[str] = []

    async def fill(self) -> Shelf:
        for goal in ("Tea", "커피", "Water"):
            created = await self.asker.done("create_playbook", goal=goal, workflow=[STEP])
            self.ids.append(created.data["playbook"]["id"])
        return self

    def arguments(self, tool: str) -> dict[str, Any]:
        arguments: dict[str, dict[str, Any]] = {
            "create_playbook": {"goal": "Soup", "workflow": [STEP]},
            "update_playbook": {"id": self.ids[1], "playbook": {"goal": "Espresso", "workflow": []}},
            "delete_playbook": {"id": self.ids[1]},
            "import_playbooks": {"document": DOCUMENT},
        }
        return arguments[tool]

    async def change(self, tool: str) -> None:
        await self.asker.done(tool, **self.arguments(tool))

    async def state(self) -> dict[str, Any]:
        """What people wrote of each playbook, in order; which are found; the versions only ever grow."""
        listed = (await self.asker.done("list_playbooks")).data["page"]["items"]
        whole = [(await self.asker.done("get_playbook", id=item["id"])).data["playbook"] for item in listed]
        words = ("tea", "커피", "espresso", "soup", "juice")
        found = {word: (await self.asker.done("list_playbooks", query=word)).data["page"]["items"] for word in words}
        return {
            "playbooks": [
                {name: playbook[name] for name in playbook if name not in ("version", "updatedAt")}
                for playbook in whole
            ],
            "found": {word: [item["id"] for item in items] for word, items in found.items()},
        }

    async def operations(self) -> list[Operation]:
        return await OperationStore(self.asker.database).list_newest(self.asker.call)

    async def undo(self, operation: Operation | None = None) -> Operation:
        return await self.asker.provider.undo(self.asker.call, operation or (await self.operations())[0])


@pytest.fixture(params=BACK_ENDS)
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shelf]:
    database = BACK_ENDS[request.param](tmp_path)
    provider = Provider(AuditLog(database))
    provider.register(PlaybookService(database))
    try:
        yield await Shelf(Asker(provider, database)).fill()
    finally:
        await provider.close()
        await database.close()


@pytest.mark.parametrize("tool", CHANGES)
async def test_what_a_tool_changed_is_taken_back_and_the_undo_too(shelf: Shelf, tool: str) -> None:
    before = await shelf.state()
    await shelf.change(tool)
    after = await shelf.state()

    undone = await shelf.undo()
    taken_back = await shelf.state()
    redone = await shelf.undo(undone)
    again = await shelf.state()
    await shelf.undo(redone)

    assert after != before
    assert taken_back == before
    assert again == after
    assert await shelf.state() == before


@pytest.mark.parametrize("tool", CHANGES)
async def test_a_call_that_is_repeated_changes_nothing_more_and_says_the_same(shelf: Shelf, tool: str) -> None:
    once = shelf.asker.with_call(operation_id="run-1/1/0")

    first = await once.done(tool, **shelf.arguments(tool))
    after = await shelf.state()
    again = await once.done(tool, **shelf.arguments(tool))

    assert (again.text, again.data) == (first.text, first.data)
    assert await shelf.state() == after
    await shelf.undo()
    undone = await shelf.state()
    late = await once.done(tool, **shelf.arguments(tool))
    assert (late.text, late.data) == (first.text, first.data)
    assert await shelf.state() == undone


async def test_an_update_is_not_taken_back_over_a_later_one(shelf: Shelf) -> None:
    await shelf.change("update_playbook")
    earlier = (await shelf.operations())[0]
    await shelf.asker.done("update_playbook", id=shelf.ids[1], playbook={"goal": "Ristretto"})
    later, state = (await shelf.operations())[0], await shelf.state()

    with pytest.raises(Conflict, match="changed since"):
        await shelf.undo(earlier)
    assert await shelf.state() == state

    await shelf.undo(later)
    await shelf.undo(earlier)
    assert [playbook["goal"] for playbook in (await shelf.state())["playbooks"]] == ["Tea", "커피", "Water"]


async def test_an_undo_makes_a_new_version_so_that_expected_versions_hold(shelf: Shelf) -> None:
    await shelf.change("update_playbook")
    await shelf.undo()

    playbook = (await shelf.asker.done("get_playbook", id=shelf.ids[1])).data["playbook"]
    assert (playbook["goal"], playbook["version"]) == ("커피", 3)
    stale = await shelf.asker.ask("update_playbook", id=shelf.ids[1], playbook={"goal": "x"}, expectedVersion=2)
    assert stale.error_code == "conflict"


async def test_restoring_a_playbook_takes_its_deletion_back(shelf: Shelf) -> None:
    await shelf.change("delete_playbook")
    [deletion, *_] = await shelf.operations()
    before = await shelf.state()

    await shelf.asker.done("restore_playbook", id=shelf.ids[1])

    [restored, deleted, *_] = await shelf.operations()
    assert (deleted.id, bool(deleted.undone_at)) == (deletion.id, True)
    with pytest.raises(Conflict):
        await shelf.undo(deletion)
    await shelf.undo(restored)
    assert await shelf.state() == before


async def test_what_was_deleted_since_an_import_stays_so(shelf: Shelf) -> None:
    imported = (await shelf.asker.done("import_playbooks", document=DOCUMENT)).data["ids"]
    operation = (await shelf.operations())[0]
    await shelf.asker.done("delete_playbook", id=imported[0])

    undone = await shelf.undo(operation)
    await shelf.undo(undone)

    assert [playbook["goal"] for playbook in (await shelf.state())["playbooks"]] == ["Tea", "커피", "Water", "Juice"]


async def test_what_was_created_and_deleted_cannot_be_taken_back_twice(shelf: Shelf) -> None:
    created = (await shelf.asker.done("create_playbook", goal="Soup", workflow=[])).data["playbook"]["id"]
    operation = (await shelf.operations())[0]
    await shelf.asker.done("delete_playbook", id=created)

    with pytest.raises(NotFound):
        await shelf.undo(operation)


async def test_a_change_without_a_session_can_be_taken_back_as_well(shelf: Shelf) -> None:
    shelf.asker = shelf.asker.with_call(session_id=None)
    before = await shelf.state()
    await shelf.change("update_playbook")

    await shelf.undo()

    assert await shelf.state() == before


async def test_another_assistant_of_the_session_takes_nothing_of_its_own_back(shelf: Shelf) -> None:
    before = await shelf.state()
    await shelf.change("delete_playbook")

    other = shelf.asker.with_call(assistant_id="another")
    await other.provider.undo(other.call, (await shelf.operations())[0])

    assert await shelf.state() == before
    assert (await other.done("list_playbooks")).data["page"]["items"] == []


async def test_operations_say_what_they_did(shelf: Shelf) -> None:
    for tool in CHANGES:
        await shelf.change(tool)

    described = [str(shelf.asker.provider.describe(operation)) for operation in await shelf.operations()]

    assert described[:4] == [
        "2 playbook(s) added: Milk, Juice",
        "1 playbook(s) deleted: Espresso",
        "1 playbook(s) changed: Espresso",
        "1 playbook(s) added: Soup",
    ]
