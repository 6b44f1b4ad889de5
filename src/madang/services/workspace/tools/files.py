"""What an agent can do with the files of its session, but for exporting them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Concatenate, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import ToolError
from madang.core.executor import Executor, Lane
from madang.core.results import ToolResult
from madang.core.tools import DEFAULT_TIME_LIMIT_S, tool
from madang.database.notices import Notices
from madang.files.folders import Entry, WorkspaceBusy, WriteMode, parse_path, workspace_busy
from madang.files.folders.staging import MAX_LOCK_WAIT_S
from madang.services.workspace.domain.files import (
    MAX_CONTENT_CHARS,
    MAX_EDITS,
    MAX_LISTED_ENTRIES,
    MAX_MATCHES,
    Edit,
    GrepMode,
    GrepQuery,
    LineNumber,
    PathText,
    WrittenFile,
)
from madang.services.workspace.domain.topics import files_topic
from madang.services.workspace.engine.errors import column_of_one_line, end_before_start
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.engine.finding import FileFinder
from madang.services.workspace.engine.searching import Searcher
from madang.services.workspace.views import files as views
from madang.services.workspace.views import reading, searches

FileContent = Annotated[str, Field(max_length=MAX_CONTENT_CHARS)]
Pattern = Annotated[str, Field(min_length=1, max_length=2_000)]
UploadUrl = Annotated[str, Field(max_length=200)]
GlobFilter = Annotated[str, Field(max_length=1_000)]
Depth = Annotated[int, Field(ge=1, le=64)]
Offset = Annotated[int, Field(ge=0, le=10**9)]
Limit = Annotated[int, Field(ge=1, le=MAX_LISTED_ENTRIES)]
MatchLimit = Annotated[int, Field(ge=1, le=MAX_MATCHES)]
ContextLines = Annotated[int, Field(ge=0, le=10)]

Rest = ParamSpec("Rest")
ChangeT = TypeVar("ChangeT")

MIN_CHANGE_S = 1.0
"""Time that is left for the change itself, after it has waited."""
MAX_QUEUE_WAIT_S = DEFAULT_TIME_LIMIT_S - MAX_LOCK_WAIT_S - MIN_CHANGE_S
"""How long a change waits for others of its session, so that with the wait for other processes (the folder's lock) it
still gets its own error, and not the time limit of the call."""


class UploadPlace(Document):
    """Where in the workspace an upload is kept."""

    path: PathText


class _SessionLock(asyncio.Lock):
    """The queue of the changes to one session's files; `busy_at` is when the folder's lock was last not to be had."""

    busy_at = -1.0


class FileTools:
    """The tools for files. Paths are relative to the session's folder, and nothing leads out of it."""

    def __init__(
        self, engine: FileEngine, finder: FileFinder, searcher: Searcher, notices: Notices, executor: Executor
    ) -> None:
        self._engine = engine
        self._finder = finder
        self._searcher = searcher
        self._notices = notices
        self._executor = executor
        # Bounded by the calls that run: a lock is gone with the last change that holds it or waits for it.
        self._session_locks: WeakValueDictionary[tuple[str, str], _SessionLock] = WeakValueDictionary()

    @tool(effect="read", paths={"path": "read"})
    async def read_file(
        self,
        call: Call,
        path: PathText,
        start_line: LineNumber = 1,
        end_line: LineNumber | None = None,
        start_column: LineNumber = 1,
    ) -> ToolResult[reading.FileRead]:
        """Read a text of the workspace as numbered lines, about 8 KB at a time; it says how to go on.

        startColumn is for one very long line.
        """
        if end_line is not None and end_line < start_line:
            raise end_before_start(start_line)
        if start_column > 1:
            if end_line not in (None, start_line):
                raise column_of_one_line()
            end_line = start_line
        excerpt = await self._executor.reads.run(
            call, self._engine.read, call, path, start_line, end_line, start_column
        )
        return reading.read(excerpt)

    @tool(effect="write", paths={"path": "write"})
    async def write_file(
        self, call: Call, path: PathText, content: FileContent, mode: WriteMode = "overwrite"
    ) -> ToolResult[views.FileWritten]:
        """Write a text file of the workspace, with the folders above it. create refuses to replace a file."""
        result = await self._change(call, self._engine.write, path, content, mode)
        await self._publish(call, result.path)
        return views.written(result, appended=mode == "append")

    @tool(effect="write", paths={"path": "edit"})
    async def edit_file(
        self,
        call: Call,
        path: PathText,
        edits: Annotated[list[Edit], Field(min_length=1, max_length=MAX_EDITS)],
    ) -> ToolResult[views.FileEdited]:
        """Replace pieces of a text: each oldText exactly as it is there, once, or with replaceAll. All or nothing."""
        lane = self._executor.slow
        stop = lane.stop_signal()
        try:
            result = await self._change_in(lane, call, self._engine.edit, path, edits, stop)
        finally:
            stop.set()
        await self._publish(call, result.path)
        return views.edited(result)

    @tool(effect="read", paths={"path": "walk"})
    async def list_directory(
        self, call: Call, path: PathText = "", depth: Depth = 1, offset: Offset = 0, limit: Limit = 50
    ) -> ToolResult[views.DirectoryListed]:
        """List a folder of the workspace, with sizes and times; depth goes into the folders in it."""
        lane = self._executor.reads if depth == 1 else self._executor.slow
        return views.listed(
            await lane.run_stoppable(call, lambda stop: self._engine.list(call, path, depth, offset, limit, stop))
        )

    @tool(effect="read", paths={"path": "walk"})
    async def search_files(
        self, call: Call, pattern: Pattern, path: PathText = "", offset: Offset = 0, ignored: bool = False
    ) -> ToolResult[searches.FilesFound]:
        """Find files by name: '*.md' at any depth, or 'src/**/*.py' below path; what Git ignores only with ignored."""
        matches = await self._executor.slow.run_stoppable(
            call, lambda stop: self._finder.find(call, pattern, path, offset, ignored=ignored, stop=stop)
        )
        return searches.files_found(matches)

    @tool(effect="read", paths={"path": "walk"})
    async def grep(
        self,
        call: Call,
        pattern: Pattern,
        path: PathText = "",
        glob: GlobFilter = "",
        ignore_case: bool = False,
        context: ContextLines = 0,
        limit: MatchLimit = 50,
        offset: Offset = 0,
        mode: GrepMode = "lines",
        ignored: bool = False,
    ) -> ToolResult[searches.GrepResult]:
        """Find lines in texts of the workspace by a regular expression (Rust syntax: no look-around).

        mode files: the paths alone; count: how many lines in each. What Git ignores only with ignored.
        """
        query = GrepQuery(pattern, path, glob, ignore_case, context, limit, offset, mode, ignored)
        matches = await self._executor.native.run_stoppable(call, lambda stop: self._searcher.grep(call, query, stop))
        return searches.grepped(matches)

    @tool(effect="write", paths={"source": "take", "target": "put"})
    async def move_file(self, call: Call, source: PathText, target: PathText) -> ToolResult[views.FileMoved]:
        """Move or rename a file or folder of the workspace; nothing that is there is replaced."""
        entry = await self._change(call, self._engine.move, source, target)
        await self._publish(call, "/".join(parse_path(source)), entry.path)
        return views.moved(source, entry.path, entry.kind)

    @tool(effect="destroy", restorable=True, paths={"path": "write"})
    async def delete_file(self, call: Call, path: PathText) -> ToolResult[views.FileDeleted]:
        """Delete a file, a link itself, or an empty folder of the workspace."""
        entry = await self.remove(call, path)
        return views.deleted(entry.path, entry.kind)

    @tool(effect="write", paths={"source": "source", "path": "put"})
    async def import_file(self, call: Call, source: PathText, path: PathText = "") -> ToolResult[views.FileWritten]:
        """Copy a file into the workspace from a folder that the person allowed; path renames it."""
        result = await self._change(call, self._engine.import_file, source, path)
        await self._publish(call, result.path)
        return views.imported(result, source)

    @tool(effect="write", audience="panel", paths={"path": "write"})
    async def upload_file(self, call: Call, path: PathText, source: UploadUrl) -> ToolResult[views.FileWritten]:
        """Keep what the person uploads (source) in the workspace; nothing that is there is replaced."""
        return views.uploaded(await self.keep_upload(call, path, source))

    async def keep_upload(self, call: Call, path: str, source: str) -> WrittenFile:
        """Copy what the person uploads into the workspace, where nothing is yet."""
        result = await self._change(call, self._engine.write_upload, path, source)
        await self._publish(call, result.path)
        return result

    async def remove(self, call: Call, path: str) -> Entry:
        """Delete a file, a link itself, or an empty folder, and return what it was."""
        entry = await self._change(call, self._engine.delete, path)
        await self._publish(call, entry.path)
        return entry

    async def _change(
        self, call: Call, change: Callable[Concatenate[Call, Rest], ChangeT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> ChangeT:
        return await self._change_in(self._executor.writes, call, change, *args, **kwargs)

    async def _change_in(
        self,
        lane: Lane,
        call: Call,
        change: Callable[Concatenate[Call, Rest], ChangeT],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> ChangeT:
        """Run a change in a thread, one at a time in each session.

        The queue is here and not at the folder's lock, which another process may hold: a thread that waits for the
        lock is lost to all sessions, and threads are few. A change that has begun runs to its end even if its
        caller was cancelled, and the next one waits for it.
        """
        lock = self._session_locks.setdefault((call.user_id, call.session), _SessionLock())
        queued_at = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(MAX_QUEUE_WAIT_S):
                await lock.acquire()
        except TimeoutError:
            raise workspace_busy() from None
        if lock.busy_at > queued_at:
            # The one before has waited in vain for the folder's lock, for all of the queue: a stopped process has it.
            lock.release()
            raise workspace_busy()
        try:
            job = lane.submit(call, change, call, *args, **kwargs)
        except ToolError:
            lock.release()
            raise

        def release(done: asyncio.Future[ChangeT]) -> None:
            # Asking for the error marks it as retrieved, or asyncio logs it after a cancelled call.
            if not done.cancelled() and isinstance(done.exception(), WorkspaceBusy):
                lock.busy_at = asyncio.get_running_loop().time()
            lock.release()

        job.future.add_done_callback(release)
        try:
            return await asyncio.shield(job.future)
        except asyncio.CancelledError:
            job.drop()
            raise

    async def _publish(self, call: Call, *paths: str) -> None:
        await self._notices.publish(files_topic(call, *paths), user_id=call.user_id)
