"""Ids of the wrong kind: a call that was given one is told what it is, not that it was not found.

Models copy an id that they see into whatever argument takes one. Each service knows its own ids (`Service.id_kind`);
this asks them all when something was not found, and never before.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from madang.core.calls import Call
from madang.core.errors import MadangError, NotFound
from madang.core.phrases import Phrase, layout, say
from madang.core.service import Service
from madang.core.texts import one_line
from madang.core.tools import Tool
from madang.provider.hooks import bounded

MAX_ID_CHARS = 120
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)?")
_TAKES_ID = re.compile(r"id|.*(?:Id|_id)")

logger = logging.getLogger(__name__)

Opener = Callable[[Service], Awaitable[object]]


async def name_wrong_id(
    call: Call,
    tool: Tool,
    arguments: Mapping[str, Any],
    error: NotFound,
    services: Sequence[Service],
    open_service: Opener,
    limit_s: float,
) -> NotFound:
    """Return the error of a call that found nothing: about the first id that is none, or else as it is."""
    for name, value in arguments.items() if services else ():
        if not (isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARS and _TAKES_ID.fullmatch(name)):
            continue
        kind, owner = await _kind(call, value, services, open_service, limit_s)
        argument = _spelled(name, tool)
        if not kind and call.actor == "model" and _is_optional(argument, tool) and not _ID.fullmatch(value):
            # The models of runs are not told of an argument that says nothing, and fill it with a name that they saw.
            hint = _leave_out(argument)
            following = layout("{first} {next}", first=hint, next=error.hint) if error.hint else hint
            return NotFound(error.message, hint=following)
        if kind in (argument, "") or (argument == "id" and tool.name in {one.name for one in owner.tools}):
            continue
        message = say("{id} is a {kind}, not a {argument}.", id=value, kind=kind, argument=argument)
        if argument == "id":
            message = say("{id} is a {kind}: '{tool}' takes another id.", id=value, kind=kind, tool=tool.name)
        return NotFound(message, hint=_leave_out(argument) if _is_optional(argument, tool) else error.hint)
    return error


async def _kind(
    call: Call, id: str, services: Sequence[Service], open_service: Opener, limit_s: float
) -> tuple[str, Service]:
    for service in services:
        if type(service).id_kind is Service.id_kind:
            continue
        try:
            await open_service(service)
            kind = await bounded(service.id_kind(call, id), limit_s)
        except (MadangError, TimeoutError) as error:  # it is only for a better text
            logger.warning("Ids of %s cannot be told: %s", service.metadata.name, one_line(str(error)))
            continue
        if kind:
            return kind, service
    return "", services[0]


def _spelled(name: str, tool: Tool) -> str:
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), name)
    return camel if camel in tool.input_schema.get("properties", {}) else name


def _is_optional(argument: str, tool: Tool) -> bool:
    return argument not in tool.input_schema.get("required", ())


def _leave_out(argument: str) -> Phrase:
    return say("Leave {argument} out.", argument=argument)
