"""Telling of what is changed in a session by anybody but a run of the agent, so that the run's model can be told."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from madang.core.calls import Call
from madang.core.results import Reply
from madang.core.tools import Tool

ActionListener = Callable[[Call, str], Awaitable[object]]
"""Takes a call that changed something, and the text of its reply."""

logger = logging.getLogger(__name__)


async def tell_action(listener: ActionListener, call: Call, tool: Tool, reply: Reply) -> None:
    """Tell of a call that is done, if it changed something. What opens or settles a pause is told by its outcome."""
    if call.run_id or call.session_id is None or tool.effect == "read":
        return
    if reply.is_error or reply.settles or reply.pause_id:
        return
    try:
        await listener(call, reply.text)
    except Exception:
        # The call is done, and the state that it led to is told anyway.
        logger.warning("An action could not be noted for the session's run", exc_info=True)
