"""What the ui service keeps: questions and waits. Each is a row before the person is asked, so that an answer finds it.

A row is settled by compare-and-set: one statement that requires it to be open, so that of two answers at once exactly
one wins. That a row has expired is computed at each look and never written: a clock that was wrong ends nothing for
good, unless it was wrong by more than the days for which settled rows are kept.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import new_id
from madang.core.phrases import say
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
    check_settled,
)
from madang.storage.clock import format_timestamp, parse_timestamp, timestamp
from madang.storage.database import Database, MigrationSet, Row, Transaction, private_rows
from madang.storage.subscriptions import topic

_TABLES = """
CREATE TABLE prompt (
  id TEXT PRIMARY KEY, user_id TEXT NOT NULL, session_id TEXT NOT NULL,
  type TEXT NOT NULL, prompt TEXT NOT NULL, options TEXT NOT NULL, placeholder TEXT NOT NULL,
  status TEXT NOT NULL, answer TEXT NOT NULL,
  created_at TEXT NOT NULL, expires_at TEXT NOT NULL, settled_at TEXT NOT NULL
);
CREATE INDEX prompt_by_session ON prompt (user_id, session_id, status, id);
CREATE TABLE wait (
  id TEXT PRIMARY KEY, user_id TEXT NOT NULL, session_id TEXT NOT NULL,
  message TEXT NOT NULL, resume_instruction TEXT NOT NULL, created_at TEXT NOT NULL, resumed_at TEXT NOT NULL
);
"""

_BY_AGE = """
CREATE INDEX prompt_by_age ON prompt (user_id, settled_at, expires_at);
CREATE INDEX wait_by_age ON wait (user_id, resumed_at);
"""

MIGRATIONS = MigrationSet(
    "ui", sqlite=(_TABLES, _BY_AGE), postgresql=(_TABLES + private_rows("prompt", "wait"), _BY_AGE)
)

RETENTION_DAYS = 30
MAX_DELETED_ROWS = 50
MAX_LISTED_ITEMS = 100

_WAIT_LIFETIME = timedelta(seconds=WAIT_TIMEOUT_S)

_Table = Literal["prompt", "wait"]
# The same columns of both tables, so that one statement looks an id up in both.
_SELECT: dict[_Table, str] = {
    "prompt": """
SELECT id, type, prompt, options, placeholder, status, answer, created_at, expires_at, settled_at FROM prompt
""",
    "wait": "SELECT id, 'wait', message, '', resume_instruction, '', '', created_at, '', resumed_at FROM wait",
}
_BY_ID = "WHERE id = ?1 AND user_id = ?2 AND session_id = ?3"
_QUESTION_BY_ID = f"{_SELECT['prompt']} {_BY_ID}"
_WAIT_BY_ID = f"{_SELECT['wait']} {_BY_ID}"
_ITEM_BY_ID = f"{_QUESTION_BY_ID} UNION ALL {_WAIT_BY_ID}"

# Conditions on the rows of a session (?1, ?2); what ?3 is for the first two, `_open_after` says.
_IS_OPEN: dict[_Table, str] = {
    "prompt": "status = 'pending' AND expires_at > ?3",
    "wait": "resumed_at = '' AND created_at > ?3",
}
_HAS_EXPIRED: dict[_Table, str] = {
    "prompt": "status = 'pending' AND expires_at <= ?3",
    "wait": "resumed_at = '' AND created_at <= ?3",
}
_ANSWERED_SINCE: dict[_Table, str] = {
    "prompt": "status = 'answered' AND settled_at > ?3",
    "wait": "resumed_at > ?3",
}
_CANCELLED_SINCE: dict[_Table, str] = {"prompt": "status = 'cancelled' AND settled_at > ?3"}
_SETTLED_AT: dict[_Table, str] = {"prompt": "settled_at", "wait": "resumed_at"}


@dataclass(frozen=True, slots=True)
class _Filter:
    """A condition on the rows of one table, and the timestamp that its ?3 stands for."""

    table: _Table
    condition: str
    timestamp: str

    @property
    def where(self) -> str:
        return f"WHERE user_id = ?1 AND session_id = ?2 AND {self.condition}"


class UiStore:
    """Questions and waits in the database. Every method is one transaction, about the call's session alone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.prepare(MIGRATIONS)

    async def ask(
        self, call: Call, type: QuestionType, text: str, options: Sequence[str], placeholder: str, timeout_s: int
    ) -> Question:
        """Keep a new question, pending."""
        now = timestamp()
        question = Question(
            message_id=new_id(),
            type=type,
            prompt=text,
            options=list(options),
            placeholder=placeholder,
            created_at=now,
            expires_at=_later(now, timedelta(seconds=timeout_s)),
        )

        async def work(tx: Transaction) -> None:
            await _insert(
                tx,
                call,
                "prompt",
                question.message_id,
                type=type,
                prompt=text,
                options=json.dumps(question.options),
                placeholder=placeholder,
                status=question.status,
                answer=json.dumps(question.answer),
                created_at=question.created_at,
                expires_at=question.expires_at,
            )

        await self._database.write(work, user_id=call.user_id)
        return question

    async def get(self, call: Call, id: str) -> InboxItem:
        """Return a question or a wait as it is now.

        Raises:
            NotFound: this session has neither with this id.
        """
        rows = await self._database.find(_ITEM_BY_ID, id, *_owner(call), user_id=call.user_id)
        return _parse(_existing_prompt(id, rows[0] if rows else None), timestamp())

    async def list_items(self, call: Call, status: QuestionStatus) -> tuple[list[InboxItem], int]:
        """Return the newest questions and waits with this status, newest first, and how many there are in all.

        A wait that the person ended counts as answered.
        """
        now = timestamp()
        filters = _filters(status, now)

        async def work(tx: Transaction) -> tuple[list[Row], int]:
            rows = [row for part in filters for row in await _newest(tx, call, part, "id", MAX_LISTED_ITEMS)]
            return rows, sum([await _count(tx, call, part) for part in filters])

        rows, total = await self._database.read(work, user_id=call.user_id)
        newest = sorted(rows, key=lambda row: str(row[0]), reverse=True)[:MAX_LISTED_ITEMS]
        return [_parse(row, now) for row in newest], total

    async def list_settled(self, call: Call, within: timedelta, limit: int) -> list[InboxItem]:
        """Return what the person answered, cancelled or ended within this time, the last first."""
        now = timestamp()
        since = _later(now, -within)
        filters = [*_filters("answered", now, since), *_filters("cancelled", now, since)]

        async def work(tx: Transaction) -> list[Row]:
            return [row for part in filters for row in await _newest(tx, call, part, _SETTLED_AT[part.table], limit)]

        rows = await self._database.read(work, user_id=call.user_id)
        last = sorted(rows, key=lambda row: str(row[-1]), reverse=True)[:limit]
        return [_parse(row, now) for row in last]

    async def reply(
        self, call: Call, id: str, answer: AnswerValue | None, *, cancelled: bool
    ) -> tuple[Question, Refusal | None]:
        """Settle a question, once, and return it as it then is. With a refusal, nothing was changed.

        Raises:
            NotFound: this session has not asked it.
        """

        async def work(tx: Transaction) -> tuple[Question, Refusal | None]:
            now = timestamp()
            question = await _get_question(tx, call, id, now)
            if question.status == "pending":
                refusal = None if cancelled else check_answer(question, answer)
                if refusal:
                    return question, refusal
                status = "cancelled" if cancelled else "answered"
                await _settle(
                    tx, call, "prompt", id, now, status=status, answer=json.dumps("" if cancelled else answer)
                )
                question = await _get_question(tx, call, id, now)
            return question, check_settled(question, answer, cancelled=cancelled)

        return await self._database.write(work, user_id=call.user_id)

    async def wait(self, call: Call, message: str, resume_instruction: str) -> Wait:
        """Keep a new wait."""
        now = timestamp()
        wait = Wait(
            wait_id=new_id(),
            message=message,
            resume_instruction=resume_instruction,
            created_at=now,
            expires_at=_later(now, _WAIT_LIFETIME),
        )

        async def work(tx: Transaction) -> None:
            values = {"message": message, "resume_instruction": resume_instruction, "created_at": now}
            await _insert(tx, call, "wait", wait.wait_id, **values)

        await self._database.write(work, user_id=call.user_id)
        return wait

    async def resume(self, call: Call, id: str) -> Wait:
        """End a wait, unless it has expired, and return it as it then is; ending it again changes nothing.

        Raises:
            NotFound: this session has no such wait.
        """
        now = timestamp()

        async def work(tx: Transaction) -> Row | None:
            await _settle(tx, call, "wait", id, now)
            return await tx.one(_WAIT_BY_ID, id, *_owner(call))

        row = await self._database.write(work, user_id=call.user_id)
        if row is None:
            raise NotFound(
                say("Wait {id} not found.", id=id[:100]),
                hint=say("Call 'list_prompts' for the ids of the waits of this session that are open."),
            )
        return _parse_wait(row, now)

    def changes(self, call: Call, *id: str) -> AsyncIterator[frozenset[str]]:
        """Yield whenever one of the session's questions or waits changed, or the one that is named."""
        return self._database.changes(ui_topic(call, *id))


def ui_topic(call: Call, *id: str) -> str:
    """Return the topic of one question or wait, or of all of the session's."""
    return topic("ui", *_owner(call), *id)


def _owner(call: Call) -> tuple[str, str]:
    return call.user_id, call.session


async def _insert(tx: Transaction, call: Call, table: _Table, id: str, **values: str) -> None:
    """Add an open row, notify its subscribers, and delete some old rows to make room."""
    await _delete_old_rows(tx, call)
    row = {"id": id, "user_id": call.user_id, "session_id": call.session, **values, _SETTLED_AT[table]: ""}
    parameters = ", ".join(f"?{number}" for number in range(1, len(row) + 1))
    await tx.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({parameters})", *row.values())
    await tx.notify(ui_topic(call, id))


def _filters(status: QuestionStatus, now: str, since: str = "") -> list[_Filter]:
    """Return which rows of each table have this status; those that were settled, since when."""
    conditions = {
        "pending": _IS_OPEN,
        "expired": _HAS_EXPIRED,
        "answered": _ANSWERED_SINCE,
        "cancelled": _CANCELLED_SINCE,
    }[status]
    if status in ("answered", "cancelled"):
        return [_Filter(table, condition, since) for table, condition in conditions.items()]
    return [_Filter(table, condition, _open_after(table, now)) for table, condition in conditions.items()]


def _open_after(table: _Table, now: str) -> str:
    """Return what the expiry of an open question, or the beginning of an open wait, is later than."""
    return now if table == "prompt" else _later(now, -_WAIT_LIFETIME)


async def _newest(tx: Transaction, call: Call, rows: _Filter, by: str, limit: int) -> list[Row]:
    sql = f"{_SELECT[rows.table]} {rows.where} ORDER BY {by} DESC LIMIT {limit}"
    return await tx.all(sql, *_owner(call), rows.timestamp)


async def _count(tx: Transaction, call: Call, rows: _Filter) -> int:
    count = await tx.one(f"SELECT count(*) FROM {rows.table} {rows.where}", *_owner(call), rows.timestamp)
    return int(count[0]) if count else 0


async def _settle(tx: Transaction, call: Call, table: _Table, id: str, now: str, **values: str) -> None:
    """Settle a row if it is open (compare-and-set), and notify its subscribers; otherwise change nothing."""
    values = {_SETTLED_AT[table]: now, **values}
    columns = ", ".join(f"{column} = ?{number}" for number, column in enumerate(values, start=5))
    changed = await tx.run(
        f"UPDATE {table} SET {columns} WHERE user_id = ?1 AND session_id = ?2 AND {_IS_OPEN[table]} AND id = ?4",
        *_owner(call),
        _open_after(table, now),
        id,
        *values.values(),
    )
    if changed:
        await tx.notify(ui_topic(call, id))


async def _delete_old_rows(tx: Transaction, call: Call) -> None:
    """Delete some of what the user's sessions settled long ago; open rows stay.

    Up to `MAX_DELETED_ROWS` of each kind: more than one new row, so that they never pile up, and too few to be noticed.
    What expired counts from its expiry.
    """
    before = _later(timestamp(), -timedelta(days=RETENTION_DAYS))
    for table, is_old, moment in (
        ("prompt", "settled_at > '' AND settled_at < ?2", before),
        ("prompt", "settled_at = '' AND expires_at < ?2", before),
        ("wait", "resumed_at > '' AND resumed_at < ?2", before),
        ("wait", "resumed_at = '' AND created_at < ?2", _later(before, -_WAIT_LIFETIME)),
    ):
        old_ids = f"SELECT id FROM {table} WHERE user_id = ?1 AND {is_old} LIMIT {MAX_DELETED_ROWS}"
        await tx.run(f"DELETE FROM {table} WHERE user_id = ?1 AND id IN ({old_ids})", call.user_id, moment)


async def _get_question(tx: Transaction, call: Call, id: str, now: str) -> Question:
    return _parse_question(_existing_prompt(id, await tx.one(_QUESTION_BY_ID, id, *_owner(call))), now)


def _existing_prompt(id: str, row: Row | None) -> Row:
    # Another session's question gets the same error as an id that never was: an id must not tell that it exists.
    if row is None:
        raise NotFound(
            say("Prompt {id} not found.", id=id[:100]),
            hint=say("Call 'list_prompts' for the ids of the prompts of this session that are open."),
        )
    return row


def _parse(row: Row, now: str) -> InboxItem:
    return _parse_wait(row, now) if row[1] == "wait" else _parse_question(row, now)


def _parse_question(row: Row, now: str) -> Question:
    id, type, text, options, placeholder, status, answer, created_at, expires_at, settled_at = row
    if status == "pending" and expires_at <= now:
        status, settled_at = "expired", expires_at
    return Question.model_construct(
        message_id=id,
        type=type,
        prompt=text,
        options=json.loads(options),
        placeholder=placeholder,
        status=status,
        answer=json.loads(answer),
        created_at=created_at,
        expires_at=expires_at,
        settled_at=settled_at,
    )


def _parse_wait(row: Row, now: str) -> Wait:
    id, _, message, _, resume_instruction, _, _, created_at, _, resumed_at = row
    expires_at = _later(created_at, _WAIT_LIFETIME)
    status: WaitStatus = "expired" if expires_at <= now else "waiting"
    elapsed_s = 0.0
    if resumed_at:
        status = "resumed"
        elapsed = parse_timestamp(resumed_at) - parse_timestamp(created_at)
        # A clock that was set back in between must not make it negative.
        elapsed_s = max(round(elapsed.total_seconds(), 1), 0.0)
    return Wait(
        wait_id=id,
        message=message,
        resume_instruction=resume_instruction,
        status=status,
        created_at=created_at,
        expires_at=expires_at,
        resumed_at=resumed_at,
        elapsed_s=elapsed_s,
    )


def _later(stamp: str, delta: timedelta) -> str:
    return format_timestamp(parse_timestamp(stamp) + delta)
