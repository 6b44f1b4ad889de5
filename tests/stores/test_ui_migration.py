"""Questions and waits of earlier versions, on every back end: each gets its pause, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.pauses import PauseRecord
from madang.database.port import Database, MigrationSet, Transaction
from madang.records.pauses import PauseStore
from madang.services.ui.domain import Question, Wait
from madang.services.ui.store import MIGRATIONS, UiStore
from madang.system.clock import format_timestamp, parse_timestamp
from tests.backends import BACK_ENDS

ANN = Call(AssistantId("default"), SessionId("monday"), UserId("ann"))
BOB = Call(AssistantId("default"), SessionId("monday"), UserId("bob"))
AT, LATER, NEVER = "2026-01-01T00:00:00.120Z", "2026-01-02T03:04:05.678Z", "2999-01-01T00:00:00.000Z"
_OLD_PROMPT = "INSERT INTO prompt VALUES (?1, ?2, ?3, 'select', ?4, '[\"Blue\"]', '', ?5, ?6, ?7, ?8, ?9)"
_OLD_WAIT = "INSERT INTO wait VALUES (?1, ?2, ?3, 'Plug it in', 'Look', ?4, ?5)"


async def ask_as_before(database: Database, call: Call) -> None:
    async def work(tx: Transaction) -> None:
        owner = call.user_id, call.session
        name = f"{call.user_id} "
        await tx.run(_OLD_PROMPT, name + "1", *owner, "Which?\nWell?", "pending", '""', AT, NEVER, "")
        await tx.run(_OLD_PROMPT, name + "2", *owner, "Which?", "answered", '"Blue"', AT, NEVER, LATER)
        await tx.run(_OLD_PROMPT, name + "3", *owner, "Which?", "cancelled", '""', AT, NEVER, LATER)
        await tx.run(_OLD_PROMPT, name + "4", *owner, "Which?", "pending", '""', AT, LATER, "")
        await tx.run(_OLD_WAIT, name + "5", *owner, LATER, "")
        await tx.run(_OLD_WAIT, name + "6", *owner, AT, LATER)

    await database.write(work, user_id=call.user_id)


@pytest.mark.parametrize("back_end", ["disk", "server"])
async def test_all_rows_are_kept_with_a_pause_each(tmp_path: Path, back_end: str) -> None:
    database = BACK_ENDS[back_end](tmp_path)
    await database.prepare(MigrationSet(MIGRATIONS.name, MIGRATIONS.sqlite[:2], MIGRATIONS.postgresql[:2]))
    for call in (ANN, BOB):
        await ask_as_before(database, call)
    await database.close()

    database = BACK_ENDS[back_end](tmp_path)
    store, pauses = UiStore(database), PauseStore(database)
    await store.open()
    try:
        for call in (ANN, BOB):
            items = [await store.get(call, f"{call.user_id} {number}") for number in range(1, 7)]
            assert [item.status for item in items] == [
                "pending",
                "answered",
                "cancelled",
                "expired",
                "waiting" if items[4].is_open else "expired",
                "resumed",
            ]
            questions = [item for item in items if isinstance(item, Question)]
            assert [(one.prompt, one.options, one.answer) for one in questions[:2]] == [
                ("Which?\nWell?", ["Blue"], ""),
                ("Which?", ["Blue"], "Blue"),
            ]
            assert [(one.created_at, one.expires_at, one.settled_at) for one in questions] == [
                (AT, NEVER, ""),
                (AT, NEVER, LATER),
                (AT, NEVER, LATER),
                (AT, LATER, LATER),
            ]
            waits = [item for item in items if isinstance(item, Wait)]
            assert [(one.message, one.resume_instruction, one.resumed_at) for one in waits] == [
                ("Plug it in", "Look", ""),
                ("Plug it in", "Look", LATER),
            ]
            assert waits[0].expires_at == "2026-02-01T03:04:05.678Z"
            assert waits[1].elapsed_s == round((parse_timestamp(LATER) - parse_timestamp(AT)).total_seconds(), 1)
            assert await pauses.get(call, f"{call.user_id} 1") == PauseRecord(
                id=f"{call.user_id} 1",
                kind="prompt",
                service="ui",
                tool="prompt_user",
                title="Which? Well?",
                session_id=call.session,
                assistant_id=AssistantId(""),
                asker="",
                opened_at=AT,
                expires_at=format_timestamp(parse_timestamp(NEVER)),
            )
            assert await pauses.get(BOB if call is ANN else ANN, f"{call.user_id} 1") is None
        assert (await store.reply(ANN, "ann 1", "Blue", cancelled=False))[0].status == "answered"
        assert (await store.get(BOB, "bob 1")).status == "pending"
    finally:
        await database.close()
