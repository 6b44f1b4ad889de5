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
    Prompt,
    PromptText,
    PromptType,
    Status,
    TimeoutS,
    check_options,
)
from madang.services.ui.store import UiStore

Id = Annotated[str, Field(min_length=1, max_length=100)]
WaitS = Annotated[int, Field(ge=0, le=25)]


def _text_or_options(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Say what is wrong with an answer in one sentence; a union would say it once for each of its types."""
    try:
        return check(value)
    except ValidationError:
        raise PydanticCustomError("text_or_texts", "must be a string or a list of strings") from None


GivenAnswer = Annotated[
    Annotated[str, Field(max_length=MAX_ANSWER_CHARS)]
    | Annotated[list[Annotated[str, Field(max_length=MAX_OPTION_CHARS)]], Field(max_length=MAX_OPTIONS)],
    WrapValidator(_text_or_options),
    # The one `anyOf` there is: clients refuse it at the top of a schema, and lists of types anywhere. Without a type a
    # model would have to guess, and clients that translate schemas drop the field or the tool.
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
    """The tools of the ui service. None of them waits for the person inside its call, but for a moment on request."""

    def __init__(self, store: UiStore) -> None:
        self._store = store

    @tool(effect="write", page=views.PROMPT_PAGE, answered_by="reply_prompt")
    async def prompt_user(
        self,
        call: Call,
        prompt: PromptText,
        type: PromptType,
        options: Annotated[list[Option], Field(max_length=MAX_OPTIONS)] | None = None,
        placeholder: Placeholder = "",
        timeout_s: TimeoutS = DEFAULT_TIMEOUT_S,
    ) -> ToolResult[views.PromptAsked]:
        """Ask the person a question: free text, one of options, or several. Pauses; get_prompt reads the answer."""
        check_options(type, options or [])
        return views.asked(await self._store.ask(call, type, prompt, options or [], placeholder, timeout_s))

    @tool(effect="write", audience="person", page=views.PROMPT_PAGE, idempotent=True, answers_pause=True)
    async def reply_prompt(
        self, call: Call, message_id: Id, answer: GivenAnswer | None = None, cancelled: bool = False
    ) -> ToolResult[views.PromptReply]:
        """Give the person's answer to a prompt, or cancel it. Only with what the person really said."""
        return views.replied(await self._store.reply(call, message_id, answer, cancelled=cancelled))

    @tool(effect="read", refills=views.PROMPT_PAGE)
    async def get_prompt(self, call: Call, message_id: Id, wait_s: WaitS = 0) -> ToolResult[Prompt]:
        """Read a prompt's status and answer; with waitS, wait so many seconds for the person."""
        return views.found(await self._answered(call, message_id, wait_s))

    @tool(effect="read")
    async def list_prompts(self, call: Call, status: Status = "pending") -> ToolResult[views.PromptList]:
        """List this session's prompts: by default those the person has not answered yet."""
        prompts, total = await self._store.list_prompts(call, status)
        return views.listed(prompts, status, total)

    @tool(effect="write", page=views.WAIT_PAGE)
    async def wait_for_user(
        self, call: Call, message: PromptText, resume_instruction: Annotated[str, Field(max_length=4_000)] = ""
    ) -> ToolResult[views.WaitState]:
        """Stop until the person says to continue, for example after they did something elsewhere. Pauses."""
        return views.waiting(await self._store.wait(call, message, resume_instruction))

    @tool(effect="write", audience="person", page=views.WAIT_PAGE, idempotent=True, answers_pause=True)
    async def resume_from_wait(self, call: Call, wait_id: Id) -> ToolResult[views.WaitState]:
        """Say that the person is ready: ends a wait and tells what to do next."""
        return views.resumed(await self._store.resume(call, wait_id))

    async def _answered(self, call: Call, id: str, wait_s: int) -> Prompt:
        """Return a prompt when it is settled, or as it is when the time is over."""
        prompt = await self._store.get(call, id)
        if prompt.status != "pending" or not wait_s:
            return prompt
        try:
            async with asyncio.timeout(wait_s):
                async for _ in self._store.changes(call, id):
                    prompt = await self._store.get(call, id)
                    if prompt.status != "pending":
                        return prompt
        except TimeoutError:
            pass
        return await self._store.get(call, id)
