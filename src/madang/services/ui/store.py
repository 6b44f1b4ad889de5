"""What the ui service keeps: questions and waits. Each is a row before the person is asked, so that an answer finds it.

A row is settled by compare-and-set: one statement that requires it to be open, so that of two answers at once exactly
one wins. That a question has expired is computed at each look and never written: a clock that was wrong ends nothing
for good, unless it was wrong by more than the days for which settled rows are kept.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Literal

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.services.ui.domain import (
    AnswerValue,
    Question,
    QuestionStatus,
    QuestionType,
    Refusal,
    Wait,
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
MAX_LISTED_QUESTIONS = 100

_COLUMNS = "id, type, prompt, options, placeholder, status, answer, created_at, expires_at, settled_at"
_QUESTION_BY_ID = f"SELECT {_COLUMNS} FROM prompt WHERE id = ?1 AND user_id = ?2 AND session_id = ?3"
_WAIT_BY_ID = """
SELECT message, resume_instruction, created_at, resumed_at FROM wait WHERE id = ?1 AND user_id = ?2 AND session_id = ?3
"""

_Table = Literal["prompt", "wait"]
# When a row can still be settled; ?4 is the time of settling.
_IS_OPEN: dict[_Table, str] = {"prompt": "status = 'pending' AND expires_at > ?4", "wait": "resumed_at = ''"}
_SETTLED_AT: dict[_Table, str] = {"prompt": "settled_at", "wait": "resumed_at"}


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

    async def get(self, call: Call, id: str) -> Question:
        """Return a question as it is now.

        Raises:
            NotFound: this session has not asked it.
        """
        rows = await self._database.find(_QUESTION_BY_ID, id, *_owner(call), user_id=call.user_id)
        return _question(id, rows[0] if rows else None, timestamp())

    async def list_questions(self, call: Call, status: QuestionStatus) -> tuple[list[Question], int]:
        """Return the session's newest questions with this status, newest first, and how many there are in all."""
        now = timestamp()
        stored_status = "pending" if status == "expired" else status
        time = {"pending": "AND expires_at > ?4", "expired": "AND expires_at <= ?4"}.get(status, "AND ?4 = ?4")
        condition = f"FROM prompt WHERE user_id = ?1 AND session_id = ?2 AND status = ?3 {time}"
        parameters = (*_owner(call), stored_status, now)

        async def work(tx: Transaction) -> tuple[list[Row], int]:
            newest = f"SELECT {_COLUMNS} {condition} ORDER BY id DESC LIMIT {MAX_LISTED_QUESTIONS}"
            rows = await tx.all(newest, *parameters)
            count = await tx.one(f"SELECT count(*) {condition}", *parameters)
            return rows, count[0] if count else 0

        rows, total = await self._database.read(work, user_id=call.user_id)
        return [_parse_question(row, now) for row in rows], total

    async def reply(
        self, call: Call, id: str, answer: AnswerValue | None, *, cancelled: bool
    ) -> tuple[Question, Refusal | None]:
        """Settle a question, once, and return it as it then is. With a refusal, nothing was changed.

        Raises:
            NotFound: this session has not asked it.
        """

        async def work(tx: Transaction) -> tuple[Question, Refusal | None]:
            now = timestamp()
            question = await _get(tx, call, id, now)
            if question.status == "pending":
                refusal = None if cancelled else check_answer(question, answer)
                if refusal:
                    return question, refusal
                status = "cancelled" if cancelled else "answered"
                await _settle(
                    tx, call, "prompt", id, now, status=status, answer=json.dumps("" if cancelled else answer)
                )
                question = await _get(tx, call, id, now)
            return question, check_settled(question, answer, cancelled=cancelled)

        return await self._database.write(work, user_id=call.user_id)

    async def wait(self, call: Call, message: str, resume_instruction: str) -> Wait:
        """Keep a new wait."""
        wait = Wait(wait_id=new_id(), message=message, resume_instruction=resume_instruction, created_at=timestamp())

        async def work(tx: Transaction) -> None:
            await _insert(
                tx,
                call,
                "wait",
                wait.wait_id,
                message=message,
                resume_instruction=resume_instruction,
                created_at=wait.created_at,
            )

        await self._database.write(work, user_id=call.user_id)
        return wait

    async def resume(self, call: Call, id: str) -> Wait:
        """End a wait and return it; ending it again changes nothing.

        Raises:
            NotFound: this session has no such wait.
        """

        async def work(tx: Transaction) -> Row | None:
            await _settle(tx, call, "wait", id, timestamp())
            return await tx.one(_WAIT_BY_ID, id, *_owner(call))

        row = await self._database.write(work, user_id=call.user_id)
        if row is None:
            raise NotFound(
                say("Wait {id} not found.", id=id[:100]),
                hint=say("Use the id that 'wait_for_user' gave in this session."),
            )
        return _parse_wait(id, row)

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


async def _settle(tx: Transaction, call: Call, table: _Table, id: str, now: str, **values: str) -> None:
    """Settle a row if it is open (compare-and-set), and notify its subscribers; otherwise change nothing."""
    columns = ", ".join(f"{column} = ?{number}" for number, column in enumerate((_SETTLED_AT[table], *values), start=4))
    changed = await tx.run(
        f"UPDATE {table} SET {columns} WHERE id = ?1 AND user_id = ?2 AND session_id = ?3 AND {_IS_OPEN[table]}",
        id,
        *_owner(call),
        now,
        *values.values(),
    )
    if changed:
        await tx.notify(ui_topic(call, id))


async def _delete_old_rows(tx: Transaction, call: Call) -> None:
    """Delete some of what the user's sessions settled long ago; open rows stay, however old.

    Up to `MAX_DELETED_ROWS` of each kind: more than one new row, so that they never pile up, and too few to be noticed.
    An expired question counts from its expiry.
    """
    before = _later(timestamp(), -timedelta(days=RETENTION_DAYS))
    for table, is_old in (
        ("prompt", "settled_at > '' AND settled_at < ?2"),
        ("prompt", "settled_at = '' AND expires_at < ?2"),
        ("wait", "resumed_at > '' AND resumed_at < ?2"),
    ):
        old_ids = f"SELECT id FROM {table} WHERE user_id = ?1 AND {is_old} LIMIT {MAX_DELETED_ROWS}"
        await tx.run(f"DELETE FROM {table} WHERE user_id = ?1 AND id IN ({old_ids})", call.user_id, before)


async def _get(tx: Transaction, call: Call, id: str, now: str) -> Question:
    return _question(id, await tx.one(_QUESTION_BY_ID, id, *_owner(call)), now)


def _question(id: str, row: Row | None, now: str) -> Question:
    # Another session's question gets the same error as an id that never was: an id must not tell that it exists.
    if row is None:
        raise NotFound(
            say("Prompt {id} not found.", id=id[:100]),
            hint=say("Use 'list_prompts' to see the prompts of this session."),
        )
    return _parse_question(row, now)


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


def _parse_wait(id: str, row: Row) -> Wait:
    message, resume_instruction, created_at, resumed_at = row
    elapsed = parse_timestamp(resumed_at) - parse_timestamp(created_at)
    return Wait(
        wait_id=id,
        message=message,
        resume_instruction=resume_instruction,
        status="resumed",
        created_at=created_at,
        resumed_at=resumed_at,
        # A clock that was set back in between must not make it negative.
        elapsed_s=max(round(elapsed.total_seconds(), 1), 0.0),
    )


def _later(stamp: str, delta: timedelta) -> str:
    return format_timestamp(parse_timestamp(stamp) + delta)
