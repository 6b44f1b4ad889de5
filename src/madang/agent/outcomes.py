"""The outcome of a call as a model reads it: every text begins with the tool that it is the outcome of. Pure."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.errors import MadangError, StoreUnavailable
from madang.core.phrases import say
from madang.core.results import Reply
from madang.core.texts import one_line
from madang.llm.messages import ImagePart, ResultPart
from madang.rendering.replies import error_reply

MAX_NAME_CHARS = 100
"""Of a tool: a model may call whatever it likes."""


def outcome_part(
    call_id: str, tool: str, text: str, *, is_error: bool = False, images: tuple[ImagePart, ...] = ()
) -> ResultPart:
    """Return the outcome of a call. A reply has its prefix already, by the tool's own name; other texts get it."""
    name = shown_name(tool)
    if not text.startswith((f"[{name}] ", f"[{name.rpartition('__')[2]}] ")):
        text = f"[{name}] {text}"
    return ResultPart(call_id, tool, text, is_error, images)


def error_text(call: Call, tool: str, error: MadangError) -> str:
    """Return an error that no tool has answered with, in the words of every other."""
    return error_reply("", shown_name(tool), call, error).text


def shown_name(tool: str) -> str:
    return one_line(tool, MAX_NAME_CHARS)


def check_stored(reply: Reply) -> Reply:
    """Return a reply, unless it says nothing but that the database is away: a run waits for it, and asks again.

    Raises:
        StoreUnavailable: it does.
    """
    if reply.is_store_away:
        raise StoreUnavailable(say("The database does not answer to '{tool}'.", tool=reply.tool))
    return reply
