"""The questions and waits of a session that is deleted, copied, exported or imported."""

from __future__ import annotations

from madang.core.documents import Document
from madang.records.declarations import JSON, Id, Saved, SessionDeclaration, SessionFile, SessionTable, User
from madang.records.saved_pauses import SavedPause, pause_table
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


def _is_whole(item: SavedItem) -> bool:
    if item.pause.kind == "prompt":
        return item.question is not None and item.wait is None and item.pause.status != "superseded"
    is_end = item.pause.status in ("answered", "expired", "withdrawn")
    return item.pause.kind == "wait" and item.wait is not None and item.question is None and is_end


PAUSES = pause_table(SERVICE)
QUESTIONS = SessionTable(
    "prompt",
    SavedQuestion,
    {
        "user_id": User(),
        "id": Id(is_saved=False),
        "type": Saved(),
        "prompt": Saved(),
        "options": Saved(form=JSON),
        "placeholder": Saved(),
        "answer": Saved(form=JSON),
    },
    order="id",
    hangs_on=PAUSES,
)
WAITS = SessionTable(
    "wait",
    SavedWait,
    {"user_id": User(), "id": Id(is_saved=False), "message": Saved(), "resume_instruction": Saved()},
    order="id",
    hangs_on=PAUSES,
)
SESSIONS = SessionDeclaration(
    [SessionFile("prompts.jsonl", SavedItem, {"pause": PAUSES, "question": QUESTIONS, "wait": WAITS}, admits=_is_whole)]
)
