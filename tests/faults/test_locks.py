"""A process that keeps the database or a search index locked, or was stopped while it did: calls are answered soon."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import apsw

from madang.app import Madang, open_madang
from madang.core.ids import AssistantId, SessionId
from madang.database.port import LOCK_WAIT_S
from madang.settings import Settings
from tests.asking import CALL, Asker
from tests.faults.children import child
from tests.faults.story import check_file
from tests.stores.children import Child
from tests.stores.children import child as storage_child

WITHIN_S = 1.9 * LOCK_WAIT_S
"""Nobody waits for a lock twice in a row, so 5 s are kept on a quiet machine; the rest is for a busy one."""
AT_ONCE_S = 0.9 * LOCK_WAIT_S
"""What needs no lock waits for none."""


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Asker, Madang]]:
    async with open_madang(Settings(folder)) as madang:
        await madang.provider.open_all()
        yield Asker(madang.provider, madang.database, CALL), madang


@asynccontextmanager
async def locked(folder: Path) -> AsyncIterator[Child]:
    async with storage_child("hold_write_lock", folder / "madang.db") as other:
        assert await other.line() == "held"
        yield other


async def release(other: Child) -> None:
    await other.go()
    assert await other.line() == "released"


def seconds_since(started: float) -> float:
    return time.monotonic() - started


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(folder / "madang.db"))
    try:
        return list(connection.execute(sql))
    finally:
        connection.close()


async def test_calls_one_after_another_are_each_refused_in_time(tmp_path: Path) -> None:
    """Also those that come after the audit rows of the first have begun to wait for the same lock."""
    async with opened(tmp_path) as (asker, _), locked(tmp_path) as other:
        for name in ("first", "second"):
            started = time.monotonic()
            reply = await asker.ask("add_todo", name=name)
            assert reply.error_code == "unavailable"
            assert "Nothing was written" in reply.text
            assert seconds_since(started) <= WITHIN_S
        await release(other)
        started = time.monotonic()
        await asker.done("add_todo", name="after")
        assert seconds_since(started) <= AT_ONCE_S

        assert [todo["name"] for todo in (await asker.done("get_current_state")).data["todos"]] == ["after"]
    assert len(rows(tmp_path, "SELECT tool FROM audit WHERE tool = 'add_todo'")) == 3
    check_file(tmp_path / "madang.db")


async def test_twenty_calls_at_once_are_refused_in_time_and_go_on_when_the_lock_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (asker, _), locked(tmp_path) as other:
        sessions = [asker.with_call(session_id=SessionId(f"s{number}")) for number in range(20)]
        started = time.monotonic()
        replies = await asyncio.gather(*(one.ask("create_goal", goal="early") for one in sessions))
        assert seconds_since(started) <= WITHIN_S
        assert {reply.error_code for reply in replies} == {"unavailable"}

        waiting = [asyncio.create_task(one.ask("create_goal", goal="late")) for one in sessions]
        await asyncio.sleep(0.5)
        await release(other)
        started = time.monotonic()
        replies = await asyncio.gather(*waiting)
        assert seconds_since(started) <= AT_ONCE_S
        assert not any(reply.is_error for reply in replies)
        for one in sessions:
            assert (await one.done("get_current_state")).data["goal"] == "late"
    check_file(tmp_path / "madang.db")


async def test_what_is_only_told_or_remembered_does_not_hold_up_what_was_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as (asker, madang):
        playbook = (await asker.done("create_playbook", goal="harvest", workflow=[])).data["playbook"]
        async with locked(tmp_path) as other, anyio.create_task_group() as group:
            noticed = anyio.Event()

            async def watch() -> None:
                async for topics in madang.database.changes("workspace/"):
                    if topics:
                        noticed.set()
                        return

            group.start_soon(watch)
            fresh = asker.with_call(session_id=SessionId("a new one"))
            for tool, arguments in (
                ("write_file", {"path": "a.txt", "content": "one"}),
                ("edit_file", {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}),
                ("read_file", {"path": "a.txt"}),
                ("show_playbooks", {}),
                ("list_playbooks", {}),
                ("get_current_state", {}),
            ):
                started = time.monotonic()
                reply = await fresh.done(tool, **arguments)
                assert seconds_since(started) <= AT_ONCE_S, tool
                assert tool != "show_playbooks" or reply.pause is not None
            assert not noticed.is_set()
            await release(other)
            with anyio.fail_after(60):
                await noticed.wait()
        # The choice that could not be kept is not needed.
        await fresh.done("select_playbook", id=playbook["id"])
        assert (await fresh.done("read_file", path="a.txt")).data["content"] == "two"


async def test_a_run_is_refused_a_choice_that_cannot_be_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as (asker, _):
        await asker.done("create_playbook", goal="harvest", workflow=[])
        async with locked(tmp_path) as other:
            started = time.monotonic()
            reply = await asker.with_call(run_id="a run").ask("show_playbooks")
            assert reply.error_code == "unavailable"
            assert seconds_since(started) <= WITHIN_S
            await release(other)


async def test_a_process_that_starts_while_the_database_is_locked_answers_in_time_and_closes(tmp_path: Path) -> None:
    """Twenty calls that open five services at once, of which those that have no tables yet need the lock."""
    async with opened(tmp_path) as (asker, _):
        await asker.done("list_playbooks")
    connection = apsw.Connection(str(tmp_path / "madang.db"))
    connection.execute("DELETE FROM migration WHERE set_name = 'planning'; DROP TABLE plan")
    connection.close()
    async with locked(tmp_path) as other:
        started = time.monotonic()
        async with open_madang(Settings(tmp_path)) as madang:
            asker = Asker(madang.provider, madang.database, CALL)
            calls = [asker.ask("add_todo", name="x"), asker.ask("list_playbooks"), asker.ask("list_stores")]
            replies = await asyncio.gather(*calls, *(asker.ask("add_todo", name="x") for _ in range(17)))
            assert seconds_since(started) <= WITHIN_S
            assert [reply.error_code for reply in replies[1:3]] == ["", ""]
            assert {reply.error_code for reply in (replies[0], *replies[3:])} == {"unavailable"}
            started = time.monotonic()
        assert seconds_since(started) <= WITHIN_S
        await release(other)


@asynccontextmanager
async def stopped(folder: Path, *more: object) -> AsyncIterator[Child]:
    """Stop a process where it holds a lock; it goes on, and ends, with the block."""
    async with child("hold", folder, *more) as other:
        assert await other.line() == "held"
        os.kill(other.process.pid, signal.SIGSTOP)
        try:
            yield other
        finally:
            os.kill(other.process.pid, signal.SIGCONT)


async def found(asker: Asker, query: str) -> tuple[int, bool]:
    """Return how many passages are found, and whether the reply says that it may lag."""
    reply = await asker.done("keyword_similarity_search", query=query)
    return len(reply.data["results"]), "may not find everything yet" in reply.text


async def test_an_index_that_a_stopped_process_holds_is_searched_as_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as (asker, _):
        await asker.done("add_content", content="oolong tea")
        other_store = (await asker.done("create_store")).data["storeId"]
        await asker.done("add_content", content="oolong cake", storeId=other_store)
        async with stopped(tmp_path, "index", "barley tea"):
            started = time.monotonic()
            assert await found(asker, "tea") == (1, True)
            assert seconds_since(started) <= WITHIN_S

            started = time.monotonic()
            replies = await asyncio.gather(*(asker.done("keyword_similarity_search", query="tea") for _ in range(20)))
            assert seconds_since(started) <= WITHIN_S
            assert {len(reply.data["results"]) for reply in replies} == {1}

            started = time.monotonic()
            added = await asker.done("add_content", content="green tea")
            await asker.done("delete_content", contentId=added.data["contentId"])
            assert seconds_since(started) <= AT_ONCE_S  # neither waits for the index
        await asyncio.sleep(2)
        assert await found(asker, "tea") == (2, False)


async def test_a_store_whose_index_a_stopped_process_holds_can_be_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path) as (asker, _):
        store = (await asker.done("create_store")).data["storeId"]
        await asker.done("add_content", content="tea", storeId=store)
        async with stopped(tmp_path, "index", "barley tea", store):
            started = time.monotonic()
            await asker.done("delete_store", storeId=store)
            assert seconds_since(started) <= WITHIN_S
    assert (tmp_path / "index" / store).exists()
    async with opened(tmp_path) as (asker, _):
        assert not (tmp_path / "index" / store).exists()


async def test_a_process_that_was_stopped_while_it_loads_an_index_takes_no_thread(tmp_path: Path) -> None:
    """tantivy waits for its own lock for ever, in a thread for each search."""
    async with opened(tmp_path) as (asker, _):
        await asker.done("add_content", content="oolong tea")
        async with opened(tmp_path) as (second, _):
            assert await found(second, "tea") == (1, False)
            await asker.done("add_content", content="barley tea")
            (lock,) = (tmp_path / "index").glob("*/words/.tantivy-meta.lock")
            async with stopped(tmp_path, "file", lock):
                started = time.monotonic()
                replies = await asyncio.gather(
                    *(second.done("keyword_similarity_search", query="tea") for _ in range(40)),
                )
                assert {len(reply.data["results"]) for reply in replies} == {1}
                assert all("may not find everything yet" in reply.text for reply in replies)
                await second.done("write_file", path="a", content="b")
                assert seconds_since(started) <= WITHIN_S
            assert await found(second, "tea") == (2, False)


async def test_a_workspace_that_a_stopped_process_holds_refuses_twenty_writes_in_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as (asker, madang):
        await asker.done("write_file", path="a", content="b")
        (lock,) = (tmp_path / "workspaces").glob("*/temporary/lock")
        async with stopped(tmp_path, "file", lock):
            started = time.monotonic()
            replies = await asyncio.gather(
                *(asker.ask("write_file", path=f"f{number}", content="c") for number in range(20)),
            )
            assert {reply.error_code for reply in replies} == {"unavailable"}
            assert seconds_since(started) <= 2 * WITHIN_S
            assert (await asker.done("read_file", path="a")).data["content"] == "b"
        await asker.done("write_file", path="a", content="c")
        elsewhere = replace(CALL, assistant_id=AssistantId("other"), session_id=SessionId("other"))
        await Asker(madang.provider, madang.database, elsewhere).done("write_file", path="a", content="c")
