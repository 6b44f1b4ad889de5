"""Questions and waits as results: for the model, as data, and as pages for the person. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from madang.core.documents import Document
from madang.core.phrases import Block, Line, Phrase, Rows, Text, layout, say
from madang.core.results import Form, Pause, ToolResult, UiPage
from madang.core.texts import one_line
from madang.services.ui.domain import Answer, Prompt, PromptType, Status, Wait, said

PROMPT_PAGE = "ui/prompt"
WAIT_PAGE = "ui/wait"


class PromptAsked(Document):
    message_id: str
    type: PromptType
    prompt: str
    options: list[str]
    status: str


class PromptReply(Document):
    message_id: str
    prompt: str
    answer: Answer
    cancelled: bool
    timestamp: str


class PromptList(Document):
    prompts: list[Prompt]
    total: int


class WaitState(Document):
    wait_id: str
    message: str
    resume_instruction: str
    status: str
    elapsed_s: float


def asked(prompt: Prompt) -> ToolResult[PromptAsked]:
    text: list[Line | Rows] = [
        say('Asked the person: "{prompt}"', prompt=prompt.prompt),
        say("Message ID: {id}", id=prompt.message_id),
        say("Type: {type}", type=prompt.type),
    ]
    if prompt.options:
        text += [say("Options ({count}):", count=len(prompt.options)), _options(prompt.options)]
    text.append(say("Expires: {at}", at=prompt.expires_at))
    text.append(say("Note: Use 'get_prompt' with messageId {id} to read the answer.", id=prompt.message_id))
    data = PromptAsked(
        message_id=prompt.message_id,
        type=prompt.type,
        prompt=prompt.prompt,
        options=prompt.options,
        status="awaiting_response",
    )
    return ToolResult(text, data, page=_prompt_page(prompt), pause=_pause(prompt))


def replied(prompt: Prompt) -> ToolResult[PromptReply]:
    text: Text = [
        _outcome(prompt),
        say("Prompt: {prompt}", prompt=prompt.prompt),
        say("Message ID: {id}", id=prompt.message_id),
        "",
        say("You may now go on with what the person said."),
    ]
    data = PromptReply(
        message_id=prompt.message_id,
        prompt=prompt.prompt,
        answer=prompt.answer,
        cancelled=prompt.status == "cancelled",
        timestamp=prompt.settled_at,
    )
    return ToolResult(text, data, page=_prompt_page(prompt))


def found(prompt: Prompt) -> ToolResult[Prompt]:
    text: list[Line | Rows] = [
        say("Prompt {id} is {status}.", id=prompt.message_id, status=said(prompt.status)),
        say("Prompt: {prompt}", prompt=prompt.prompt),
    ]
    if prompt.status == "pending":
        if prompt.options:
            text += [say("Options ({count}):", count=len(prompt.options)), _options(prompt.options)]
        text.append(
            say("Note: The person has not answered yet. Call 'get_prompt' again, with waitS up to 25 to wait for them.")
        )
    else:
        text.append(_outcome(prompt))
        text.append(say("Note: You may now go on. Use 'prompt_user' to ask something else."))
    return ToolResult(text, prompt, refill=_prompt_page(prompt))


def listed(prompts: Sequence[Prompt], status: Status, total: int) -> ToolResult[PromptList]:
    data = PromptList.model_construct(prompts=list(prompts), total=total)
    if not prompts:
        text: list[Line | Rows] = [say("No prompts are {status}.", status=said(status))]
    else:
        rows = [
            say(
                '{number}. id:{id} type:{type} prompt:"{prompt}" createdAt:{at}{answer}',
                number=number,
                id=prompt.message_id,
                type=prompt.type,
                prompt=one_line(prompt.prompt, 100),
                at=prompt.created_at,
                answer=f' answer:"{_plain(prompt.answer)[:100]}"' if prompt.status == "answered" else "",
            )
            for number, prompt in enumerate(prompts, start=1)
        ]
        text = [
            say("Found {count} prompt(s) that are {status}, newest first:", count=total, status=said(status)),
            "",
            Rows(rows, say("… {left_out} more. Use 'get_prompt' to read single ones.")),
        ]
        if total > len(prompts):
            older = say(
                "… {count} older ones are not listed. Use 'get_prompt' to read single ones.", count=total - len(prompts)
            )
            text.append(older)
    text += ["", say("Note: Use 'get_prompt' to read one, or 'prompt_user' to ask.")]
    return ToolResult(text, data)


def waiting(wait: Wait) -> ToolResult[WaitState]:
    text: Text = [
        say("Waiting for the person: {message}", message=wait.message),
        say("Wait ID: {id}", id=wait.wait_id),
        *_instruction(wait),
    ]
    pause = Pause(
        kind="wait",
        on_page=say("Continue button available"),
        without_page=say(
            "this client shows no page: tell the person what you wait for, and call 'resume_from_wait' with waitId "
            "{id} when they say go on",
            id=wait.wait_id,
        ),
    )
    return ToolResult(text, _wait_state(wait), page=_wait_page(wait), pause=pause)


def resumed(wait: Wait) -> ToolResult[WaitState]:
    text: Text = [
        say("The person said to continue, after {seconds:g} s.", seconds=wait.elapsed_s),
        say("Wait ID: {id}", id=wait.wait_id),
        say("Waited for: {message}", message=wait.message),
        *_instruction(wait),
        "",
        say("You may now go on."),
    ]
    return ToolResult(text, _wait_state(wait), page=_wait_page(wait))


def _pause(prompt: Prompt) -> Pause:
    return Pause(
        kind="prompt",
        on_page=say("the person sees a form; 'get_prompt' tells their answer"),
        without_page=say(
            "this client shows no page: ask the person this question in the chat, then call 'reply_prompt' with "
            "messageId {id} and their answer",
            id=prompt.message_id,
        ),
        form=Form(prompt.message_id, prompt.prompt, _answer_schema(prompt), "reply_prompt"),
    )


def _answer_schema(prompt: Prompt) -> dict[str, Any]:
    """Return what may be answered, in the few shapes that every client draws."""
    if prompt.type == "text":
        return {"type": "string", "title": prompt.placeholder or prompt.prompt[:100]}
    choice = {"type": "string", "enum": prompt.options}
    return choice if prompt.type == "select" else {"type": "array", "items": choice}


def _options(options: Sequence[str]) -> Rows:
    rest = say("  … {left_out} more. They are all in the structured result.")
    rows = [
        layout("  {number}. {option}", number=number, option=option) for number, option in enumerate(options, start=1)
    ]
    return Rows(rows, rest)


def _outcome(prompt: Prompt) -> Phrase:
    if prompt.answer == []:
        return say("Answer: none of the options.")
    if prompt.status == "answered":
        answer = _plain(prompt.answer)
        # The line breaks of a person's words mean something; behind a margin they cannot pass for ours.
        return (
            say("Answer:\n{answer}", answer=Block(answer)) if "\n" in answer else say("Answer: {answer}", answer=answer)
        )
    if prompt.status == "cancelled":
        return say("The person cancelled the prompt without an answer.")
    return say("The prompt expired without an answer.")


def _plain(answer: Answer) -> str:
    return answer if isinstance(answer, str) else ", ".join(answer)


def _instruction(wait: Wait) -> list[Phrase]:
    return [say("Then: {instruction}", instruction=wait.resume_instruction)] if wait.resume_instruction else []


def _wait_state(wait: Wait) -> WaitState:
    return WaitState(
        wait_id=wait.wait_id,
        message=wait.message,
        resume_instruction=wait.resume_instruction,
        status=wait.status,
        elapsed_s=wait.elapsed_s,
    )


def _prompt_page(prompt: Prompt) -> UiPage:
    answers = [prompt.answer] if isinstance(prompt.answer, str) else prompt.answer
    context = {"prompt": prompt, "answers": answers}
    return UiPage(name=PROMPT_PAGE, title=say("Question"), template="ui/prompt.html", context=context)


def _wait_page(wait: Wait) -> UiPage:
    return UiPage(name=WAIT_PAGE, title=say("Waiting"), template="ui/wait.html", context={"wait": wait})
