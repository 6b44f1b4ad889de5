"""The questions and waits of a session that is deleted, copied, exported or imported."""

from __future__ import annotations

import json
from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.ids import new_ids
from madang.database.port import Database, Row, Transaction
from madang.records.saved_pauses import SavedPause, delete_pauses, read_pauses, restore_pauses
from madang.services.ui.domain import AnswerValue, QuestionType
from madang.services.ui.store.items import SERVICE


class SavedQuestion(Document):
    """What was asked and answered."""

    type: QuestionType
    prompt: str
    options: list[str]
    placeholder: str
    answer: AnswerValue


class SavedWait(Document):
    """What the person was asked to do before the agent goes on."""

    message: str
    resume_instruction: str


class SavedItem(Document):
    """A question or a wait, and how it ended."""

    pause: SavedPause
    question: SavedQuestion | None = None
    wait: SavedWait | None = None


class UiSessions:
    """The questions and waits of whole sessions. Every method is one unit of work."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def forget(self, call: Call) -> None:
        await self._database.write(lambda tx: delete_pauses(tx, call, SERVICE), user_id=call.user_id)

    async def read(self, call: Call) -> list[SavedItem]:
        """Return what was asked, oldest first."""

        async def work(tx: Transaction) -> list[SavedItem]:
            pauses = await read_pauses(tx, call, SERVICE)
            key = call.user_id, call.session
            questions = {row[0]: _saved_question(row) for row in await tx.all(_PROMPTS, *key)}
            waits = {
                id: SavedWait(message=message, resume_instruction=instruction)
                for id, message, instruction in await tx.all(_WAITS, *key)
            }
            return [
                SavedItem(pause=pause, question=questions.get(pause.id), wait=waits.get(pause.id)) for pause in pauses
            ]

        return await self._database.read(work, user_id=call.user_id)

    async def restore(self, call: Call, items: Sequence[SavedItem]) -> None:
        """Write questions and waits into the call's session, under new ids in the same order.

        What is neither, or two of the same id, is not written.
        """
        by_id = {item.pause.id: item for item in items if _is_whole(item)}
        ids = dict(zip(by_id, new_ids(len(by_id)), strict=True))

        async def work(tx: Transaction) -> None:
            await restore_pauses(tx, call, SERVICE, [item.pause for item in by_id.values()], ids)
            await tx.run_many(
                "INSERT INTO prompt (user_id, id, type, prompt, options, placeholder, answer) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                [_prompt_row(call, ids[id], item.question) for id, item in by_id.items() if item.question],
            )
            await tx.run_many(
                "INSERT INTO wait (user_id, id, message, resume_instruction) VALUES (?1, ?2, ?3, ?4)",
                [
                    (call.user_id, ids[id], item.wait.message, item.wait.resume_instruction)
                    for id, item in by_id.items()
                    if item.wait
                ],
            )

        if by_id:
            await self._database.write(work, user_id=call.user_id)


_IN_SESSION = (
    f"user_id = ?1 AND id IN (SELECT id FROM pause WHERE user_id = ?1 AND session_id = ?2 AND service = '{SERVICE}')"
)
_PROMPTS = f"SELECT id, type, prompt, options, placeholder, answer FROM prompt WHERE {_IN_SESSION}"
_WAITS = f"SELECT id, message, resume_instruction FROM wait WHERE {_IN_SESSION}"


def _is_whole(item: SavedItem) -> bool:
    if item.pause.kind == "prompt":
        return item.question is not None and item.wait is None and item.pause.status != "superseded"
    is_end = item.pause.status in ("answered", "expired", "withdrawn")
    return item.pause.kind == "wait" and item.wait is not None and item.question is None and is_end


def _saved_question(row: Row) -> SavedQuestion:
    _, type, prompt, options, placeholder, answer = row
    return SavedQuestion(
        type=type, prompt=prompt, options=json.loads(options), placeholder=placeholder, answer=json.loads(answer)
    )


def _prompt_row(call: Call, id: str, question: SavedQuestion) -> Row:
    options, answer = json.dumps(question.options), json.dumps(question.answer)
    return (call.user_id, id, question.type, question.prompt, options, question.placeholder, answer)
