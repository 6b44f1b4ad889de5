"""The workspace service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator

from madang.core.calls import Call
from madang.core.messages import say
from madang.core.service import ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.services.workspace.context import workspace_context
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.engine.searching import Searcher
from madang.services.workspace.store import FileNotices
from madang.services.workspace.tools.files import FileTools
from madang.storage.database import Database
from madang.storage.folders import Folders


class WorkspaceService:
    """Keeps the files of each session in a folder of its own."""

    metadata = ServiceMetadata(
        name="workspace",
        title=say("Workspace"),
        description=say("The files of a session: read, write, edit, find and search them."),
        version="1",
    )

    def __init__(self, database: Database, folders: Folders) -> None:
        self._notices = FileNotices(database)
        self._files = FileEngine(folders)
        self.tools = tools_of(FileTools(self._files, Searcher(folders), self._notices))

    async def load(self) -> None:
        await self._notices.open()

    async def unload(self) -> None:
        """Nothing to close: folders are opened for one operation at a time."""

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await workspace_context(self._files, call)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._notices.changes(call)
