"""What an agent can ask of the person, and what the person's buttons do."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator
from pydantic_core import PydanticCustomError

from madang.core.calls import Call
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.ui import views
from madang.services.ui.domain import (
    DEFAULT_TIMEOUT_S,
    MAX_ANSWER_CHARS,
    MAX_OPTION_CHARS,
    MAX_OPTIONS,
    Option,
    Placeholder,
    Question,
    QuestionStatus,
    QuestionText,
    QuestionType,
    TimeoutS,
    check_options,
)
from madang.services.ui.store import UiStore

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


class UiTools:
    """The tools of the ui service. None waits for the person inside its call, except `get_prompt` for some seconds."""

    def __init__(self, store: UiStore) -> None:
        self._store = store

    @tool(effect="write", page=views.QUESTION_PAGE, answered_by="reply_prompt")
    async def prompt_user(
        self,
        call: Call,
        prompt: QuestionText,
        type: QuestionType,
        options: Annotated[list[Option], Field(max_length=MAX_OPTIONS)] | None = None,
        placeholder: Placeholder = "",
        timeout_s: TimeoutS = DEFAULT_TIMEOUT_S,
    ) -> ToolResult[views.QuestionAsked]:
        """Ask the person a question: free text, one of options, or several. Pauses; get_prompt reads the answer."""
        problem = check_options(type, options or [])
        if problem:
            raise views.wrong_options(problem)
        return views.question_asked(await self._store.ask(call, type, prompt, options or [], placeholder, timeout_s))

    @tool(effect="write", audience="person", page=views.QUESTION_PAGE, idempotent=True, answers_pause=True)
    async def reply_prompt(
        self, call: Call, message_id: Id, answer: AnswerArgument | None = None, cancelled: bool = False
    ) -> ToolResult[views.QuestionReply]:
        """Give the person's answer to a prompt, or cancel it. Only with what the person really said."""
        question, refusal = await self._store.reply(call, message_id, answer, cancelled=cancelled)
        if refusal:
            raise views.answer_refused(question, refusal)
        return views.question_settled(question)

    @tool(effect="read", refills=views.QUESTION_PAGE)
    async def get_prompt(self, call: Call, message_id: Id, wait_s: WaitS = 0) -> ToolResult[Question]:
        """Read a prompt's status and answer; with waitS, wait so many seconds for the person."""
        return views.question_read(await self._settled(call, message_id, wait_s))

    @tool(effect="read")
    async def list_prompts(self, call: Call, status: QuestionStatus = "pending") -> ToolResult[views.QuestionList]:
        """List this session's prompts: by default those the person has not answered yet."""
        questions, total = await self._store.list_questions(call, status)
        return views.questions_listed(questions, status, total)

    @tool(effect="write", page=views.WAIT_PAGE)
    async def wait_for_user(
        self, call: Call, message: QuestionText, resume_instruction: Annotated[str, Field(max_length=4_000)] = ""
    ) -> ToolResult[views.WaitState]:
        """Stop until the person says to continue, for example after they did something elsewhere. Pauses."""
        return views.wait_started(await self._store.wait(call, message, resume_instruction))

    @tool(effect="write", audience="person", page=views.WAIT_PAGE, idempotent=True, answers_pause=True)
    async def resume_from_wait(self, call: Call, wait_id: Id) -> ToolResult[views.WaitState]:
        """Say that the person is ready: ends a wait and tells what to do next."""
        return views.wait_ended(await self._store.resume(call, wait_id))

    async def _settled(self, call: Call, id: str, wait_s: int) -> Question:
        """Return a question once it is settled, or as it is when the time is over."""
        question = await self._store.get(call, id)
        if question.status != "pending" or not wait_s:
            return question
        try:
            async with asyncio.timeout(wait_s):
                async for _ in self._store.changes(call, id):
                    question = await self._store.get(call, id)
                    if question.status != "pending":
                        return question
        except TimeoutError:
            pass
        return await self._store.get(call, id)
