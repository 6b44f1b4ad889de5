"""Telling of calls that are done: of changes beside a run, so that its model can be told, and of pages, to be kept."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from madang.core.calls import Call
from madang.core.results import Reply
from madang.core.tools import Tool
from madang.core.trust import Origin

ActionListener = Callable[[Call, str, tuple[Origin, ...]], Awaitable[object]]
"""Takes a call that changed something, the text of its reply, and where untrusted words in it came from."""

PageListener = Callable[[Call, Mapping[str, Any], Reply], Awaitable[object]]
"""Takes a call that showed a page, its arguments and its reply."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallListeners:
    """Who hears of calls. A call does not fail because a listener does."""

    on_action: ActionListener | None = None
    """Of what was changed by anybody but a run of the agent. What opens or settles a pause is told by its outcome."""
    on_page: PageListener | None = None
    """Of pages in our own chat: those of runs, and of what the person calls there."""

    async def tell(self, call: Call, tool: Tool, arguments: Mapping[str, Any], reply: Reply) -> None:
        """Tell of a call that is done."""
        if self.on_page is not None and reply.page is not None and call.door in ("agent", "host"):
            await _tell(self.on_page(call, arguments, reply), "A page could not be kept for the session")
        if _is_action(tool, reply):
            await self.tell_action(call, reply.text, tool.origins(reply))

    async def tell_action(self, call: Call, text: str, origins: tuple[Origin, ...]) -> None:
        """Tell of what was changed, unless a run has done it. What another program wrote is always untrusted."""
        if self.on_action is not None and not call.run_id and call.session_id is not None:
            origins = origins if call.actor == "person" else (Origin("program", call.client_name),)
            await _tell(self.on_action(call, text, origins), "An action could not be noted for the session's run")


NO_LISTENERS = CallListeners()


async def _tell(telling: Awaitable[object], failure: str) -> None:
    try:
        await telling
    except Exception:
        # The call is done, and the state that it led to is told anyway.
        logger.warning(failure, exc_info=True)


def _is_action(tool: Tool, reply: Reply) -> bool:
    return tool.effect != "read" and not (reply.is_error or reply.settles or reply.pause_id)
