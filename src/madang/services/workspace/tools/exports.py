"""Exports: what an agent hands to the person as a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from madang.core.calls import Call
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.database.notices import Notices
from madang.services.workspace.domain.exports import Export
from madang.services.workspace.domain.topics import exports_topic
from madang.services.workspace.engine.exports import Exports
from madang.services.workspace.views import exports as views

EXPORT_TIME_LIMIT_S = 300.0
"""More than other tools have: a gigabyte takes most of a minute to pack."""

MAX_PATHS = 1_000

FilePath = Annotated[str, Field(min_length=1, max_length=4_000)]
Name = Annotated[str, Field(max_length=500)]
Description = Annotated[str, Field(max_length=2_000)]


class ExportTools:
    """The tools that give files to the person. They never pause."""

    def __init__(self, exports: Exports, notices: Notices) -> None:
        self._exports = exports
        self._notices = notices

    @tool(
        effect="write",
        page=views.EXPORT_PAGE,
        once_per_operation=True,
        time_limit_s=EXPORT_TIME_LIMIT_S,
        paths={"path": "read"},
    )
    async def export_file(
        self, call: Call, path: FilePath, display_name: Name = "", description: Description = ""
    ) -> ToolResult[views.Exported]:
        """Give the person a workspace file to download, as it is now; displayName renames it."""
        exported = await self._published(call, await self._exports.export_file(call, path, display_name), description)
        return replace(exported, origins=())  # it names what the call named

    @tool(
        effect="write",
        page=views.EXPORT_PAGE,
        once_per_operation=True,
        time_limit_s=EXPORT_TIME_LIMIT_S,
        paths={"files": "read"},
    )
    async def export_zip(
        self,
        call: Call,
        files: Annotated[list[FilePath], Field(min_length=1, max_length=MAX_PATHS)],
        package_name: Name = "",
        description: Description = "",
    ) -> ToolResult[views.Exported]:
        """Give the person several workspace files as one ZIP; a folder stands for all below it. Links are left out."""
        return await self._published(call, await self._exports.export_zip(call, files, package_name), description)

    async def _published(self, call: Call, export: Export, description: str) -> ToolResult[views.Exported]:
        await self._notices.publish(exports_topic(call, export.id), user_id=call.user_id)
        return views.exported(export, description, self._exports.download_url(call, export.id, export.name))
