"""The errors that the provider itself answers a call with."""

from __future__ import annotations

import logging
import secrets

from madang.core.calls import Call
from madang.core.errors import NotGranted, TimedOut, ToolError
from madang.core.phrases import say
from madang.core.service import Service

logger = logging.getLogger(__name__)


class InternalError(ToolError):
    """A bug of ours. The reply names only the reference under which the log has the traceback."""

    code = "internal"


def timed_out(limit_s: float) -> TimedOut:
    """Return the error of a call that was given up."""
    return TimedOut(
        say("The call took longer than {limit:g} s and was given up.", limit=limit_s),
        hint=say("It may still have been done: look before you call again."),
    )


def not_granted(call: Call, service: Service) -> NotGranted:
    """Return the error of an assistant that may not use a service."""
    return NotGranted(
        say(
            "The assistant '{assistant}' may not use the service '{service}'.",
            assistant=call.assistant_id or "",
            service=service.metadata.name,
        )
    )


def internal_error(tool_name: str) -> InternalError:
    """Log the exception that is being handled, and return the error that stands for it."""
    reference = secrets.token_hex(4)
    logger.exception("Internal error %s in %s", reference, tool_name)
    return InternalError(
        say("Internal error (reference {reference}).", reference=reference),
        hint=say("Ask the person to look for this reference in the log."),
    )
