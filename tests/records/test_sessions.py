"""Sessions as rows: made by their first use, listed newest first, each user's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import pytest

from madang.core.calls import Call
from madang.core.errors import Conflict, InvalidArguments, InvalidCursor, NotFound
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database, Transaction
from madang.records.forgetting import begin_removal
from madang.records.pauses import PauseStore
from madang.records.session_filling import SILENT_AFTER, SessionFilling
from madang.records.session_rows import SessionRecord
from madang.records.sessions import (
    MAX_TITLE_CHARS,
    TOUCH_EVERY,
    SessionStore,
    ensure_ready_session,
    ensure_session,
    session_topic,
)
from madang.records.views import ViewStore
from madang.system.clock import format_timestamp, now
from tests.backends import BACK_ENDS

ANN = Call(AssistantId("editor"), SessionId("default"), UserId("ann"))
BOB = replace(ANN, user_id=UserId("bob"))
WITHIN_S = 60


@pytest.fixture(params=BACK_ENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = BACK_ENDS[request.param](tmp_path)
    await SessionStore(database).open()
    yield database
    await database.close()


@pytest.fixture
def sessions(database: Database) -> SessionStore:
    return SessionStore(database)


def named(name: str, call: Call = ANN) -> Call:
    return replace(call, session_id=SessionId(name))


async def used_at(database: Database, call: Call, last_at: str) -> None:
    async def work(tx: Transaction) -> None:
        await tx.run(
            "UPDATE session SET last_at = ?3 WHERE user_id = ?1 AND id = ?2", call.user_id, call.session, last_at
        )

    await database.write(work, user_id=call.user_id)


async def test_the_first_use_makes_the_row_and_the_next_ones_find_it(
    database: Database, sessions: SessionStore
) -> None:
    before = format_timestamp(now())
    assert await sessions.get(ANN) is None

    first = await database.write(lambda tx: ensure_session(tx, ANN), user_id=ANN.user_id)
    other = replace(ANN, assistant_id=AssistantId("reviewer"))
    second = await database.write(lambda tx: ensure_session(tx, other), user_id=ANN.user_id)
    session = await sessions.get(ANN)

    assert first == second
    assert session is not None
    assert before[:10] <= session.created_at[:10] == session.last_at[:10]
    assert session == SessionRecord(
        SessionId("default"),
        AssistantId("editor"),
        "",
        None,
        SessionId(""),
        0,
        False,
        0,
        session.created_at,
        session.last_at,
    )


async def test_a_session_in_use_is_written_once_a_minute(database: Database, sessions: SessionStore) -> None:
    await sessions.ensure(ANN)
    recent = format_timestamp(now() - TOUCH_EVERY / 2)
    old = format_timestamp(now() - 2 * TOUCH_EVERY)

    await used_at(database, ANN, recent)
    await sessions.ensure(ANN)
    untouched = await sessions.get(ANN)
    await used_at(database, ANN, old)
    await sessions.ensure(ANN)
    touched = await sessions.get(ANN)

    assert untouched is not None
    assert untouched.last_at == recent
    assert touched is not None
    assert touched.last_at > recent


async def test_a_call_without_a_session_leaves_no_row(sessions: SessionStore) -> None:
    await sessions.ensure(Call(AssistantId("editor"), user_id=ANN.user_id))

    assert (await sessions.list_page(ANN.user_id)).items == []


async def test_many_first_uses_at_once_make_one_row(sessions: SessionStore) -> None:
    await asyncio.gather(*(sessions.ensure(ANN) for _ in range(20)))

    assert [session.id for session in (await sessions.list_page(ANN.user_id)).items] == ["default"]


async def test_sessions_are_listed_newest_first_page_by_page(database: Database, sessions: SessionStore) -> None:
    names = [f"session {number} 한" for number in range(7)]
    for number, name in enumerate(names):
        await sessions.ensure(named(name))
        # Three share one moment: their names decide.
        await used_at(database, named(name), f"2026-11-15T10:00:0{min(number, 4)}.000Z")
    await sessions.ensure(named("theirs", BOB))

    listed: list[str] = []
    page = await sessions.list_page(ANN.user_id, limit=2)
    listed += [session.id for session in page.items]
    while page.next:
        page = await sessions.list_page(ANN.user_id, page.next, 2)
        listed += [session.id for session in page.items]

    assert listed == names[::-1]


@pytest.mark.parametrize("cursor", ["x", "2026-11-15T10:00:00.000Z", "2026-11-15T10:00:00 x", "now x"])
async def test_a_cursor_of_something_else_is_refused(sessions: SessionStore, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        await sessions.list_page(ANN.user_id, cursor)


async def test_title_and_locale_are_set_and_taken_away(sessions: SessionStore) -> None:
    renamed = await sessions.rename(ANN, "장보기")
    chosen = await sessions.set_locale(ANN, "ko")
    cleared = await sessions.set_locale(ANN, None)

    assert (renamed.title, chosen.title, chosen.locale, cleared.locale) == ("장보기", "장보기", "ko", None)
    with pytest.raises(InvalidArguments):
        await sessions.rename(ANN, "x" * (MAX_TITLE_CHARS + 1))


async def test_a_fork_names_its_parent(sessions: SessionStore) -> None:
    await sessions.ensure(ANN)

    fork = await sessions.create(named("fork"), title="Another way", parent_id=ANN.session, parent_seq=7)

    assert (fork.parent_id, fork.parent_seq, fork.title) == ("default", 7, "Another way")
    with pytest.raises(Conflict):
        await sessions.create(named("fork"))
    with pytest.raises(NotFound):
        await sessions.create(named("orphan"), parent_id=SessionId("nowhere"))
    with pytest.raises(NotFound):
        await sessions.create(named("stolen", BOB), parent_id=ANN.session)


async def test_a_deleted_session_is_gone_and_another_users_is_not_found(sessions: SessionStore) -> None:
    await sessions.ensure(ANN)

    assert await sessions.get(BOB) is None
    assert (await sessions.list_page(BOB.user_id)).items == []
    assert not await sessions.delete(BOB)
    assert await sessions.get(ANN) is not None
    assert await sessions.delete(ANN)
    assert not await sessions.delete(ANN)
    assert await sessions.get(ANN) is None


async def test_changes_are_told_to_their_user_alone(sessions: SessionStore) -> None:
    changes = cast("AsyncGenerator[frozenset[str], None]", sessions.changes(ANN.user_id))
    async with aclosing(changes):
        with anyio.fail_after(WITHIN_S):
            assert await anext(changes) == frozenset()
            await sessions.ensure(BOB)
            await sessions.ensure(ANN)
            assert await anext(changes) == {session_topic(ANN)}


async def test_a_session_that_is_filled_or_deleted_is_left_alone_by_tools(
    database: Database, sessions: SessionStore
) -> None:
    await PauseStore(database).open()
    await ViewStore(database).open()
    filling, deleting = named("filling"), named("deleting")
    await sessions.create(filling, state="filling")
    await sessions.ensure(deleting)
    await database.write(lambda tx: begin_removal(tx, deleting), user_id=ANN.user_id)

    for call in (filling, deleting):
        with pytest.raises(Conflict):
            await sessions.ensure(call)
        with pytest.raises(Conflict):
            await database.write(partial(_ensure_ready, call), user_id=ANN.user_id)

    assert [(one.id, one.state) for one in (await sessions.list_page(ANN.user_id)).items] == [("deleting", "deleting")]


async def _ensure_ready(call: Call, tx: Transaction) -> int:
    return await ensure_ready_session(tx, call)


async def test_a_filled_session_takes_over_times_and_marks_once(database: Database, sessions: SessionStore) -> None:
    like = SessionRecord(
        SessionId("x"),
        AssistantId("editor"),
        "",
        "ko",
        SessionId(""),
        0,
        True,
        7,
        "2020-01-01T00:00:00.000Z",
        "2021-01-01T00:00:00.000Z",
    )
    await sessions.create(ANN, title="Title", state="filling")

    filled = await SessionFilling(database).finish(ANN, like)

    assert (filled.title, filled.locale, filled.is_tainted, filled.last_seq) == ("Title", "ko", True, 7)
    assert (filled.created_at, filled.last_at, filled.state) == (like.created_at, like.last_at, "ready")
    with pytest.raises(Conflict):
        await SessionFilling(database).finish(ANN, like)


async def test_unfinished_sessions_are_found_once_they_are_silent(database: Database, sessions: SessionStore) -> None:
    await PauseStore(database).open()
    await ViewStore(database).open()
    for name in ("deleting", "silent", "busy", "ready"):
        await sessions.create(named(name), state="ready" if name in ("ready", "deleting") else "filling")
    await database.write(lambda tx: begin_removal(tx, named("deleting")), user_id=ANN.user_id)
    for name in ("silent", "busy", "ready"):
        await used_at(database, named(name), format_timestamp(now() - 2 * SILENT_AFTER))

    await SessionFilling(database).touch(named("busy"))
    await SessionFilling(database).touch(named("ready"))

    assert await SessionFilling(database).list_unfinished(ANN.user_id) == ["deleting", "silent"]
    assert await SessionFilling(database).list_unfinished(BOB.user_id) == []


async def test_a_session_is_pinned_and_let_go(sessions: SessionStore) -> None:
    call = named("pinned")
    await sessions.create(call, title="초록 차")
    assert (await sessions.set_pinned(call, True)).is_pinned
    page = await sessions.list_page(call.user_id)
    assert [one.is_pinned for one in page.items if one.id == "pinned"] == [True]
    assert not (await sessions.set_pinned(call, False)).is_pinned
    [found] = await sessions.find_by_title(call.user_id, "초록", archived=False, limit=10)
    assert found.id == "pinned"
    assert await sessions.find_by_title(UserId("somebody else"), "초록", archived=False, limit=10) == []
    assert await sessions.find_by_title(call.user_id, "초록", archived=True, limit=10) == []
    assert [one.id for one in await sessions.find(call.user_id, ["pinned", "none"])] == ["pinned"]
