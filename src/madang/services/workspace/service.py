"""The workspace service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.arguments import parse_document
from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.ids import SessionId
from madang.core.phrases import say
from madang.core.resources import Resource, ResourceList
from madang.core.service import RowQuery, Service, ServiceContext, ServiceMetadata, StateRows
from madang.core.tools import tools_of
from madang.core.uploads import AcceptedUpload, UploadedFile
from madang.database.notices import Notices
from madang.database.port import Database
from madang.files.downloads import Downloads
from madang.files.folders import Folders
from madang.services.workspace.context import WorkspaceState, workspace_context, workspace_rows
from madang.services.workspace.domain.topics import exports_topic, files_topic
from madang.services.workspace.engine.exports import Exports
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.engine.finding import FileFinder
from madang.services.workspace.engine.searching import Searcher
from madang.services.workspace.engine.sessions import SessionFiles
from madang.services.workspace.engine.trees import FileTrees
from madang.services.workspace.resources import ExportResources
from madang.services.workspace.tools.exports import ExportTools
from madang.services.workspace.tools.files import FileTools, UploadPlace
from madang.services.workspace.views.files import uploaded


class WorkspaceService(Service):
    """Keeps the files of each session in a folder of its own, and hands them to the person."""

    metadata = ServiceMetadata(
        name="workspace",
        title=say("Workspace"),
        description=say("The files of a session: read, write, edit, find, search and export them."),
        version="1",
        instructions=(
            "Each session has a folder of files of its own: Madang's list_directory, read_file, write_file, edit_file "
            "and grep work in it, and export_file hands one to the person."
        ),
        needs_posix=True,
    )
    resource_templates = ExportResources.templates
    state_type = WorkspaceState

    def __init__(
        self,
        database: Database,
        folders: Folders,
        downloads: Downloads | None = None,
        executor: Executor | None = None,
    ) -> None:
        executor = executor or Executor()
        self._executor = executor
        self._lane = executor.native
        self._notices = Notices(database)
        self._files = FileEngine(folders)
        self._trees = FileTrees(self._files)
        self._exports = Exports(folders, downloads, executor)
        self._sessions = SessionFiles(folders)
        self._resources = ExportResources(self._exports, self._notices)
        self._tools = FileTools(self._files, FileFinder(folders), Searcher(folders), self._notices, executor)
        self.tools = (
            *tools_of(self._tools),
            *tools_of(ExportTools(self._exports, self._notices)),
        )

    async def load(self) -> None:
        await self._notices.open()

    async def unload(self) -> None:
        """Send the notices that wait for the database, which belongs to the composition root."""
        await self._notices.close()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await workspace_context(self._files, self._exports, call, self._executor, self._trees)

    async def get_state_rows(self, call: Call, query: RowQuery) -> StateRows | None:
        return await workspace_rows(self._trees, call, query, self._executor)

    async def was_done(self, call: Call, tool: str) -> bool | None:
        if tool in ("export_file", "export_zip"):
            return await self._executor.native.run(call, self._exports.was_made, call)
        return await self._executor.native.run(call, self._files.was_changed, call)

    async def accept_upload(self, call: Call, upload: UploadedFile) -> AcceptedUpload:
        path = parse_document(UploadPlace, {"path": upload.name}).path
        written = await self._tools.keep_upload(call, path, upload.url)
        return AcceptedUpload(written.path, "upload_file", uploaded(written).text)

    async def withdraw_upload(self, call: Call, accepted: AcceptedUpload) -> None:
        await self._tools.remove(call, accepted.id)

    async def changes(self, call: Call) -> AsyncIterator[object]:
        async for topics in self._notices.changes(files_topic(call), exports_topic(call)):
            self._files.report_changes(call, topics)
            yield topics

    async def list_resources(self, call: Call, after: str, limit: int) -> ResourceList:
        return await self._resources.list_page(call, after, limit)

    async def read_resource(self, call: Call, uri: str) -> Resource | None:
        return await self._resources.read(call, uri)

    def resource_changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        return self._resources.changes(call)

    async def forget_session(self, call: Call) -> None:
        await self._lane.run_to_end(call, lambda _: self._sessions.forget(call))
        self._files.forget_session(call)
        await self._publish(call)

    async def copy_session(self, call: Call, target: SessionId) -> None:
        copied = replace(call, session_id=target)
        await self._lane.run_to_end(call, lambda stop: self._sessions.copy(call, copied, stop))
        await self._publish(copied)

    async def export_session(self, call: Call, archive: ArchiveWriter) -> None:
        await self._lane.run_to_end(call, lambda stop: self._sessions.export(call, archive, stop))

    async def import_session(self, call: Call, archive: ArchiveReader) -> None:
        await self._lane.run_to_end(call, lambda stop: self._sessions.import_(call, archive, stop))
        await self._publish(call)

    async def _publish(self, call: Call) -> None:
        for topic in (files_topic(call), exports_topic(call)):
            await self._notices.publish(topic, user_id=call.user_id)
