"""Exports: what an agent hands to the person as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import Field

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.resources import Resource, ResourceList
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.workspace.domain.exports import MAX_EXPORT_READ_BYTES, Export, export_id, kept_name
from madang.services.workspace.engine.exports import Exports
from madang.services.workspace.store import FileNotices
from madang.services.workspace.views import exports as views
from madang.storage.downloads import Downloads

TIME_LIMIT_S = 300.0
"""A gigabyte takes most of a minute to pack; the other tools have less time."""

MAX_PATHS = 1_000

FilePath = Annotated[str, Field(min_length=1, max_length=4_000)]
Name = Annotated[str, Field(max_length=500)]
Description = Annotated[str, Field(max_length=2_000)]


class ExportTools:
    """The tools that give files to the person. They never pause."""

    def __init__(self, exports: Exports, notices: FileNotices, downloads: Downloads | None = None) -> None:
        self._exports = exports
        self._notices = notices
        self._downloads = downloads

    @tool(effect="write", page=views.EXPORT_PAGE, time_limit_s=TIME_LIMIT_S)
    async def export_file(
        self, call: Call, path: FilePath, display_name: Name = "", description: Description = ""
    ) -> ToolResult[views.Exported]:
        """Give the person a workspace file to download, as it is now. displayName is the name it is saved under."""
        return await self._shown(call, await self._exports.file(call, path, display_name), description)

    @tool(effect="write", page=views.EXPORT_PAGE, time_limit_s=TIME_LIMIT_S)
    async def export_zip(
        self,
        call: Call,
        files: Annotated[list[FilePath], Field(min_length=1, max_length=MAX_PATHS)],
        package_name: Name = "",
        description: Description = "",
    ) -> ToolResult[views.Exported]:
        """Give the person several workspace files as one ZIP; a folder stands for all below it. Links are left out."""
        return await self._shown(call, await self._exports.zip(call, files, package_name), description)

    async def _shown(self, call: Call, export: Export, description: str) -> ToolResult[views.Exported]:
        await self._notices.tell_export(call, export.id)
        return views.exported(export, description, _address(self._downloads, call, export.id, export.name))


class ExportResources:
    """The exports of a session as resources."""

    def __init__(self, exports: Exports, notices: FileNotices, downloads: Downloads | None = None) -> None:
        self._exports = exports
        self._notices = notices
        self._downloads = downloads

    async def list(self, call: Call, after: str, limit: int) -> ResourceList:
        """Return up to `limit` exports, the newest first, beginning with those older than `after`."""
        if call.session_id is None:
            return ResourceList([])
        found = [kept for kept in await self._exports.kept(call) if not after or kept.id < after]
        resources = [views.export_resource(kept) for kept in found[:limit]]
        return ResourceList(resources, found[limit - 1].id if len(found) > limit else "")

    async def read(self, call: Call, uri: str) -> Resource | None:
        """Return an export with its bytes, or None when it is none of this session's.

        Raises:
            LimitExceeded: it is too large for one message; the hint says where it can be had.
        """
        id = export_id(uri)
        if not id or call.session_id is None:
            return None
        try:
            kept = await self._exports.find(call, id)
            if kept.size > MAX_EXPORT_READ_BYTES:
                raise views.too_large(kept, MAX_EXPORT_READ_BYTES, _address(self._downloads, call, kept.id, kept.name))
            return views.export_resource(kept, await self._exports.read(call, kept))
        except NotFound:
            return None

    async def changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then one for every new export: the list is what changed."""
        async for _ in self._notices.exports(call):
            yield frozenset()


def _address(downloads: Downloads | None, call: Call, id: str, name: str) -> str:
    return downloads.address(call, kept_name(id, name), name) if downloads else ""
