"""Deleted playbooks, on every back end: gone from everything at once, and restored as they were for 30 days."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from madang.core.errors import Denied, NotFound
from madang.core.ids import AssistantId, UserId
from madang.database.port import Database, Transaction
from madang.services.playbook.domain import DELETED_DAYS, Playbook, PlaybookContent, StepInput
from madang.services.playbook.store import PageRequest, PlaybookStore
from madang.system import clock
from tests.asking import CALL, Asker
from tests.backends import BACK_ENDS
from tests.services.playbook.playbooks import given, goals


class Shelf:
    """A store with three playbooks."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = PlaybookStore(database)
        self.kept: list[Playbook] = []

    async def fill(self) -> None:
        await self.store.open()
        steps = [StepInput(description="끓이기")]
        contents = [PlaybookContent(goal=goal, workflow=steps) for goal in ("Tea", "커피", "Water")]
        self.kept = await self.store.add(CALL, contents)

    async def goals(self) -> list[str]:
        page = await self.store.list_page(CALL, PageRequest(1, 10))
        assert page.total_items == len(page.items)
        return [item.goal for item in page.items]

    async def deleted(self) -> int:
        async def work(tx: Transaction) -> int:
            row = await tx.one("SELECT count(*) FROM playbook_deleted WHERE user_id = ?1", CALL.user_id)
            return row[0] if row else 0

        return await self.database.read(work, user_id=CALL.user_id)


@pytest.fixture(params=BACK_ENDS)
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shelf]:
    shelf = Shelf(BACK_ENDS[request.param](tmp_path))
    try:
        await shelf.fill()
        yield shelf
    finally:
        await shelf.database.close()


def later(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime.now(UTC) + timedelta(days=days))


async def test_a_deletion_is_taken_back_to_the_place_in_the_order(shelf: Shelf) -> None:
    coffee = shelf.kept[1]
    await shelf.store.delete(CALL, coffee.id)
    assert await shelf.goals() == ["Tea", "Water"]

    assert await shelf.store.restore(CALL, coffee.id) == coffee
    assert await shelf.goals() == ["Tea", "커피", "Water"]
    assert await shelf.store.get(CALL, coffee.id) == coffee
    assert await shelf.deleted() == 0


async def test_restoring_what_is_there_changes_nothing(shelf: Shelf) -> None:
    tea = shelf.kept[0]
    await shelf.store.delete(CALL, tea.id)

    assert [await shelf.store.restore(CALL, tea.id) for _ in range(2)] == [tea, tea]
    await shelf.store.delete(CALL, tea.id)
    assert await shelf.store.restore(CALL, tea.id) == tea
    assert await shelf.goals() == ["Tea", "커피", "Water"]


async def test_what_was_deleted_long_ago_is_gone(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    tea, coffee, water = shelf.kept
    await shelf.store.delete(CALL, tea.id)
    later(monkeypatch, DELETED_DAYS - 0.01)
    await shelf.store.delete(CALL, coffee.id)
    assert await shelf.deleted() == 2

    later(monkeypatch, DELETED_DAYS + 0.01)
    with pytest.raises(NotFound):
        await shelf.store.restore(CALL, tea.id)
    await shelf.store.delete(CALL, water.id)
    assert await shelf.deleted() == 2, "the next deletion forgets it for good"
    assert await shelf.store.restore(CALL, coffee.id) == coffee


async def test_nobody_else_can_take_it_back(shelf: Shelf) -> None:
    tea = shelf.kept[0]
    await shelf.store.delete(CALL, tea.id)

    with pytest.raises(Denied):
        await shelf.store.restore(replace(CALL, assistant_id=AssistantId("another")), tea.id)
    with pytest.raises(NotFound):
        await shelf.store.restore(replace(CALL, user_id=UserId("somebody")), tea.id)
    assert await shelf.goals() == ["커피", "Water"]


async def test_last_selections_are_the_newest_of_each(shelf: Shelf) -> None:
    tea, coffee, water = shelf.kept
    for id in (tea.id, coffee.id, tea.id):
        await shelf.store.select(CALL, id)
    newest = (await shelf.store.selections(CALL, 1, 1)).items[0]

    last = await shelf.store.last_selections(CALL, [tea.id, coffee.id, water.id, "nothing"])

    assert set(last) == {tea.id, coffee.id}
    assert last[tea.id] == newest.selected_at
    assert await shelf.store.last_selections(CALL, []) == {}


async def test_the_tool_says_what_was_restored(asker: Asker) -> None:
    first, _ = await given(asker, 2)
    await asker.done("delete_playbook", id=first)

    reply = await asker.done("restore_playbook", id=first)

    assert reply.text == (
        f'[restore_playbook] Successfully restored playbook ID: {first} ("Goal 0")\n'
        "Goal: Goal 0\n"
        "Steps: 0\n"
        "\n"
        "The playbook is listed again. Use 'list_playbooks' to see all playbooks."
    )
    assert goals(await asker.done("list_playbooks")) == ["Goal 0", "Goal 1"]
    assert (await asker.ask("restore_playbook", id="nothing")).error_code == "not_found"
