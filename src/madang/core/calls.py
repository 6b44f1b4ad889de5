"""Whose call it is. Every service and store gets it explicitly; nobody keeps a current one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from madang.core.errors import ContextMissing
from madang.core.ids import LOCAL_USER, MAIN_THREAD, AssistantId, SessionId, ThreadId, UserId
from madang.core.phrases import say

Locale = Literal["en", "ko"]
LOCALES: tuple[Locale, ...] = ("en", "ko")

PageMode = Literal["linked", "embedded", "off"]
"""How the person behind a call sees pages: fetched by the client, inside the result, or not at all."""

Door = Literal["python", "command", "mcp-stdio", "mcp-http"]


@dataclass(frozen=True, slots=True)
class Call:
    """The context of one call: whose it is, and in which language and form its answer is read."""

    assistant_id: AssistantId | None = None
    session_id: SessionId | None = None
    user_id: UserId = LOCAL_USER
    thread_id: ThreadId = MAIN_THREAD
    locale: Locale = "en"
    pages: PageMode = "embedded"
    door: Door = "python"

    @property
    def assistant(self) -> AssistantId:
        """The assistant of this call.

        Raises:
            ContextMissing: the call names none.
        """
        if self.assistant_id is None:
            raise assistant_missing()
        return self.assistant_id

    @property
    def session(self) -> SessionId:
        """The session of this call.

        Raises:
            ContextMissing: the call names none.
        """
        if self.session_id is None:
            raise ContextMissing(say("Session ID not set. Please set context first."))
        return self.session_id


def assistant_missing() -> ContextMissing:
    """Return the error of a call that names no assistant."""
    return ContextMissing(say("Assistant ID not set. Please set context first."))
