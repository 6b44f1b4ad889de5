"""Assistants as rows: seeded by config.toml, edited by compare-and-set, and their grants without a query each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import cast

import anyio
import pytest

from madang.core.calls import Call
from madang.core.errors import Conflict, InvalidArguments, NotFound
from madang.core.ids import AssistantId, UserId
from madang.database.port import Database, Row
from madang.records.assistants import GRANT_CACHE_S, MAX_ASSISTANT_CHARS, AssistantRecord, AssistantStore
from tests.backends import BACK_ENDS

ANN, BOB = UserId("ann"), UserId("bob")
EDITOR, DEFAULT = AssistantId("editor"), AssistantId("default")
ANNS, BOBS = Call(EDITOR, user_id=ANN), Call(EDITOR, user_id=BOB)
WITHIN_S = 60


class Clock:
    """A monotonic clock that stands until it is moved."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture(params=BACK_ENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = BACK_ENDS[request.param](tmp_path)
    await AssistantStore(database).open()
    yield database
    await database.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def assistants(database: Database, clock: Clock) -> AssistantStore:
    return AssistantStore(database, clock=clock)


async def edit(store: AssistantStore, services: tuple[str, ...] | None) -> AssistantRecord:
    assistant = await store.get(ANN, EDITOR)
    return await store.save(ANN, replace(assistant or AssistantRecord(EDITOR), services=services))


async def test_an_assistant_is_saved_read_and_listed(assistants: AssistantStore) -> None:
    assert await assistants.get(ANN, EDITOR) is None

    draft = AssistantRecord(EDITOR, "편집자", "Be brief.", "local", ("planning",), {"turns": 5}, {"sandbox": "off"})
    saved = await assistants.save(ANN, draft)

    assert saved == replace(draft, version=1, created_at=saved.created_at, updated_at=saved.updated_at)
    assert await assistants.get(ANN, EDITOR) == saved
    assert await assistants.list_all(ANN) == [saved]


async def test_only_the_version_that_was_read_is_replaced(assistants: AssistantStore) -> None:
    first = await assistants.save(ANN, AssistantRecord(EDITOR))
    second = await assistants.save(ANN, replace(first, name="second"))

    with pytest.raises(Conflict):
        await assistants.save(ANN, replace(first, name="late"))
    with pytest.raises(Conflict):
        await assistants.save(ANN, AssistantRecord(EDITOR))
    assert await assistants.get(ANN, EDITOR) == second


async def test_of_many_edits_at_once_one_gets_through(assistants: AssistantStore) -> None:
    first = await assistants.save(ANN, AssistantRecord(EDITOR))

    outcomes = await asyncio.gather(
        *(assistants.save(ANN, replace(first, name=f"{number}")) for number in range(8)), return_exceptions=True
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AssistantRecord"] + ["Conflict"] * 7


async def test_another_users_assistants_are_not_there(assistants: AssistantStore) -> None:
    await edit(assistants, ("planning",))

    assert await assistants.get(BOB, EDITOR) is None
    assert await assistants.list_all(BOB) == []
    assert await assistants.services(BOBS) is None
    with pytest.raises(NotFound):
        await assistants.delete(BOB, EDITOR, 1, DEFAULT)
    with pytest.raises(Conflict):
        await assistants.save(BOB, AssistantRecord(EDITOR, version=1))
    assert await assistants.services(ANNS) == frozenset({"planning"})


async def test_what_is_too_large_or_no_name_is_refused(assistants: AssistantStore) -> None:
    for assistant in (
        AssistantRecord(EDITOR, instructions="x" * MAX_ASSISTANT_CHARS),
        AssistantRecord(AssistantId("")),
        AssistantRecord(EDITOR, services=("planning", " ")),
    ):
        with pytest.raises(InvalidArguments):
            await assistants.save(ANN, assistant)
    assert await assistants.list_all(ANN) == []


async def test_the_file_seeds_and_an_edit_stays_until_the_file_says_something_else(assistants: AssistantStore) -> None:
    async def services() -> frozenset[str] | None:
        return await assistants.services(ANNS)

    await assistants.seed(ANN, {EDITOR: ("planning", "ui")})
    assert await services() == frozenset({"planning", "ui"})

    await edit(assistants, ("content",))
    await assistants.seed(ANN, {EDITOR: ("planning", "ui")})
    assert await services() == frozenset({"content"})
    await assistants.seed(ANN, {})
    assert await services() == frozenset({"content"})

    await assistants.seed(ANN, {EDITOR: ()})
    assert await services() == frozenset()
    await edit(assistants, None)
    await assistants.seed(ANN, {EDITOR: (), "other": ("chart",)})
    assert await services() is None
    assert [assistant.id for assistant in await assistants.list_all(ANN)] == ["editor", "other"]


async def test_the_file_wins_over_an_assistant_that_was_made_by_hand(assistants: AssistantStore) -> None:
    made = await assistants.save(ANN, AssistantRecord(EDITOR, instructions="Be brief.", services=("content",)))

    await assistants.seed(ANN, {EDITOR: ("planning",)})

    seeded = await assistants.get(ANN, EDITOR)
    assert seeded is not None
    assert (seeded.instructions, seeded.services, seeded.version) == ("Be brief.", ("planning",), made.version + 1)


async def test_seeding_twice_at_once_seeds_once(database: Database) -> None:
    await asyncio.gather(*(AssistantStore(database).seed(ANN, {EDITOR: ("planning",)}) for _ in range(8)))

    (assistant,) = await AssistantStore(database).list_all(ANN)
    assert (assistant.services, assistant.version) == (("planning",), 1)


async def test_a_grant_costs_no_query_for_a_second_and_a_change_elsewhere_holds_after_it(
    database: Database, assistants: AssistantStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = AssistantStore(database)
    await assistants.seed(ANN, {EDITOR: ("planning",)})
    queries = 0
    find = database.find

    async def counted(sql: str, *parameters: object, user_id: UserId | None = None) -> list[Row]:
        nonlocal queries
        queries += 1
        return await find(sql, *parameters, user_id=user_id)

    monkeypatch.setattr(database, "find", counted)
    for _ in range(100):
        assert await assistants.services(ANNS) == frozenset({"planning"})
    assert queries == 1

    monkeypatch.undo()
    await edit(elsewhere, ("content",))
    assert await elsewhere.services(ANNS) == frozenset({"content"})
    assert await assistants.services(ANNS) == frozenset({"planning"})
    clock.seconds += GRANT_CACHE_S
    assert await assistants.services(ANNS) == frozenset({"content"})


async def test_a_write_of_this_process_holds_at_once(assistants: AssistantStore) -> None:
    assert await assistants.services(ANNS) is None
    await edit(assistants, ("planning",))
    assert await assistants.services(ANNS) == frozenset({"planning"})
    await assistants.delete(ANN, EDITOR, 1, DEFAULT)
    assert await assistants.services(ANNS) is None


async def test_a_text_is_told_what_was_last_known(assistants: AssistantStore, clock: Clock) -> None:
    await assistants.seed(ANN, {EDITOR: ("planning",)})
    with pytest.raises(KeyError):
        assistants.known_services(ANNS)

    await assistants.services(ANNS)
    clock.seconds += 100 * GRANT_CACHE_S

    assert assistants.known_services(ANNS) == frozenset({"planning"})
    with pytest.raises(KeyError):
        assistants.known_services(BOBS)
    assert await assistants.services(Call(user_id=ANN)) is None


async def test_changes_are_told(assistants: AssistantStore) -> None:
    changes = cast("AsyncGenerator[frozenset[str], None]", assistants.changes(ANN))
    async with aclosing(changes):
        with anyio.fail_after(WITHIN_S):
            assert await anext(changes) == frozenset()
            await assistants.seed(BOB, {EDITOR: ("ui",)})
            await assistants.seed(ANN, {EDITOR: ("ui",)})
            assert await anext(changes) == {"assistant/ann/editor/"}
