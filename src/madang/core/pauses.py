"""What waits for the person: a pause as it is kept, from being opened to being settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from madang.core.ids import AssistantId, SessionId
from madang.core.results import PauseKind
from madang.core.texts import one_line

MAX_ANSWER_CHARS = 120
MAX_SETTLER_CHARS = 80

PauseStatus = Literal["open", "answered", "cancelled", "expired", "withdrawn", "superseded"]
"""How a pause stands. `withdrawn`: its run ended; `superseded`: the same asker asked anew."""

SettledBy = Literal["", "person", "program", "client", "relayed", "run"]
"""Who settled a pause. `client`: somebody at another program; `relayed`: its model, saying what the person said."""


@dataclass(frozen=True, slots=True)
class PauseRecord:
    """One pause. `expired` follows from the clock at each look; all other ends are written, once."""

    id: str
    kind: PauseKind
    service: str
    tool: str
    title: str
    session_id: SessionId
    assistant_id: AssistantId
    asker: str
    opened_at: str
    expires_at: str = ""
    """Empty: it stays open for ever."""
    run_id: str = ""
    call_id: str = ""
    status: PauseStatus = "open"
    settled_at: str = ""
    settled_by: SettledBy = ""
    settled_with: Mapping[str, Any] = field(default_factory=dict)
    """The tool that settled it, its arguments, and the name of the client if one did."""

    @property
    def asker_name(self) -> str:
        """Who asked, as people know it: the name of a client, `run`, or the door; empty for our own chat.

        An asker is written `kind:id name` (`Call.asker`); the name is what the client says of itself.
        """
        kind, _, rest = self.asker.partition(":")
        if kind == "door":
            return "" if rest == "host" else rest
        return rest.partition(" ")[2] or kind

    @property
    def answer(self) -> str:
        """What was answered, as one short line: words, options, the name of what was chosen. Some answers have none."""
        arguments = self.settled_with.get("arguments", {})
        value = arguments.get("answer") or arguments.get("goal") or ""
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return one_line(text.strip(), MAX_ANSWER_CHARS) if self.status == "answered" else ""

    @property
    def settler_name(self) -> str:
        """What the client that settled it calls itself; empty if none did, or it has no name."""
        return one_line(str(self.settled_with.get("client", "")), MAX_SETTLER_CHARS)

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    @property
    def is_turn(self) -> bool:
        """Tell whether it is the turn of a model that there is none of: nobody has asked the person anything."""
        return self.kind == "model"
