"""The stores on every back end: totals and pages against a plain list, and many processes at one playbook."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.paging import ALL, MAX_PAGE_ITEMS
from madang.database.port import Database, Transaction
from madang.database.sqlite.database import SqliteDatabase
from madang.services.planning.domain import Plan
from madang.services.planning.store import PlanStore
from madang.services.playbook.domain import PlaybookContent, StepInput
from madang.services.playbook.store import PageRequest, PlaybookStore, SortOrder
from tests.backends import BACK_ENDS, EMBEDDED
from tests.stores.children import CALL, Child, child

OTHER = Call(assistant_id=AssistantId("other"))
PROCESSES = 8
UPDATES = 15


def content(goal: str) -> PlaybookContent:
    return PlaybookContent(goal=goal, workflow=[StepInput(description="do it")])


async def sow(database: Database, count: int, stride: int) -> None:
    """Put many playbooks in at once, spread over the sequence, with holes in it."""

    async def work(tx: Transaction) -> None:
        await tx.run("INSERT INTO playbook_owner (user_id, assistant_id) VALUES (?1, ?2)", CALL.user_id, CALL.assistant)
        await tx.run(
            "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?1) "
            "INSERT INTO playbook SELECT 10 + n * ?2, 'id ' || n, ?4, "
            "(SELECT no FROM playbook_owner WHERE assistant_id = ?3), "
            "1, '', '', 'goal ' || n, '', 0, '', '', '[]', '{}' FROM counted WHERE n <= ?1",
            count,
            stride,
            CALL.assistant,
            CALL.user_id,
        )

    await database.write(work)


async def remove(database: Database, first: int, last: int) -> None:
    async def work(tx: Transaction) -> None:
        await tx.run(
            "DELETE FROM playbook WHERE id IN "
            "(SELECT id FROM playbook WHERE goal LIKE 'goal %' ORDER BY seq LIMIT ?1 OFFSET ?2)",
            last - first,
            first,
        )

    await database.write(work)


async def listed(store: PlaybookStore, page: int, page_size: int, order: SortOrder) -> list[str]:
    found = await store.list_page(CALL, PageRequest(page, page_size, sort_order=order))
    return [item.id for item in found.items]


@pytest.mark.parametrize("back_end", EMBEDDED)  # it writes rows in their dialect
@given(
    count=st.integers(0, 3500),
    stride=st.sampled_from([1, 7, 300, 40_000]),
    cuts=st.lists(st.tuples(st.integers(0, 3500), st.integers(0, 1500)), max_size=4),
    page_size=st.sampled_from([1, 10, 333, MAX_PAGE_ITEMS, ALL]),
    page=st.integers(1, 400),
)
@settings(max_examples=15, deadline=None)
async def test_every_page_is_the_slice_of_a_plain_list(
    back_end: str, count: int, stride: int, cuts: list[tuple[int, int]], page_size: int, page: int
) -> None:
    with TemporaryDirectory() as folder:
        database = BACK_ENDS[back_end](Path(folder))
        store = PlaybookStore(database)
        await store.open()
        try:
            await store.add(OTHER, [content("another's"), content("another's")])
            await sow(database, count, stride)
            model = [f"id {number}" for number in range(1, count + 1)]
            for first, length in cuts:
                await remove(database, first, first + length)
                del model[first : first + length]
            model += [playbook.id for playbook in await store.add(CALL, [content("new"), content("newer")])]

            assert await store.total(CALL) == len(model)
            assert await store.total(OTHER) == 2
            size = MAX_PAGE_ITEMS if page_size == ALL else page_size
            pages = -(-len(model) // size)
            for wanted in {1, min(page, pages), (pages + 1) // 2, pages}:
                piece = slice((wanted - 1) * size, wanted * size)
                assert await listed(store, wanted, page_size, "asc") == model[piece]
                assert await listed(store, wanted, page_size, "desc") == model[::-1][piece]
            assert await listed(store, pages + 1, page_size, "asc") == model[(pages - 1) * size :]
        finally:
            await database.close()


async def test_t54_versioned_updates_from_many_processes_are_all_counted(tmp_path: Path) -> None:
    """Every process updates the same playbook from the version it saw: acknowledged updates = final version."""
    path = tmp_path / "madang.db"
    database = SqliteDatabase(path)
    store = PlaybookStore(database)
    await store.open()
    (playbook,) = await store.add(CALL, [content("shared")])

    async with AsyncExitStack() as stack:
        writers: list[Child] = []
        for _ in range(PROCESSES):
            writers.append(await stack.enter_async_context(child("update", path, playbook.id, str(UPDATES))))
        for writer in writers:
            assert await writer.line() == "ready"
        for writer in writers:
            await writer.go()
        acknowledged = [int((await writer.line()).split()[0]) for writer in writers]
        for writer in writers:
            await writer.end()

    final = await store.get(CALL, playbook.id)
    await database.close()
    assert acknowledged == [UPDATES] * PROCESSES
    assert final.version == 1 + UPDATES * PROCESSES


@pytest.mark.parametrize("back_end", BACK_ENDS)
async def test_t54_todos_added_at_once_are_all_there_under_ids_of_their_own(back_end: str, tmp_path: Path) -> None:
    database = BACK_ENDS[back_end](tmp_path)
    store = PlanStore(database)
    await store.open()
    call = Call(AssistantId("a"), SessionId("s"))

    await asyncio.gather(*(store.change(call, lambda plan: (plan.with_todo("x"), None)) for _ in range(100)))

    plan = await store.get(call)
    await database.close()
    assert [todo.id for todo in plan.state.todos] == list(range(1, 101))


@pytest.mark.parametrize("back_end", BACK_ENDS)
async def test_t31_plans_and_playbooks_of_others_are_not_there(back_end: str, tmp_path: Path) -> None:
    database = BACK_ENDS[back_end](tmp_path)
    plans, playbooks = PlanStore(database), PlaybookStore(database)
    await plans.open()
    await playbooks.open()
    mine = Call(AssistantId("a"), SessionId("s"))
    theirs = Call(AssistantId("a"), SessionId("s"), user_id=UserId("eve"))
    await plans.change(mine, lambda plan: (plan.with_goal("secret"), None))
    (playbook,) = await playbooks.add(mine, [content("secret")])

    assert await plans.get(theirs) == Plan()
    assert await playbooks.total(theirs) == 0
    assert (await playbooks.list_page(theirs, PageRequest(1, ALL, query="secret"))).items == []
    for attempt in (playbooks.get, playbooks.select, playbooks.delete):
        with pytest.raises(NotFound):
            await attempt(theirs, playbook.id)
    assert (await playbooks.get(mine, playbook.id)).goal == "secret"
    await database.close()
