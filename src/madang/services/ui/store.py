"""What the ui service keeps: questions and waits, each a row before anybody is asked, so that an answer finds it later.

A row is settled by one statement that asks for its being pending: of two answers at once exactly one wins. That the
time of a question is over is seen at each look and never written: a clock that was wrong ends nothing for good,
unless it was wrong by more than the month for which settled rows are kept.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.services.ui.domain import Answer, Prompt, PromptType, Status, Wait, check_answer, check_settled
from madang.storage.database import Database, MigrationSet, Row, Transaction, private_rows
from madang.storage.watchers import topic

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

KEPT_DAYS = 30
MAX_DELETED_AT_ONCE = 50
MAX_LISTED_QUESTIONS = 100
_FIELDS = "id, type, prompt, options, placeholder, status, answer, created_at, expires_at, settled_at"

_BY_ID = f"SELECT {_FIELDS} FROM prompt WHERE id = ?1 AND user_id = ?2 AND session_id = ?3"


class UiStore:
    """Questions and waits in the database. Every method is one transaction, about the call's session alone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.prepare(MIGRATIONS)

    async def ask(
        self, call: Call, type: PromptType, text: str, options: Sequence[str], placeholder: str, timeout_s: int
    ) -> Prompt:
        """Keep a new question, pending."""
        now = datetime.now(UTC)
        prompt = Prompt(
            message_id=new_id(),
            type=type,
            prompt=text,
            options=list(options),
            placeholder=placeholder,
            created_at=_stamp(now),
            expires_at=_stamp(now + timedelta(seconds=timeout_s)),
        )

        async def work(tx: Transaction) -> None:
            await _forget(tx, call)
            await tx.run(
                "INSERT INTO prompt (id, user_id, session_id, type, prompt, options, placeholder, status, answer, "
                "created_at, expires_at, settled_at) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', ?8, ?9, ?10, '')",
                prompt.message_id,
                *_owner(call),
                type,
                text,
                json.dumps(prompt.options),
                placeholder,
                json.dumps(""),
                prompt.created_at,
                prompt.expires_at,
            )
            await tx.notify(ui_topic(call, prompt.message_id))

        await self._database.write(work, user_id=call.user_id)
        return prompt

    async def get(self, call: Call, id: str) -> Prompt:
        """Return a question as it is now.

        Raises:
            NotFound: this session has not asked it.
        """
        rows = await self._database.find(_BY_ID, id, *_owner(call), user_id=call.user_id)
        return _found(id, rows[0] if rows else None, _now())

    async def list_prompts(self, call: Call, status: Status) -> tuple[list[Prompt], int]:
        """Return the session's newest questions with this status, newest first, and how many there are in all."""
        now = _now()
        kept = "pending" if status == "expired" else status
        time = {"pending": "AND expires_at > ?4", "expired": "AND expires_at <= ?4"}.get(status, "AND ?4 = ?4")
        which = f"FROM prompt WHERE user_id = ?1 AND session_id = ?2 AND status = ?3 {time}"

        async def work(tx: Transaction) -> tuple[list[Row], int]:
            owned = (*_owner(call), kept, now)
            rows = await tx.all(f"SELECT {_FIELDS} {which} ORDER BY id DESC LIMIT {MAX_LISTED_QUESTIONS}", *owned)
            counted = await tx.one(f"SELECT count(*) {which}", *owned)
            return rows, counted[0] if counted else 0

        rows, total = await self._database.read(work, user_id=call.user_id)
        return [_prompt(row, now) for row in rows], total

    async def reply(self, call: Call, id: str, answer: Answer | None, *, cancelled: bool) -> Prompt:
        """Settle a question, once. The same answer again is answered as before.

        Raises:
            NotFound, InvalidArguments, Conflict, Expired: nothing is changed.
        """
        prompt = await self.get(call, id)
        if prompt.status == "pending":
            kept = "" if cancelled else check_answer(prompt, answer)
            prompt = await self._settle(call, id, "cancelled" if cancelled else "answered", kept)
        check_settled(prompt, answer, cancelled=cancelled)
        return prompt

    async def wait(self, call: Call, message: str, resume_instruction: str) -> Wait:
        """Keep a new wait."""
        wait = Wait(
            wait_id=new_id(),
            message=message,
            resume_instruction=resume_instruction,
            created_at=_now(),
        )

        async def work(tx: Transaction) -> None:
            await _forget(tx, call)
            await tx.run(
                "INSERT INTO wait (id, user_id, session_id, message, resume_instruction, created_at, resumed_at) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, '')",
                wait.wait_id,
                *_owner(call),
                message,
                resume_instruction,
                wait.created_at,
            )
            await tx.notify(ui_topic(call, wait.wait_id))

        await self._database.write(work, user_id=call.user_id)
        return wait

    async def resume(self, call: Call, id: str) -> Wait:
        """End a wait and return it; ending it again changes nothing.

        Raises:
            NotFound: this session does not wait so.
        """

        async def work(tx: Transaction) -> Row | None:
            changed = await tx.run(
                "UPDATE wait SET resumed_at = ?4 "
                "WHERE id = ?1 AND user_id = ?2 AND session_id = ?3 AND resumed_at = ''",
                id,
                *_owner(call),
                _now(),
            )
            if changed:
                await tx.notify(ui_topic(call, id))
            return await tx.one(
                "SELECT message, resume_instruction, created_at, resumed_at FROM wait "
                "WHERE id = ?1 AND user_id = ?2 AND session_id = ?3",
                id,
                *_owner(call),
            )

        row = await self._database.write(work, user_id=call.user_id)
        if row is None:
            raise NotFound(
                say("Wait {id} not found.", id=id[:100]),
                hint=say("Use the id that 'wait_for_user' gave in this session."),
            )
        message, instruction, created_at, resumed_at = row
        elapsed = datetime.fromisoformat(resumed_at) - datetime.fromisoformat(created_at)
        return Wait(
            wait_id=id,
            message=message,
            resume_instruction=instruction,
            status="resumed",
            created_at=created_at,
            resumed_at=resumed_at,
            # A clock that was set back in between must not make it negative.
            elapsed_s=max(round(elapsed.total_seconds(), 1), 0.0),
        )

    def changes(self, call: Call, *id: str) -> AsyncIterator[frozenset[str]]:
        """Yield whenever one of the session's questions or waits changed, or the one that is named."""
        return self._database.changes(ui_topic(call, *id))

    async def _settle(self, call: Call, id: str, status: Status, answer: Answer) -> Prompt:
        """Settle a question unless somebody was faster or its time is over, and return it as it then is."""

        async def work(tx: Transaction) -> Prompt:
            now = _now()
            changed = await tx.run(
                "UPDATE prompt SET status = ?4, answer = ?5, settled_at = ?6 "
                "WHERE id = ?1 AND user_id = ?2 AND session_id = ?3 AND status = 'pending' AND expires_at > ?6",
                id,
                *_owner(call),
                status,
                json.dumps(answer),
                now,
            )
            if changed:
                await tx.notify(ui_topic(call, id))
            return await _get(tx, call, id, now)

        return await self._database.write(work, user_id=call.user_id)


def ui_topic(call: Call, *id: str) -> str:
    """The name under which changes are told: of one question or wait, or of all of the session's."""
    return topic("ui", *_owner(call), *id)


def _owner(call: Call) -> tuple[str, str]:
    return call.user_id, call.session


async def _forget(tx: Transaction, call: Call) -> None:
    """Remove some of what the user's sessions settled long ago; what is still open stays, however old.

    A few at a time: more than one new question can add, so that they never pile up, and too few to be noticed. A
    question that nobody answered counts from the end of its time.
    """
    before = _stamp(datetime.fromisoformat(_now()) - timedelta(days=KEPT_DAYS))
    for table, is_old in (
        ("prompt", "settled_at > '' AND settled_at < ?2"),
        ("prompt", "settled_at = '' AND expires_at < ?2"),
        ("wait", "resumed_at > '' AND resumed_at < ?2"),
    ):
        old = f"SELECT id FROM {table} WHERE user_id = ?1 AND {is_old} LIMIT {MAX_DELETED_AT_ONCE}"
        await tx.run(f"DELETE FROM {table} WHERE user_id = ?1 AND id IN ({old})", call.user_id, before)


async def _get(tx: Transaction, call: Call, id: str, now: str) -> Prompt:
    return _found(id, await tx.one(_BY_ID, id, *_owner(call)), now)


def _found(id: str, row: Row | None, now: str) -> Prompt:
    # Another session's question is answered like one that was never asked: an id must not tell that it is taken.
    if row is None:
        raise NotFound(
            say("Prompt {id} not found.", id=id[:100]),
            hint=say("Use 'list_prompts' to see the prompts of this session."),
        )
    return _prompt(row, now)


def _prompt(row: Row, now: str) -> Prompt:
    id, type, text, options, placeholder, status, answer, created_at, expires_at, settled_at = row
    if status == "pending" and expires_at <= now:
        status, settled_at = "expired", expires_at
    return Prompt.model_construct(
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


def _now() -> str:
    return _stamp(datetime.now(UTC))


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
