"""What an agent can ask of the person, and what the person's buttons do."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator
from pydantic_core import PydanticCustomError

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.ui.domain import (
    DEFAULT_TIMEOUT_S,
    MAX_ANSWER_CHARS,
    MAX_OPTION_CHARS,
    MAX_OPTIONS,
    AnswerValue,
    InboxItem,
    Option,
    Placeholder,
    Question,
    QuestionStatus,
    QuestionText,
    QuestionType,
    TimeoutS,
    Wait,
    check_options,
)
from madang.services.ui.store import UiStore
from madang.services.ui.views import inbox, questions, waits

Id = Annotated[str, Field(min_length=1, max_length=100)]
WaitS = Annotated[int, Field(ge=0, le=25)]


def _text_or_options(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Report a wrong type in one sentence; pydantic reports a union once for each of its types."""
    try:
        return check(value)
    except ValidationError:
        raise PydanticCustomError("text_or_texts", "must be a string or a list of strings") from None


AnswerArgument = Annotated[
    Annotated[str, Field(max_length=MAX_ANSWER_CHARS)]
    | Annotated[list[Annotated[str, Field(max_length=MAX_OPTION_CHARS)]], Field(max_length=MAX_OPTIONS)],
    WrapValidator(_text_or_options),
    # The only `anyOf` of all tools: clients refuse it at the top of a schema, and lists of types anywhere. Without a
    # type a model would have to guess, and clients that translate schemas drop the field or the tool.
    WithJsonSchema(
        {
            "description": "a string, or for multiselect a list of options",
            "anyOf": [
                {"type": "string", "maxLength": MAX_ANSWER_CHARS},
                {
                    "type": "array",
                    "items": {"type": "string", "maxLength": MAX_OPTION_CHARS},
                    "maxItems": MAX_OPTIONS,
                },
            ],
        }
    ),
]


class PromptAnswer(Document):
    """What answers a prompt."""

    answer: AnswerArgument


class UiTools:
    """The tools of the ui service. None waits for the person inside its call, except `get_prompt` for some seconds."""

    def __init__(self, store: UiStore) -> None:
        self._store = store

    @tool(
        effect="write", page=questions.QUESTION_PAGE, answered_by="reply_prompt", once_per_operation=True, trusted=True
    )
    async def prompt_user(
        self,
        call: Call,
        prompt: QuestionText,
        type: QuestionType,
        options: Annotated[list[Option], Field(max_length=MAX_OPTIONS)] | None = None,
        placeholder: Placeholder = "",
        timeout_s: TimeoutS = DEFAULT_TIMEOUT_S,
    ) -> ToolResult[questions.QuestionAsked]:
        """Ask the person a question: free text, one of options, or several. Pauses: end your turn."""
        problem = check_options(type, options or [])
        if problem:
            raise questions.wrong_options(problem)
        return questions.question_asked(
            await self._store.ask(call, type, prompt, options or [], placeholder, timeout_s)
        )

    @tool(effect="write", audience="person", page=questions.QUESTION_PAGE, idempotent=True, answers_pause=True)
    async def reply_prompt(
        self, call: Call, message_id: Id, answer: AnswerArgument | None = None, cancelled: bool = False
    ) -> ToolResult[questions.QuestionReply]:
        """Give the person's answer to a prompt, or cancel it. Only with what the person really said."""
        return questions.question_settled(await self.reply(call, message_id, answer, cancelled=cancelled))

    @tool(effect="read", refills=(questions.QUESTION_PAGE, waits.WAIT_PAGE), in_runs=False)
    async def get_prompt(self, call: Call, message_id: Id, wait_s: WaitS = 0) -> ToolResult[inbox.InboxEntry]:
        """Read the person's answer to a prompt_user, or whether they ended a wait_for_user. waitS waits so many
        seconds."""
        item = await self._settled(call, message_id, wait_s)
        return waits.wait_read(item) if isinstance(item, Wait) else questions.question_read(item)

    @tool(effect="read", in_runs=False)
    async def list_prompts(self, call: Call, status: QuestionStatus = "pending") -> ToolResult[inbox.InboxList]:
        """List this session's prompts and waits, by default the open ones."""
        items, total = await self._store.list_items(call, status)
        return inbox.items_listed(items, status, total)

    @tool(effect="write", page=waits.WAIT_PAGE, once_per_operation=True, trusted=True)
    async def wait_for_user(
        self, call: Call, message: QuestionText, resume_instruction: Annotated[str, Field(max_length=4_000)] = ""
    ) -> ToolResult[waits.WaitState]:
        """Stop until the person says to continue, after doing something elsewhere, say. Pauses: end your turn."""
        return waits.wait_started(await self._store.wait(call, message, resume_instruction))

    @tool(effect="write", audience="person", page=waits.WAIT_PAGE, idempotent=True, answers_pause=True)
    async def resume_from_wait(self, call: Call, wait_id: Id) -> ToolResult[waits.WaitState]:
        """Say that the person is ready: ends a wait and tells what to do next."""
        return waits.wait_ended(await self.resume(call, wait_id))

    async def reply(self, call: Call, id: str, answer: AnswerValue | None, *, cancelled: bool) -> Question:
        """Settle a question and return it, or raise why the answer is not accepted."""
        question, refusal = await self._store.reply(call, id, answer, cancelled=cancelled)
        if refusal:
            raise questions.answer_refused(question, refusal)
        return question

    async def resume(self, call: Call, id: str) -> Wait:
        """End a wait and return it, or raise why it is over."""
        wait, refusal = await self._store.resume(call, id)
        if refusal:
            raise waits.wait_refused(wait, refusal)
        return wait

    async def _settled(self, call: Call, id: str, wait_s: int) -> InboxItem:
        """Return a question or a wait once it is settled, or as it is when the time is over."""
        item = await self._store.get(call, id)
        if not (item.is_open and wait_s):
            return item
        try:
            async with asyncio.timeout(wait_s):
                async for _ in self._store.changes(call, id):
                    item = await self._store.get(call, id)
                    if not item.is_open:
                        return item
        except TimeoutError:
            pass
        return await self._store.get(call, id)
