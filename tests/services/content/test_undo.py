"""What brings or takes away contents and stores is an operation that can be taken back, and so can the undo."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from madang.core.errors import Conflict, LimitExceeded, NotFound
from madang.core.ids import SessionId
from madang.core.operations import Operation
from madang.core.uploads import AcceptedUpload
from madang.records.operations import OperationStore
from madang.services.content.domain.contents import DELETED_DAYS, Limits
from madang.system import clock
from tests.asking import Asker
from tests.services.content.contents import BACK_ENDS, add, open_content, search

CHANGES = ("create_store", "add_content", "delete_content", "delete_store")


class Library:
    """A session with its own store and another, and something in each."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker.with_call(actor="person", door="host")
        self.store = self.own = self.alpha = self.beta = self.gamma = ""

    async def fill(self) -> Library:
        self.store = (await self.asker.done("create_store", metadata={"name": "Papers"})).data["storeId"]
        self.alpha = await add(self.asker, "alpha needle", "alpha.txt", storeId=self.store)
        self.beta = await add(self.asker, "beta needle", "beta.txt", storeId=self.store)
        self.gamma = await add(self.asker, "gamma needle", "gamma.txt")
        self.own = next(store["storeId"] for store in await self.stores() if store["isDefault"])
        return self

    async def stores(self) -> list[dict[str, Any]]:
        return (await self.asker.done("list_stores")).data["stores"]  # type: ignore[no-any-return]

    async def change(self, tool: str) -> None:
        arguments: dict[str, dict[str, Any]] = {
            "create_store": {"metadata": {"name": "More", "description": "To read"}},
            "add_content": {"content": "delta needle", "storeId": self.store},
            "delete_content": {"contentId": self.alpha},
            "delete_store": {"storeId": self.store},
        }
        await self.asker.done(tool, **arguments[tool])

    async def state(self) -> dict[str, Any]:
        """Everything that a model or a person can see, and what a search finds in each store."""
        stores = await self.stores()
        ids = [store["storeId"] for store in stores]
        return {
            "stores": stores,
            "contents": [(await self.asker.done("list_content", storeId=id)).data["contents"] for id in ids],
            "found": [sorted(await search(self.asker, "needle", storeId=id)) for id in ids],
        }

    async def operations(self) -> list[Operation]:
        return await OperationStore(self.asker.database).list_newest(self.asker.call)

    async def undo(self, operation: Operation | None = None) -> Operation:
        operation = operation or (await self.operations())[0]
        return await self.asker.provider.undo(self.asker.call, operation)


@pytest.fixture
async def library(asker: Asker) -> Library:
    return await Library(asker).fill()


@pytest.mark.parametrize("tool", CHANGES)
async def test_what_a_tool_changed_is_taken_back_and_the_undo_too(library: Library, tool: str) -> None:
    before = await library.state()
    await library.change(tool)
    after = await library.state()

    undone = await library.undo()
    taken_back = await library.state()
    redone = await library.undo(undone)
    again = await library.state()
    await library.undo(redone)

    assert after != before
    assert taken_back == before
    assert again == after
    assert await library.state() == before


async def test_a_deleted_store_comes_back_with_its_ids_and_is_found_again_after_a_restart(tmp_path: Path) -> None:
    async with open_content(tmp_path) as asker:
        library = await Library(asker).fill()
        before = await library.state()
        await library.change("delete_store")
        assert (await asker.ask("read_content", contentId=library.alpha)).error_code == "not_found"
        assert (await asker.ask("restore_content", contentId=library.alpha)).error_code == "not_found"
    async with open_content(tmp_path) as asker:
        library.asker = Library(asker).asker
        assert [store["storeId"] for store in await library.stores()] == [library.own]
        await asker.done("list_stores")
        await library.undo()

        assert await library.state() == before


async def test_the_deletion_of_a_store_says_that_there_is_a_way_back(library: Library) -> None:
    reply = await library.asker.done("delete_store", storeId=library.store)

    assert "For 30 days the person can take it back" in reply.text
    assert "'madang sessions undo NAME --operation'" in reply.text


async def test_the_own_store_comes_back_beside_the_one_that_was_begun_since(library: Library) -> None:
    await library.asker.done("delete_store", storeId=library.own)
    new = await add(library.asker, "epsilon needle")

    await library.undo((await library.operations())[1])

    assert await search(library.asker, "needle") == [new]
    assert await search(library.asker, "needle", storeId=library.own) == [library.gamma]
    assert [store["isDefault"] for store in await library.stores()].count(True) == 1


async def test_a_store_that_was_restored_keeps_what_was_deleted_in_it_before(library: Library) -> None:
    await library.change("delete_content")
    deletion = (await library.operations())[0]
    await library.change("delete_store")
    with pytest.raises(Conflict):
        await library.undo(deletion)

    await library.undo()
    assert await search(library.asker, "needle", storeId=library.store) == [library.beta]
    await library.undo(deletion)

    assert set(await search(library.asker, "needle", storeId=library.store)) == {library.alpha, library.beta}


async def test_restoring_a_content_takes_its_deletion_back(library: Library) -> None:
    await library.change("delete_content")
    [deletion, *_] = await library.operations()
    before = await library.state()

    await library.asker.done("restore_content", contentId=library.alpha)

    [restored, deleted, *_] = await library.operations()
    assert (deleted.id, bool(deleted.undone_at)) == (deletion.id, True)
    with pytest.raises(Conflict):
        await library.undo(deletion)
    await library.undo(restored)
    assert await library.state() == before


async def test_what_was_taken_away_since_is_said_and_stays_undoable(library: Library) -> None:
    await library.change("add_content")
    addition = (await library.operations())[0]
    content = (await library.asker.done("list_content", storeId=library.store)).data["contents"][-1]
    await library.asker.done("delete_content", contentId=content["contentId"])

    with pytest.raises(NotFound):
        await library.undo(addition)
    await library.asker.done("restore_content", contentId=content["contentId"])
    await library.undo(addition)

    assert (await library.asker.ask("read_content", contentId=content["contentId"])).error_code == "not_found"


async def test_a_store_comes_back_only_where_there_is_room_for_it(tmp_path: Path) -> None:
    async with open_content(tmp_path, limits=Limits(stores=2, contents=3)) as asker:
        library = await Library(asker).fill()
        await library.change("delete_store")
        deletion = (await library.operations())[0]
        other = (await asker.done("create_store")).data["storeId"]
        with pytest.raises(LimitExceeded, match="2 stores"):
            await library.undo(deletion)
        await asker.done("delete_store", storeId=other)
        await add(asker, "zeta")
        with pytest.raises(LimitExceeded, match="3 contents"):
            await library.undo(deletion)


async def test_a_deleted_store_is_in_no_copy_and_counts_for_nothing(library: Library) -> None:
    await library.change("delete_store")
    [service] = await library.asker.provider.open_services()

    await service.copy_session(library.asker.call, SessionId("copy"))

    copy = library.asker.with_call(session_id=SessionId("copy"))
    assert [store["isDefault"] for store in (await copy.done("list_stores")).data["stores"]] == [True]
    assert await OperationStore(copy.database).list_newest(copy.call) == []


async def test_what_was_deleted_long_ago_goes_for_good_with_the_next_deletion(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.change("delete_store")
    deletion = (await library.operations())[0]
    monkeypatch.setattr(clock, "now", lambda: datetime.now(UTC) + timedelta(days=DELETED_DAYS + 0.01))

    with pytest.raises(Conflict):
        await library.undo(deletion)
    await library.asker.done("delete_content", contentId=library.gamma)

    user = library.asker.call.user_id
    for table in ("content_store", "content", "content_chunk"):
        rows = await library.asker.database.find(f"SELECT count(*) FROM {table}", user_id=user)
        assert rows[0][0] == (1 if table == "content_store" else 0), table


async def test_a_session_that_is_forgotten_takes_its_deleted_stores_along(library: Library) -> None:
    await library.change("delete_store")
    [service] = await library.asker.provider.open_services()

    await service.forget_session(library.asker.call)

    user = library.asker.call.user_id
    for table in ("content_store", "content", "content_chunk"):
        assert await library.asker.database.find(f"SELECT 1 FROM {table}", user_id=user) == []


@pytest.mark.parametrize("tool", CHANGES)
async def test_a_call_that_is_repeated_changes_nothing_more_and_says_the_same(library: Library, tool: str) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "create_store": {"metadata": {"name": "More", "description": "To read"}},
        "add_content": {"fileUrl": "data:text/plain,delta%20needle", "storeId": library.store},
        "delete_content": {"contentId": library.alpha},
        "delete_store": {"storeId": library.store},
    }
    once = library.asker.with_call(operation_id="run-1/1/0")

    first = await once.done(tool, **arguments[tool])
    after = await library.state()
    again = await once.done(tool, **arguments[tool])

    assert (again.text, again.data) == (first.text, first.data)
    assert await library.state() == after
    await library.undo()
    undone = await library.state()
    late = await once.done(tool, **arguments[tool])
    assert (late.text, late.data) == (first.text, first.data)
    assert await library.state() == undone


@pytest.mark.parametrize("kind", BACK_ENDS)
async def test_calls_under_one_operation_at_once_have_one_effect(tmp_path: Path, kind: str) -> None:
    async with open_content(tmp_path, kind) as asker:
        once = asker.with_call(operation_id="run-1/1/0")

        replies = await asyncio.gather(*(once.ask("create_store", metadata={"name": "Papers"}) for _ in range(4)))

        done = [reply for reply in replies if not reply.is_error]
        assert len({reply.text for reply in done}) == 1
        assert (await asker.done("list_stores")).data["total"] == 1


async def test_nothing_is_kept_of_an_addition_whose_upload_was_cancelled(library: Library) -> None:
    secret = await add(library.asker, "secret needle", "secret.txt")
    accepted = AcceptedUpload(secret, "add_content", [])
    await library.asker.provider.withdraw_upload(library.asker.call, "content", accepted)

    operations = await library.operations()

    assert operations
    assert all("secret" not in operation.change for operation in operations)


async def test_operations_say_what_they_did(library: Library) -> None:
    for tool in CHANGES:
        await library.change(tool)
    await library.undo()

    described = [str(library.asker.provider.describe(operation)) for operation in await library.operations()]

    assert described[:5] == [
        "store restored: Papers",
        "store deleted: Papers",
        "content deleted: alpha.txt",
        "content added: untitled.txt",
        "store created: More",
    ]


async def test_another_session_cannot_take_it_back(library: Library) -> None:
    await library.change("delete_store")
    elsewhere = replace(library.asker.call, session_id=SessionId("elsewhere"))

    with pytest.raises(Conflict):
        await library.asker.provider.undo(elsewhere, (await library.operations())[0])

    await library.undo()
