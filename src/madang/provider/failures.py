"""The errors that the provider itself answers a call with."""

from __future__ import annotations

import logging
import secrets

from madang.core.calls import Call
from madang.core.errors import ContextMissing, NotGranted, TimedOut, ToolError, Unavailable
from madang.core.phrases import say
from madang.core.service import Service
from madang.core.tools import Traits

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


def left_unchanged(tool: Traits, error: ToolError) -> bool:
    """Tell whether a tool that changes something has surely changed nothing, as it failed with this error.

    Not so where a call was given up while it worked, and where it changes what others keep. A tool that shows or asks
    something is none that the model takes for a change, and without a context there is nothing to change.
    """
    shows_or_asks = tool.page and not tool.answers_pause
    is_change = tool.effect != "read" and not shows_or_asks and not isinstance(error, ContextMissing)
    return is_change and not tool.open_world and not isinstance(error, (TimedOut, Unavailable))


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
