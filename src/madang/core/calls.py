"""Whose call it is and who acts in it. Every service and store gets it explicitly; there is no current one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from madang.core.errors import ContextMissing
from madang.core.ids import LOCAL_USER, AssistantId, SessionId, UserId
from madang.core.phrases import say

Locale = Literal["en", "ko"]
LOCALES: tuple[Locale, ...] = ("en", "ko")

PageMode = Literal["linked", "embedded", "off"]
"""How the person behind a call sees pages: fetched by the client, inside the result, or not at all."""

Door = Literal["python", "command", "mcp-stdio", "mcp-http", "host", "agent"]

Actor = Literal["model", "person", "program", "foreign"]
"""Who makes a call. `foreign`: a model or a person behind another program, and that program alone knows which."""


@dataclass(frozen=True, slots=True)
class Call:
    """The context of one call: whose it is, who acts, and in which language and form its answer is read.

    The door sets all of it. A service that keeps something of a call keeps what it needs of these.
    """

    assistant_id: AssistantId | None = None
    session_id: SessionId | None = None
    user_id: UserId = LOCAL_USER
    locale: Locale = "en"
    pages: PageMode = "embedded"
    door: Door = "python"
    actor: Actor = "program"
    client_id: str = ""
    """The connection that a foreign call came over; empty if the request stands alone."""
    relays: bool = False
    """Whether an answer in this foreign call is what its model says that the person said: its client shows neither
    pages nor forms, so nobody can have answered at one."""
    run_id: str = ""
    """The agent's run that makes this call, if one does."""
    call_id: str = ""
    """The model's own id for this call within its run."""
    operation_id: str = ""
    """Names one intended effect: a call that is repeated under the same id has it once."""

    @property
    def asker(self) -> str:
        """Who waits for the answer to what this call asks: its run, else its connection, else its door."""
        if self.run_id:
            return f"run:{self.run_id}"
        return f"client:{self.client_id}" if self.client_id else f"door:{self.door}"

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
