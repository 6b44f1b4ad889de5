"""Errors, one family per reader: the model, the calling program, the person who started Madang."""

from __future__ import annotations

from madang.core.phrases import Phrase


class MadangError(Exception):
    """An error that says what happened and what to do about it."""

    code: str = "error"
    """What a program tells errors apart by. Each class has its own; a foreign server's error carries that server's."""

    def __init__(self, message: Phrase, *, hint: Phrase | None = None) -> None:
        super().__init__(str(message))
        self.message = message
        self.hint = hint


class ToolError(MadangError):
    """A better-chosen call would have worked: the model gets to read it."""


class InvalidArguments(ToolError):
    code = "invalid_arguments"


class InvalidPath(ToolError):
    code = "invalid_path"


class NotRegular(ToolError):
    code = "not_regular"


class OutOfRange(ToolError):
    code = "out_of_range"


class NotFound(ToolError):
    code = "not_found"


class Denied(ToolError):
    code = "denied"


class Conflict(ToolError):
    code = "conflict"


class Expired(ToolError):
    code = "expired"


class LimitExceeded(ToolError):
    code = "limit_exceeded"


class TimedOut(ToolError):
    code = "timed_out"


class Unavailable(ToolError):
    code = "unavailable"


class StoreUnavailable(Unavailable):
    """The database is away, locked or full: the same call works once it answers again. It is no failure of a run."""


class ContextMissing(ToolError):
    code = "context_missing"


class RequestError(MadangError):
    """The calling program is wrong, whatever the model wanted."""

    code = "invalid_request"


class UnknownTool(RequestError):
    code = "unknown_tool"


class NotGranted(RequestError):
    code = "not_granted"


class InvalidCursor(RequestError):
    code = "invalid_cursor"


class ConnectionLost(RequestError):
    code = "connection_lost"


class SetupError(MadangError):
    """Madang cannot start, or goes on only after the person changed something."""

    code = "setup"
