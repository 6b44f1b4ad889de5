"""Pauses as rows, on every back end: opened once per operation, settled once, by whoever is first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after

import madang
from madang.core.calls import Call
from madang.core.errors import Conflict, Expired
from madang.core.ids import AssistantId, SessionId, UserId, new_id
from madang.core.pauses import PauseRecord, SettledBy, first_expiry
from madang.database.port import Database, Transaction
from madang.records.pause_history import UNANSWERED, list_settled
from madang.records.pause_rows import pause_topic
from madang.records.pauses import (
    MAX_DELETED_PAUSES,
    RETENTION_DAYS,
    PauseStore,
    await_pauses,
    clear_awaited,
    find_own_open,
    find_pause,
    open_pause,
    settle_pause,
    supersede,
    withdraw_run,
    write_expired,
)
from madang.system import clock
from tests.backends import BACK_ENDS

CALL = Call(assistant_id=AssistantId("default"), session_id=SessionId("monday"), actor="person")
STRANGER = replace(CALL, user_id=UserId("somebody"))
RUN = replace(CALL, actor="model", run_id="run-1", call_id="call-1")

SetClock = Callable[..., None]


@pytest.fixture
async def pauses(database: Database) -> PauseStore:
    store = PauseStore(database)
    await store.open()
    return store


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Set the clock so much later than it is, or earlier."""

    def set(**later: float) -> None:
        moment = datetime.now(UTC) + timedelta(**later)
        monkeypatch.setattr(clock, "now", lambda: moment)

    return set


def in_seconds(seconds: float) -> str:
    return clock.format_timestamp(clock.now() + timedelta(seconds=seconds))


async def start(database: Database, call: Call = CALL, expires_s: float | None = 3600, **changes: str) -> PauseRecord:
    pause, _ = await start_once(database, call, expires_s, **changes)
    return pause


async def start_once(
    database: Database, call: Call = CALL, expires_s: float | None = 3600, **changes: Any
) -> tuple[PauseRecord, bool]:
    values: dict[str, Any] = {"id": new_id(), "kind": "prompt", "service": "ui", "tool": "prompt_user", "title": "Why?"}
    expires_at = "" if expires_s is None else in_seconds(expires_s)
    values |= changes

    async def work(tx: Transaction) -> tuple[PauseRecord, bool]:
        return await open_pause(tx, call, expires_at=expires_at, **values)

    return await database.write(work, user_id=call.user_id)


async def settle(database: Database, call: Call, id: str, answer: str = "Blue") -> PauseRecord | None:
    async def work(tx: Transaction) -> PauseRecord | None:
        return await settle_pause(tx, call, id, status="answered", tool="reply_prompt", arguments={"answer": answer})

    return await database.write(work, user_id=call.user_id)


async def delete_rows(database: Database, call: Call = CALL) -> None:
    """Open something: that is when old rows are deleted."""
    await start(database, call)


async def test_a_pause_is_kept_as_it_was_opened(database: Database, pauses: PauseStore) -> None:
    asked = await start(database, RUN, title="어느 것?")

    assert asked == PauseRecord(
        id=asked.id,
        kind="prompt",
        service="ui",
        tool="prompt_user",
        title="어느 것?",
        session_id=SessionId("monday"),
        assistant_id=AssistantId("default"),
        asker="run:run-1",
        opened_at=asked.opened_at,
        expires_at=asked.expires_at,
        run_id="run-1",
        call_id="call-1",
    )
    assert asked.is_open
    assert await pauses.get(CALL, asked.id) == asked
    assert await pauses.list_open(CALL.user_id, 10) == [asked]
    assert await pauses.list_by_run(CALL.user_id, "run-1") == [asked]


async def test_one_without_an_expiry_stays_open(database: Database, pauses: PauseStore, set_clock: SetClock) -> None:
    asked = await start(database, expires_s=None)
    set_clock(days=5000)

    assert asked.expires_at == ""
    assert await pauses.list_open(CALL.user_id, 10) == [asked]
    assert await settle(database, CALL, asked.id) is not None


@pytest.mark.parametrize(
    ("call", "by"),
    [
        (replace(CALL, actor="person"), "person"),
        (replace(CALL, actor="program"), "program"),
        (replace(CALL, actor="model", run_id="r"), "run"),
        (replace(CALL, actor="foreign", client_id="c"), "client"),
        (replace(CALL, actor="foreign", client_id="c", relays=True), "relayed"),
    ],
)
async def test_settling_says_who_did_it_and_with_what(
    database: Database, pauses: PauseStore, call: Call, by: SettledBy
) -> None:
    asked = await start(database)

    settled = await settle(database, call, asked.id)

    assert settled == replace(
        asked,
        status="answered",
        settled_at=settled.settled_at if settled else "",
        settled_by=by,
        settled_with={"tool": "reply_prompt", "arguments": {"answer": "Blue"}},
    )
    assert await pauses.get(CALL, asked.id) == settled
    assert await pauses.list_open(CALL.user_id, 10) == []


async def test_settling_twice_changes_nothing(database: Database, pauses: PauseStore) -> None:
    asked = await start(database)
    settled = await settle(database, CALL, asked.id)

    assert await settle(database, CALL, asked.id, "Green") is None
    assert await pauses.get(CALL, asked.id) == settled


async def test_of_two_answers_at_once_one_wins(tmp_path: Path, back_end: str) -> None:
    async with databases(back_end, tmp_path) as (first, second):
        for _ in range(20):
            asked = await start(first)
            outcomes = await asyncio.gather(
                settle(first, CALL, asked.id, "Blue"), settle(second, CALL, asked.id, "Green")
            )
            assert sum(outcome is not None for outcome in outcomes) == 1


async def test_the_same_operation_at_once_from_two_connections_asks_once(tmp_path: Path, back_end: str) -> None:
    async with databases(back_end, tmp_path) as (first, second):
        for number in range(20):
            call = replace(CALL, operation_id=f"operation {number}")
            outcomes = await asyncio.gather(*(start_once(database, call) for database in (first, second) * 3))
            assert sum(is_new for _, is_new in outcomes) == 1
            assert len({pause.id for pause, _ in outcomes}) == 1
        assert len(await PauseStore(first).list_open(CALL.user_id, 100)) == 20


@pytest.fixture(params=[name for name in BACK_ENDS if name != "memory"])
def back_end(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class databases:
    """Two connections to one database."""

    def __init__(self, back_end: str, folder: Path) -> None:
        self._databases = [BACK_ENDS[back_end](folder) for _ in range(2)]
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Sequence[Database]:
        for database in self._databases:
            self._stack.push_async_callback(database.close)
            await PauseStore(database).open()
        return self._databases

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()


async def test_an_operation_that_is_repeated_finds_its_pause_also_when_it_is_settled(
    database: Database, pauses: PauseStore
) -> None:
    call = replace(CALL, operation_id="o")
    asked = await start(database, call)
    settled = await settle(database, CALL, asked.id)

    assert await start_once(database, call) == (settled, False)


async def test_an_operation_belongs_to_its_session_and_user(database: Database, pauses: PauseStore) -> None:
    await start(database, replace(CALL, operation_id="o"))

    for other in (replace(CALL, session_id=SessionId("tuesday")), STRANGER):
        _, is_new = await start_once(database, replace(other, operation_id="o"))
        assert is_new


async def test_an_operation_cannot_ask_with_two_tools(database: Database, pauses: PauseStore) -> None:
    call = replace(CALL, operation_id="o")
    await start(database, call)

    with pytest.raises(Conflict):
        await start(database, call, kind="wait", tool="wait_for_user")
    assert len(await pauses.list_open(CALL.user_id, 10)) == 1


async def test_after_its_time_a_pause_is_expired_at_each_look_and_cannot_be_settled(
    database: Database, pauses: PauseStore, set_clock: SetClock
) -> None:
    asked = await start(database, expires_s=60)
    set_clock(seconds=61)

    assert await pauses.get(CALL, asked.id) == replace(asked, status="expired", settled_at=asked.expires_at)
    assert await settle(database, CALL, asked.id) is None
    assert await pauses.list_open(CALL.user_id, 10) == []
    set_clock(seconds=0)
    assert await pauses.get(CALL, asked.id) == asked
    assert await settle(database, CALL, asked.id) is not None


async def test_that_it_expired_is_written_when_its_run_is_told(
    database: Database, pauses: PauseStore, set_clock: SetClock
) -> None:
    asked = await start(database, RUN, expires_s=60)

    async def work(tx: Transaction) -> PauseRecord | None:
        return await write_expired(tx, CALL.user_id, asked.id, clock.timestamp())

    assert await database.write(work, user_id=CALL.user_id) is None
    set_clock(seconds=61)
    written = await database.write(work, user_id=CALL.user_id)
    set_clock(seconds=0)

    assert written == replace(asked, status="expired", settled_at=asked.expires_at, settled_by="run")
    assert await pauses.get(CALL, asked.id) == written
    assert await settle(database, CALL, asked.id) is None


async def test_another_users_id_finds_and_settles_nothing(database: Database, pauses: PauseStore) -> None:
    asked = await start(database, RUN)

    async def steal(tx: Transaction) -> list[PauseRecord]:
        assert await find_pause(tx, STRANGER.user_id, asked.id) is None
        return [
            *await await_pauses(tx, STRANGER.user_id, [asked.id]),
            *await withdraw_run(tx, STRANGER.user_id, "run-1"),
            *await supersede(tx, replace(STRANGER, run_id="run-1"), "prompt", tool="prompt_user"),
        ]

    assert await pauses.get(STRANGER, asked.id) is None
    assert await settle(database, STRANGER, asked.id) is None
    assert await database.write(steal, user_id=STRANGER.user_id) == []
    assert await pauses.list_open(STRANGER.user_id, 10) == []
    assert await pauses.list_by_run(STRANGER.user_id, "run-1") == []
    assert await pauses.get(CALL, asked.id) == asked


async def test_another_session_settles_nothing(database: Database, pauses: PauseStore) -> None:
    asked = await start(database)

    assert await settle(database, replace(CALL, session_id=SessionId("tuesday")), asked.id) is None
    assert await pauses.get(CALL, asked.id) == asked


async def test_asking_anew_supersedes_what_the_same_asker_has_open_of_that_kind(
    database: Database, pauses: PauseStore
) -> None:
    first = replace(CALL, actor="foreign", client_id="first")
    second = replace(first, client_id="second")
    own = await start(database, first, kind="choice")
    untouched = [
        await start(database, second, kind="choice"),
        await start(database, first, kind="prompt"),
        await start(database, replace(first, session_id=SessionId("tuesday")), kind="choice"),
    ]
    newest = await start(database, first, kind="choice")

    async def work(tx: Transaction) -> list[PauseRecord]:
        return await supersede(tx, first, "choice", tool="show_playbooks", keep=newest.id)

    superseded = await database.write(work, user_id=CALL.user_id)

    assert [(pause.id, pause.status, pause.settled_by) for pause in superseded] == [(own.id, "superseded", "client")]
    assert await pauses.get(CALL, own.id) == superseded[0]
    assert await pauses.list_open(CALL.user_id, 10) == sorted(
        [newest, *untouched], key=lambda pause: pause.id, reverse=True
    )

    async def find(tx: Transaction) -> list[PauseRecord | None]:
        calls = (first, second, replace(first, client_id="third"))
        return [await find_own_open(tx, call, "choice") for call in calls]

    assert await database.read(find, user_id=CALL.user_id) == [newest, untouched[0], None]


async def test_a_run_that_ends_withdraws_what_it_has_open(database: Database, pauses: PauseStore) -> None:
    answered, asked = await start(database, RUN), await start(database, RUN)
    other, own = await start(database, replace(RUN, run_id="run-2")), await start(database)
    await settle(database, CALL, answered.id)

    async def work(tx: Transaction) -> list[PauseRecord]:
        return await withdraw_run(tx, CALL.user_id, "run-1")

    withdrawn = await database.write(work, user_id=CALL.user_id)

    assert [(pause.id, pause.status, pause.settled_by) for pause in withdrawn] == [(asked.id, "withdrawn", "run")]
    assert {pause.id for pause in await pauses.list_open(CALL.user_id, 10)} == {other.id, own.id}
    assert {pause.id: pause.status for pause in await pauses.list_by_run(CALL.user_id, "run-1")} == {
        answered.id: "answered",
        asked.id: "withdrawn",
    }
    assert await database.write(work, user_id=CALL.user_id) == []


async def test_the_inbox_is_newest_first_and_goes_on_after_an_id(database: Database, pauses: PauseStore) -> None:
    calls = [replace(CALL, session_id=SessionId(f"session {number}")) for number in range(5)]
    asked = [await start(database, call, id=f"{number}") for number, call in enumerate(calls)]
    await start(database, STRANGER)

    page = await pauses.list_open(CALL.user_id, 2)
    assert page == [asked[4], asked[3]]
    assert await pauses.list_open(CALL.user_id, 10, page[-1].id) == [asked[2], asked[1], asked[0]]


async def test_the_inbox_is_looked_up_in_an_index_of_what_is_open(database: Database, pauses: PauseStore) -> None:
    if database.dialect == "postgresql":
        pytest.skip("a server plans by the number of rows")
    sql = (
        "EXPLAIN QUERY PLAN SELECT * FROM pause WHERE user_id = ?1 AND settled_at IS NULL "
        "AND (expires_at IS NULL OR expires_at > ?2) ORDER BY id DESC LIMIT 10"
    )

    async def work(tx: Transaction) -> str:
        return str(await tx.all(sql, CALL.user_id, ""))

    assert "USING INDEX pause_inbox (user_id=?)" in await database.read(work)


async def test_opening_and_settling_are_told(database: Database, pauses: PauseStore) -> None:
    changes = pauses.changes(CALL.user_id)
    with fail_after(60):
        assert await anext(changes) == frozenset()
        asked = await start(database)
        one = {pause_topic(CALL.user_id, CALL.session, asked.id)}
        assert await anext(changes) == one
        await settle(database, CALL, asked.id)
        assert await anext(changes) == one


async def test_what_was_settled_long_ago_is_deleted_a_few_at_a_time(
    database: Database, pauses: PauseStore, set_clock: SetClock
) -> None:
    asked = [await start(database, expires_s=60 if number % 2 else 1e7) for number in range(2 * MAX_DELETED_PAUSES + 4)]
    for pause in asked[::2]:
        await settle(database, CALL, pause.id)
    forever, strangers = await start(database, expires_s=None), await start(database, STRANGER, expires_s=60)

    async def left() -> int:
        return sum([await pauses.get(CALL, pause.id) is not None for pause in asked])

    set_clock(days=RETENTION_DAYS - 1)
    await delete_rows(database)
    assert await left() == len(asked)

    set_clock(days=RETENTION_DAYS + 1)
    await delete_rows(database)
    assert await left() == 4
    await delete_rows(database)
    assert await left() == 0
    assert await pauses.get(CALL, forever.id) == forever
    assert await pauses.get(STRANGER, strangers.id) is not None


async def test_what_a_run_waits_for_is_kept_until_it_was_told(
    database: Database, pauses: PauseStore, set_clock: SetClock
) -> None:
    answered, expired = await start(database, RUN), await start(database, RUN, expires_s=60)
    await settle(database, CALL, answered.id)
    ids = [answered.id, expired.id]

    async def begin(tx: Transaction) -> list[PauseRecord]:
        return await await_pauses(tx, CALL.user_id, ids)

    async def end(tx: Transaction) -> list[PauseRecord]:
        return await clear_awaited(tx, CALL.user_id, ids)

    assert {pause.id: pause.status for pause in await database.write(begin, user_id=CALL.user_id)} == {
        answered.id: "answered",
        expired.id: "open",
    }
    set_clock(days=2 * RETENTION_DAYS)
    await delete_rows(database)
    statuses = {pause.id: pause.status for pause in await pauses.list_by_run(CALL.user_id, "run-1")}
    assert statuses == {answered.id: "answered", expired.id: "expired"}

    await database.write(end, user_id=CALL.user_id)
    await delete_rows(database)
    assert await pauses.list_by_run(CALL.user_id, "run-1") == []


async def test_at_the_moment_of_its_expiry_a_pause_is_over_for_everybody(
    database: Database, pauses: PauseStore, set_clock: SetClock
) -> None:
    set_clock(seconds=0)
    pause = await start(database, expires_s=0)

    expired = await pauses.get(CALL, pause.id)

    assert expired is not None
    assert (expired.status, first_expiry([expired])) == ("expired", None)
    assert await pauses.list_open(CALL.user_id, 10) == []
    with pytest.raises(Expired):
        await pauses.settle(CALL, pause.id, status="answered", tool="reply_prompt", arguments={})
    over = await list_settled(database, CALL.user_id, UNANSWERED, since=in_seconds(-60), limit=10)
    assert over.items == [expired]


def test_the_rule_of_expiry_is_written_in_two_places() -> None:
    package = Path(madang.__file__).parent
    places = [path for path in package.rglob("*.py") if "expires_at <= " in path.read_text("utf-8")]
    assert {str(path.relative_to(package)) for path in places} == {"core/pauses.py", "records/pause_rows.py"}
