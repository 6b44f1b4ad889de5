"""Questions and waits in the database. Each is a row before the person is asked, so that an answer finds it.

Whether one is open, and how it ended, its pause says (`records.pauses`); here is what was asked and answered.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import new_id
from madang.core.pauses import PauseRecord, PauseStatus
from madang.core.phrases import say
from madang.core.results import PauseKind
from madang.core.texts import one_line
from madang.database.port import Database, Row, Transaction
from madang.records.pause_rows import (
    PAUSE_COLUMN_COUNT,
    PAUSE_COLUMNS,
    has_expired,
    is_open,
    parse_pause,
    pause_topic,
)
from madang.records.pauses import PauseStore, SettledStatus, check_relayed, open_pause, settle_pause
from madang.services.ui.domain import (
    WAIT_TIMEOUT_S,
    AnswerValue,
    InboxItem,
    Question,
    QuestionStatus,
    QuestionType,
    Refusal,
    Wait,
    WaitStatus,
    check_answer,
    check_ended,
    check_settled,
)
from madang.services.ui.store.tables import MIGRATIONS
from madang.system.clock import format_timestamp, parse_timestamp, timestamp

SERVICE = "ui"

MAX_LISTED_ITEMS = 100
_MAX_TITLE_CHARS = 200

_ITEM = "prompt.type, prompt.prompt, prompt.options, prompt.placeholder, prompt.answer, wait.message, "
_ITEM += "wait.resume_instruction"
_ALL_ITEMS = (
    "FROM pause LEFT JOIN prompt ON prompt.user_id = pause.user_id AND prompt.id = pause.id "
    "LEFT JOIN wait ON wait.user_id = pause.user_id AND wait.id = pause.id "
    f"WHERE pause.user_id = ?1 AND pause.service = '{SERVICE}'"
)
_ITEMS = f"{_ALL_ITEMS} AND pause.session_id = ?2"
_SELECT = f"SELECT {PAUSE_COLUMNS}, {_ITEM} {_ITEMS}"
_BY_ID = f"{_SELECT} AND pause.id = ?3"

# Conditions on the pauses of a session. ?3 is the time for what is not settled, and for the others the status.
_IS_PENDING = is_open("?3")
_HAS_EXPIRED = f"({has_expired('?3')} OR pause.status = 'expired')"
_HAS_STATUS = "pause.settled_at IS NOT NULL AND pause.status = ?3"

_QUESTION_STATUS: dict[PauseStatus, QuestionStatus] = {
    "open": "pending",
    "answered": "answered",
    "cancelled": "cancelled",
    "expired": "expired",
    "withdrawn": "withdrawn",
}
_WAIT_STATUS: dict[PauseStatus, WaitStatus] = {
    "open": "waiting",
    "answered": "resumed",
    "expired": "expired",
    "withdrawn": "withdrawn",
}


class Lately(NamedTuple):
    """What the person answered, cancelled or ended lately, the last first, and what is open."""

    settled: list[InboxItem]
    pending: list[InboxItem]
    total: int


class UiStore:
    """Questions and waits in the database. Every method is one transaction, of one session but for `get_many`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await PauseStore(self._database).open()
        await self._database.prepare(MIGRATIONS)

    async def ask(
        self, call: Call, type: QuestionType, text: str, options: Sequence[str], placeholder: str, timeout_s: int
    ) -> Question:
        """Keep a new question, pending; for an operation that has asked already, return what it asked."""
        insert = (
            "INSERT INTO prompt (user_id, id, type, prompt, options, placeholder, answer) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        )
        values = type, text, json.dumps(list(options)), placeholder, json.dumps("")
        id, row = await self._keep(call, "prompt", "prompt_user", text, timeout_s, insert, *values)
        return _parse_question(_existing_question(id, row), timestamp())

    async def get(self, call: Call, id: str) -> InboxItem:
        """Return a question or a wait as it is now.

        Raises:
            NotFound: this session has neither with this id.
        """
        rows = await self._database.find(_BY_ID, *_owner(call), id, user_id=call.user_id)
        return _parse(_existing_prompt(id, rows[0] if rows else None), timestamp())

    async def get_many(self, call: Call, ids: Sequence[str]) -> dict[str, InboxItem]:
        """Return those of these questions and waits of the call's user that there are, of whatever session, by id."""
        if not ids:
            return {}
        marks = ", ".join(f"?{number}" for number in range(2, len(ids) + 2))
        sql = f"SELECT {PAUSE_COLUMNS}, {_ITEM} {_ALL_ITEMS} AND pause.id IN ({marks})"
        rows = await self._database.find(sql, call.user_id, *ids, user_id=call.user_id)
        now = timestamp()
        return {str(row[0]): _parse(row, now) for row in rows}

    async def list_items(self, call: Call, status: QuestionStatus) -> tuple[list[InboxItem], int]:
        """Return the newest questions and waits with this status, newest first, and how many there are in all.

        A wait that the person ended counts as answered.
        """
        return await self._database.read(lambda tx: _find_items(tx, call, status), user_id=call.user_id)

    async def read_lately(self, call: Call, within: timedelta, limit: int) -> Lately:
        """Return what is pending, and what the person answered, cancelled or ended within this time.

        A run's model has the answers to what runs asked in its history, so it is told of the others alone.
        """
        now = timestamp()
        others = "AND pause.run_id = '' " if call.actor == "model" else ""
        settled = (
            f"{_SELECT} AND pause.settled_at > ?3 AND pause.status IN ('answered', 'cancelled') {others}"
            f"ORDER BY pause.settled_at DESC LIMIT {limit}"
        )

        async def work(tx: Transaction) -> Lately:
            rows = await tx.all(settled, *_owner(call), _later(now, -within))
            return Lately([_parse(row, now) for row in rows], *await _find_items(tx, call, "pending"))

        return await self._database.read(work, user_id=call.user_id, brief=True)

    async def reply(
        self, call: Call, id: str, answer: AnswerValue | None, *, cancelled: bool
    ) -> tuple[Question, Refusal | None]:
        """Settle a question, once, and return it as it then is. With a refusal, nothing was changed.

        Raises:
            NotFound: this session has not asked it.
            Denied: the answer is relayed, and another has asked.
        """

        async def work(tx: Transaction) -> tuple[Question, Refusal | None]:
            row = _existing_question(id, await tx.one(_BY_ID, *_owner(call), id))
            question = _parse_question(row, timestamp())
            check_relayed(call, _parse_pause(row, timestamp()))
            if question.is_open:
                refusal = None if cancelled else check_answer(question, answer)
                if refusal:
                    return question, refusal
                await _settle_question(tx, call, id, "" if cancelled or answer is None else answer, cancelled=cancelled)
                row = _existing_question(id, await tx.one(_BY_ID, *_owner(call), id))
                question = _parse_question(row, timestamp())
            return question, check_settled(question, answer, cancelled=cancelled)

        return await self._database.write(work, user_id=call.user_id)

    async def wait(self, call: Call, message: str, resume_instruction: str) -> Wait:
        """Keep a new wait; for an operation that waits already, return its wait."""
        insert = "INSERT INTO wait (user_id, id, message, resume_instruction) VALUES (?1, ?2, ?3, ?4)"
        values = message, resume_instruction
        id, row = await self._keep(call, "wait", "wait_for_user", message, WAIT_TIMEOUT_S, insert, *values)
        return _parse_wait(_existing_wait(id, row), timestamp())

    async def _keep(
        self, call: Call, kind: PauseKind, tool: str, title: str, timeout_s: int, insert: str, *values: object
    ) -> tuple[str, Row | None]:
        """Open a pause with its row of the other table, once for an operation, and return what is there."""
        session, id, now = call.session, new_id(), timestamp()

        async def work(tx: Transaction) -> Row | None:
            pause, is_new = await open_pause(
                tx,
                call,
                id=id,
                kind=kind,
                service=SERVICE,
                tool=tool,
                title=one_line(title, _MAX_TITLE_CHARS),
                opened_at=now,
                expires_at=_later(now, timedelta(seconds=timeout_s)),
            )
            if is_new:
                await tx.run(insert, call.user_id, id, *values)
            return await tx.one(_BY_ID, call.user_id, session, pause.id)

        return id, await self._database.write(work, user_id=call.user_id)

    async def resume(self, call: Call, id: str) -> tuple[Wait, Refusal | None]:
        """End a wait, unless it has expired, and return it as it then is; ending it again changes nothing.

        Raises:
            NotFound: this session has no such wait.
            Denied: it is relayed, and another waits.
        """

        async def work(tx: Transaction) -> tuple[Wait, Refusal | None]:
            row = _existing_wait(id, await tx.one(_BY_ID, *_owner(call), id))
            check_relayed(call, _parse_pause(row, timestamp()))
            await settle_pause(tx, call, id, status="answered", tool="resume_from_wait", arguments={"waitId": id})
            row = _existing_wait(id, await tx.one(_BY_ID, *_owner(call), id))
            wait = _parse_wait(row, timestamp())
            return wait, check_ended(wait)

        return await self._database.write(work, user_id=call.user_id)

    def changes(self, call: Call, *id: str) -> AsyncIterator[frozenset[str]]:
        """Yield whenever one of the session's pauses changed, or the one that is named."""
        return self._database.changes(pause_topic(call.user_id, call.session, *id))


def _owner(call: Call) -> tuple[str, str]:
    return call.user_id, call.session


async def _settle_question(tx: Transaction, call: Call, id: str, answer: AnswerValue, *, cancelled: bool) -> None:
    """Settle a question if it is open, and keep the answer; otherwise change nothing."""
    arguments = {"messageId": id, "cancelled": True} if cancelled else {"messageId": id, "answer": answer}
    status: SettledStatus = "cancelled" if cancelled else "answered"
    if await settle_pause(tx, call, id, status=status, tool="reply_prompt", arguments=arguments):
        sql = "UPDATE prompt SET answer = ?3 WHERE user_id = ?1 AND id = ?2"
        await tx.run(sql, call.user_id, id, json.dumps(answer))


def _existing_prompt(id: str, row: Row | None) -> Row:
    # Another session's question gets the same error as an id that never was: an id must not tell that it exists.
    if row is None:
        raise NotFound(
            say("Prompt {id} not found.", id=id[:100]),
            hint=say("Call 'list_prompts' for the ids of the prompts of this session that are open."),
        )
    return row


def _existing_question(id: str, row: Row | None) -> Row:
    return _existing_prompt(id, row if row is not None and _parse_kind(row) == "prompt" else None)


def _existing_wait(id: str, row: Row | None) -> Row:
    if row is None or _parse_kind(row) != "wait":
        raise NotFound(
            say("Wait {id} not found.", id=id[:100]),
            hint=say("Call 'list_prompts' for the ids of the waits of this session that are open."),
        )
    return row


def _parse_kind(row: Row) -> str:
    return str(row[1])


def _parse_pause(row: Row, now: str) -> PauseRecord:
    return parse_pause(row[:PAUSE_COLUMN_COUNT], now)


def _parse(row: Row, now: str) -> InboxItem:
    return _parse_wait(row, now) if _parse_kind(row) == "wait" else _parse_question(row, now)


def _parse_question(row: Row, now: str) -> Question:
    pause = _parse_pause(row, now)
    type, text, options, placeholder, answer, _, _ = row[PAUSE_COLUMN_COUNT:]
    return Question.model_construct(
        message_id=pause.id,
        type=type,
        prompt=text,
        options=json.loads(options),
        placeholder=placeholder,
        status=_QUESTION_STATUS[pause.status],
        answer=json.loads(answer),
        created_at=pause.opened_at,
        expires_at=pause.expires_at,
        settled_at=pause.settled_at,
        by=pause.settled_by,
    )


def _parse_wait(row: Row, now: str) -> Wait:
    pause = _parse_pause(row, now)
    *_, message, resume_instruction = row
    resumed_at = pause.settled_at if pause.status == "answered" else ""
    elapsed_s = 0.0
    if resumed_at:
        elapsed = parse_timestamp(resumed_at) - parse_timestamp(pause.opened_at)
        # A clock that was set back in between must not make it negative.
        elapsed_s = max(round(elapsed.total_seconds(), 1), 0.0)
    return Wait(
        wait_id=pause.id,
        message=message,
        resume_instruction=resume_instruction,
        status=_WAIT_STATUS[pause.status],
        created_at=pause.opened_at,
        expires_at=pause.expires_at,
        resumed_at=resumed_at,
        elapsed_s=elapsed_s,
        by=pause.settled_by,
    )


def _later(stamp: str, delta: timedelta) -> str:
    return format_timestamp(parse_timestamp(stamp) + delta)


async def _find_items(tx: Transaction, call: Call, status: QuestionStatus) -> tuple[list[InboxItem], int]:
    now = timestamp()
    condition = {"pending": _IS_PENDING, "expired": _HAS_EXPIRED}.get(status, _HAS_STATUS)
    parameters = *_owner(call), status if condition is _HAS_STATUS else now
    # What is pending is in this order in its index. For the others SQLite would walk all pauses of the user by their
    # ids, to save itself the sorting of a session's.
    order = "pause.id" if status == "pending" else "pause.id || ''"
    sql = f"{_SELECT} AND {condition} ORDER BY {order} DESC LIMIT {MAX_LISTED_ITEMS}"
    rows = await tx.all(sql, *parameters)
    items = [_parse(row, now) for row in rows]
    if len(rows) < MAX_LISTED_ITEMS:
        return items, len(items)
    count = await tx.one(f"SELECT count(*) {_ITEMS} AND {condition}", *parameters)
    return items, int(count[0]) if count else 0
