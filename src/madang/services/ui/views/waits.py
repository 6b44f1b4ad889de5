"""Waits as results and errors: for the model, as data, and as a page with a button. Pure."""

from __future__ import annotations

import operator

from pydantic import Field

from madang.core.documents import Document
from madang.core.errors import Expired
from madang.core.pauses import SettledBy
from madang.core.phrases import ByPage, Phrase, Text, say
from madang.core.results import Pause, ToolResult, UiPage
from madang.services.ui.domain import Refusal, Wait
from madang.services.ui.views.inbox import (
    STATUS_NAMES,
    InboxEntry,
    inbox_entry,
    next_step,
    relayed_note,
)

# The address of the page, which hosts keep with their conversations.
WAIT_PAGE = "ui/wait"


class WaitState(Document):
    """A wait. Its id is there twice: as the argument of `resume_from_wait`, and as that of `get_prompt`."""

    wait_id: str
    message_id: str
    message: str
    resume_instruction: str
    status: str
    elapsed_s: float
    by: SettledBy = Field("", exclude_if=operator.not_)


def wait_started(wait: Wait) -> ToolResult[WaitState]:
    text: Text = [
        say("Waiting for the person: {message}", message=wait.message),
        say("Wait ID: {id}", id=wait.wait_id),
        *_instruction(wait),
        say("Expires: {at}", at=wait.expires_at),
    ]
    later = say(
        "Later, when the person has acted: 'get_prompt' with messageId {id} tells whether they said to continue.",
        id=wait.wait_id,
    )
    pause = Pause(
        kind="wait",
        on_page=say("Continue button available; call no tool now, end your turn and wait for the person"),
        without_page=say(
            "do not go on: the person has not said so yet. This client shows no page, so tell the person what you wait "
            "for and end your turn; never go on by yourself. When they say go on: 'resume_from_wait' with waitId {id}",
            id=wait.wait_id,
        ),
        id=wait.wait_id,
        expires_at=wait.expires_at,
    )
    return ToolResult(text, _wait_state(wait), next=[ByPage(shown=later)], page=_wait_page(wait), pause=pause)


def wait_ended(wait: Wait) -> ToolResult[WaitState]:
    return ToolResult(
        _ended_text(wait), _wait_state(wait), next=[next_step(wait)], page=_wait_page(wait), settles=wait.wait_id
    )


def wait_read(wait: Wait) -> ToolResult[InboxEntry]:
    if not wait.is_open:
        return ToolResult(_ended_text(wait), inbox_entry(wait), next=[next_step(wait)], refill=_wait_page(wait))
    text: Text = [
        say("Wait {id} is {status}.", id=wait.wait_id, status=STATUS_NAMES["pending"]),
        say("Waiting for the person: {message}", message=wait.message),
        *_instruction(wait),
    ]
    following = ByPage(
        shown=say(
            "The person has not said to continue yet: end your turn and wait for them, or call 'get_prompt' with "
            "messageId {id} and waitS 25 to wait a little longer.",
            id=wait.wait_id,
        ),
        hidden=say(
            "The person has not said to continue yet: tell them what you wait for and end your turn; never go on by "
            "yourself. When they say go on: 'resume_from_wait' with waitId {id}.",
            id=wait.wait_id,
        ),
    )
    return ToolResult(text, inbox_entry(wait), next=[following], refill=_wait_page(wait))


def wait_outcome(wait: Wait) -> ToolResult[WaitState]:
    """Return what the run that waited is told when it goes on."""
    if not wait.is_open:
        return ToolResult(_ended_text(wait), _wait_state(wait), next=[next_step(wait)])
    text: Text = [
        say("The person has not said to continue yet."),
        say("Wait ID: {id}", id=wait.wait_id),
        say("Waited for: {message}", message=wait.message),
        *_instruction(wait),
    ]
    following = say(
        "The wait stays open, and you will be told when the person continues. Do not wait for it again: go on with "
        "something else, or end your turn."
    )
    return ToolResult(text, _wait_state(wait), next=[following])


def wait_refused(wait: Wait, refusal: Refusal) -> Expired:
    """Return the error for a wait that cannot be ended any more."""
    if refusal.reason == "withdrawn":
        return Expired(
            _outcome(wait), hint=say("Tell the person that nobody waits any more. A new message starts a new run.")
        )
    return Expired(
        _outcome(wait),
        hint=say("Tell the person that it came too late. If it still matters, call 'wait_for_user' again."),
    )


def _ended_text(wait: Wait) -> Text:
    return [
        _outcome(wait),
        *relayed_note(wait),
        say("Wait ID: {id}", id=wait.wait_id),
        say("Waited for: {message}", message=wait.message),
        *_instruction(wait),
    ]


def _outcome(wait: Wait) -> Phrase:
    if wait.status == "expired":
        return say(
            "Wait {id} expired at {at}: the person did not say to continue.", id=wait.wait_id, at=wait.expires_at
        )
    if wait.status == "withdrawn":
        return say(
            "Wait {id} was withdrawn: the run that waited was stopped, or this session is a copy.", id=wait.wait_id
        )
    return say("The person said to continue, after {seconds:g} s.", seconds=wait.elapsed_s)


def _instruction(wait: Wait) -> list[Phrase]:
    return [say("Then: {instruction}", instruction=wait.resume_instruction)] if wait.resume_instruction else []


def _wait_state(wait: Wait) -> WaitState:
    return WaitState(
        wait_id=wait.wait_id,
        message_id=wait.wait_id,
        message=wait.message,
        resume_instruction=wait.resume_instruction,
        status=wait.status,
        elapsed_s=wait.elapsed_s,
        by=wait.by,
    )


def _wait_page(wait: Wait) -> UiPage:
    return UiPage(name=WAIT_PAGE, title=say("Waiting"), template="ui/wait.html", context={"wait": wait})
