"""The exports of a session as resources: documents with an address, which clients list and read without a tool."""

from __future__ import annotations

from collections.abc import AsyncIterator

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.resources import Resource, ResourceList
from madang.database.notices import Notices
from madang.services.workspace.domain.exports import MAX_EXPORT_READ_BYTES, export_id
from madang.services.workspace.domain.topics import exports_topic
from madang.services.workspace.engine.exports import Exports
from madang.services.workspace.views import exports as views


class ExportResources:
    """Lists and reads the exports of sessions."""

    templates = (views.EXPORT_TEMPLATE,)

    def __init__(self, exports: Exports, notices: Notices) -> None:
        self._exports = exports
        self._notices = notices

    async def list_page(self, call: Call, after: str, limit: int) -> ResourceList:
        """Return up to `limit` exports, the newest first, beginning with those older than `after`."""
        if call.session_id is None:
            return ResourceList([])
        exports = [export for export in await self._exports.list_stored(call) if not after or export.id < after]
        resources = [views.export_resource(export) for export in exports[:limit]]
        return ResourceList(resources, exports[limit - 1].id if len(exports) > limit else "")

    async def read(self, call: Call, uri: str) -> Resource | None:
        """Return an export with its bytes, or None when it is none of this session's.

        Raises:
            LimitExceeded: it is too large for one message; the hint says where it can be had.
        """
        id = export_id(uri)
        if not id or call.session_id is None:
            return None
        try:
            export = await self._exports.find(call, id)
            if export.size > MAX_EXPORT_READ_BYTES:
                raise views.export_too_large(export, self._exports.download_url(call, export.id, export.name))
            return views.export_resource(export, await self._exports.read(call, export))
        except NotFound:
            return None

    async def changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once the subscription has begun, and again for every export: the list has changed."""
        async for _ in self._notices.changes(exports_topic(call)):
            yield frozenset()
