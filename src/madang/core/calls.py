"""Whose call it is and who acts in it. Every service and store gets it explicitly; there is no current one."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from madang.core.errors import ContextMissing
from madang.core.ids import LOCAL_USER, AssistantId, SessionId, UserId
from madang.core.phrases import Phrase, say

Locale = Literal["en", "ko"]
LOCALES: tuple[Locale, ...] = ("en", "ko")

PageMode = Literal["linked", "embedded", "off"]
"""How the person behind a call sees pages: fetched by the client, inside the result, or not at all."""

Door = Literal["python", "command", "mcp-stdio", "mcp-http", "host", "agent"]

Actor = Literal["model", "person", "program", "foreign"]
"""Who makes a call. `foreign`: a model or a person behind another program, and that program alone knows which."""

PathFilter = Callable[[str], bool]
"""Tells whether a path of the workspace is one to leave out."""

ProgressListener = Callable[[float, float | None, Phrase | None], Awaitable[None]]
"""Takes how much of a call is done, of how much if that is known, and in words what."""

logger = logging.getLogger(__name__)


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
    client_name: str = ""
    """What a foreign client calls itself, if it does: it proves nothing, and stays the same after a restart."""
    relays: bool = False
    """Whether an answer in this foreign call is what its model says that the person said: its client shows neither
    pages nor forms, so nobody can have answered at one."""
    run_id: str = ""
    """The agent's run that makes this call, if one does."""
    call_id: str = ""
    """The model's own id for this call within its run."""
    operation_id: str = ""
    """Names one intended effect: a call that is repeated under the same id has it once."""
    progress: ProgressListener | None = field(default=None, compare=False, repr=False)
    """Listens to the progress of this call, if the caller wants to know. It is no part of what a call is."""

    hides: PathFilter | None = field(default=None, compare=False, repr=False)
    """What this call leaves out where it walks over many files: paths under a rule that it does not name itself."""

    @property
    def asker(self) -> str:
        """Who waits for the answer to what this call asks: its run, else its connection, else its door."""
        if self.run_id:
            return f"run:{self.run_id}"
        if self.client_id or self.client_name:
            return f"client:{self.client_id} {self.client_name}"
        return f"door:{self.door}"

    def is_client(self, asker: str) -> bool:
        """Tell whether an asker is this call's client: this connection, or an earlier one of the same name.

        A client whose server was started anew goes on with its conversation, and answers what it asked before.
        """
        if asker == self.asker:
            return True
        kind, _, name = asker.partition(" ")
        return kind.startswith("client:") and name != "" and name == self.client_name and not self.run_id

    async def report_progress(self, done: float, total: float | None = None, message: Phrase | None = None) -> None:
        """Tell the caller how far this call is. It does nothing where nobody listens, and never raises.

        `done` grows from report to report; `total`, if it is known, is in the same unit.
        """
        if self.progress is None:
            return
        try:
            await self.progress(done, total, message)
        except Exception:
            # Work must not fail because its progress could not be shown.
            logger.debug("A progress listener failed", exc_info=True)

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
