"""One list of the resources of all services, in pages."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.errors import InvalidCursor
from madang.core.phrases import say
from madang.core.resources import Resource, ResourceList
from madang.core.service import Service

MAX_LISTED_RESOURCES = 50


async def list_resource_page(call: Call, services: Sequence[Service], cursor: str) -> ResourceList:
    """Return one page of the resources of these services; its `after` is the cursor of the next page.

    Raises:
        InvalidCursor: the cursor is not one that an earlier page gave.
    """
    name, _, after = cursor.partition(":")
    names = [service.metadata.name for service in services]
    if cursor and name not in names:
        raise InvalidCursor(say("The cursor is not one of ours."))
    # A page is filled across services: many clients never ask for a second one.
    listed: list[Resource] = []
    for service in services[names.index(name) if cursor else 0 :]:
        if len(listed) >= MAX_LISTED_RESOURCES:
            return ResourceList(listed, f"{service.metadata.name}:")
        page = await service.list_resources(call, after, MAX_LISTED_RESOURCES - len(listed))
        listed += page.resources
        if page.after:
            return ResourceList(listed, f"{service.metadata.name}:{page.after}")
        after = ""
    return ResourceList(listed)
