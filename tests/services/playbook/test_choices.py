"""The choice among the playbooks shown, on every back end: one open per session and asker, settled once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.errors import Conflict, Denied, Expired
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.pauses import PauseRecord
from madang.database.port import Database, Transaction
from madang.records.pauses import PauseStore, withdraw_run
from madang.services.playbook.domain import Playbook, PlaybookContent, StepInput
from madang.services.playbook.service import PlaybookService
from madang.services.playbook.store import PlaybookStore
from tests.backends import BACK_ENDS

CALL = Call(assistant_id=AssistantId("default"), session_id=SessionId("monday"))
CLIENT = replace(CALL, actor="foreign", client_id="first")
RELAYING = replace(CLIENT, pages="off", relays=True)
RUN = replace(CALL, actor="model", run_id="run-1", call_id="call-1")
PERSON = replace(CALL, actor="person", door="host")


class Shelf:
    """A store with two playbooks, and its pauses."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = PlaybookStore(database)
        self.pauses = PauseStore(database)
        self.tea: Playbook
        self.coffee: Playbook

    async def fill(self) -> None:
        steps = [StepInput(description="Boil water")]
        self.tea, self.coffee = await self.store.add(
            CALL, [PlaybookContent(goal=goal, workflow=steps) for goal in ("Tea", "Coffee")]
        )

    async def status(self, choice: PauseRecord) -> str:
        pause = await self.pauses.get(CALL, choice.id)
        return pause.status if pause else ""

    async def selections(self) -> int:
        return (await self.store.selections(CALL, 1, 10)).total_items

    async def withdraw(self, run_id: str) -> None:
        async def work(tx: Transaction) -> None:
            await withdraw_run(tx, CALL.user_id, run_id)

        await self.database.write(work, user_id=CALL.user_id)


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[Shelf]:
    shelf = Shelf(database)
    try:
        await shelf.store.open()
        yield shelf
    finally:
        await database.close()


@pytest.fixture(params=BACK_ENDS)
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shelf]:
    async with opened(BACK_ENDS[request.param](tmp_path)) as shelf:
        await shelf.fill()
        yield shelf


async def test_a_selection_settles_the_askers_own_choice(shelf: Shelf) -> None:
    choice = await shelf.store.open_choice(CLIENT)

    playbook, settled = await shelf.store.select(CLIENT, shelf.tea.id)

    assert playbook == shelf.tea
    assert settled is not None
    assert (settled.id, settled.status, settled.settled_by) == (choice.id, "answered", "client")
    arguments = {"id": shelf.tea.id, "goal": "Tea"}
    assert settled.settled_with == {"tool": "select_playbook", "arguments": arguments}
    assert (settled.answer, settled.settler_name) == ("Tea", "")
    assert await shelf.selections() == 1


async def test_without_a_choice_of_its_own_a_selection_settles_none(shelf: Shelf) -> None:
    choice = await shelf.store.open_choice(CLIENT)

    for other in (replace(CLIENT, client_id="second"), RUN, replace(CLIENT, session_id=SessionId("tuesday"))):
        assert (await shelf.store.select(other, shelf.tea.id))[1] is None
    assert await shelf.status(choice) == "open"


async def test_a_named_choice_is_settled_whoever_asked(shelf: Shelf) -> None:
    choice, own = await shelf.store.open_choice(RUN), await shelf.store.open_choice(PERSON)

    _, settled = await shelf.store.select(PERSON, shelf.tea.id, choice.id)

    assert settled is not None
    assert (settled.id, settled.settled_by) == (choice.id, "person")
    assert await shelf.status(own) == "open"


async def test_an_id_of_another_user_or_session_settles_nothing(shelf: Shelf) -> None:
    stranger = replace(CALL, user_id=UserId("somebody"))
    choices = [await shelf.store.open_choice(one) for one in (stranger, replace(CALL, session_id=SessionId("tuesday")))]

    for choice in choices:
        assert (await shelf.store.select(CALL, shelf.tea.id, choice.id))[1] is None
        assert await shelf.store.get_choice(CALL, choice.id) is None
    assert len(await shelf.pauses.list_open(stranger.user_id, 10)) == 1
    assert len(await shelf.pauses.list_open(CALL.user_id, 10)) == 1


async def test_a_second_choice_supersedes_the_first_of_the_same_asker(shelf: Shelf) -> None:
    first, other = await shelf.store.open_choice(CLIENT), await shelf.store.open_choice(RUN)
    second = await shelf.store.open_choice(CLIENT)

    assert [await shelf.status(one) for one in (first, other, second)] == ["superseded", "open", "open"]
    assert await shelf.store.get_choice(CLIENT, "") == second
    assert (await shelf.store.get_choice(CLIENT, first.id) or first).status == "superseded"
    assert await shelf.store.get_choice(PERSON, other.id) == other


async def test_an_operation_opens_one_choice(shelf: Shelf) -> None:
    call = replace(RUN, operation_id="o")
    first = await shelf.store.open_choice(call)
    newer = await shelf.store.open_choice(replace(RUN, operation_id="p"))

    again = await shelf.store.open_choice(call)

    assert again.id == first.id
    assert [await shelf.status(one) for one in (first, newer)] == ["superseded", "open"]


async def test_what_a_model_relays_answers_only_its_own_clients_choice(shelf: Shelf) -> None:
    of_run, of_other = await shelf.store.open_choice(RUN), await shelf.store.open_choice(CLIENT)
    relaying = replace(RELAYING, client_id="second")
    own = await shelf.store.open_choice(relaying)

    for choice in (of_run, of_other):
        with pytest.raises(Denied):
            await shelf.store.select(relaying, shelf.tea.id, choice.id)
        assert await shelf.status(choice) == "open"
    assert await shelf.selections() == 0

    _, settled = await shelf.store.select(relaying, shelf.tea.id, own.id)
    assert settled is not None
    assert settled.settled_by == "relayed"


async def test_a_run_gets_one_selection(shelf: Shelf) -> None:
    choice = await shelf.store.open_choice(RUN)
    first = await shelf.store.select(PERSON, shelf.tea.id, choice.id)

    assert await shelf.store.select(PERSON, shelf.tea.id, choice.id) == first
    with pytest.raises(Conflict):
        await shelf.store.select(PERSON, shelf.coffee.id, choice.id)
    assert await shelf.selections() == 1


async def test_a_run_that_has_ended_gets_none(shelf: Shelf) -> None:
    choice = await shelf.store.open_choice(RUN)
    await shelf.withdraw("run-1")

    with pytest.raises(Expired):
        await shelf.store.select(PERSON, shelf.tea.id, choice.id)
    assert await shelf.selections() == 0


async def test_where_no_run_waits_the_person_may_select_once_more_on_the_same_page(shelf: Shelf) -> None:
    choice = await shelf.store.open_choice(CLIENT)
    await shelf.store.select(CLIENT, shelf.tea.id, choice.id)

    assert await shelf.store.select(CLIENT, shelf.coffee.id, choice.id) == (shelf.coffee, None)
    assert await shelf.selections() == 2


async def test_selecting_in_an_older_list_answers_the_newer_choice(shelf: Shelf) -> None:
    older, newer = await shelf.store.open_choice(CLIENT), await shelf.store.open_choice(CLIENT)

    _, settled = await shelf.store.select(CLIENT, shelf.tea.id, older.id)

    assert settled is not None
    assert settled.id == newer.id


@pytest.mark.parametrize("back_end", [name for name in BACK_ENDS if name != "memory"])
async def test_of_two_selections_at_once_one_settles(tmp_path: Path, back_end: str) -> None:
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(opened(BACK_ENDS[back_end](tmp_path))) for _ in range(2)]
        await first.fill()
        for _ in range(20):
            choice = await first.store.open_choice(RUN)
            outcomes = await asyncio.gather(
                first.store.select(PERSON, first.tea.id, choice.id),
                second.store.select(PERSON, first.coffee.id, choice.id),
                return_exceptions=True,
            )
            assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict", "tuple"]
        assert await first.selections() == 20


async def test_the_outcome_is_told_from_the_rows(shelf: Shelf) -> None:
    service = PlaybookService(shelf.database)
    choice = await shelf.store.open_choice(RUN)
    assert str(next(iter((await service.outcome(RUN, choice)).text))) == "The person has not chosen a playbook yet."
    _, settled = await shelf.store.select(PERSON, shelf.tea.id, choice.id)
    assert settled is not None

    chosen = await service.outcome(RUN, settled)
    assert chosen.data.playbook == shelf.tea
    await shelf.store.delete(CALL, shelf.tea.id)
    deleted = await service.outcome(RUN, settled)
    assert (deleted.data.pause_id, deleted.data.status) == (choice.id, "answered")
