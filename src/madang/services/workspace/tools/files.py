"""What an agent can do with the files of its session, but for exporting them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Annotated, Concatenate, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from pydantic import Field

from madang.core.calls import Call
from madang.core.errors import InvalidArguments
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.workspace.domain.files import (
    MAX_CONTENT_CHARS,
    MAX_EDITS,
    MAX_LISTED_ENTRIES,
    MAX_MATCHES,
    Edit,
    LineNumber,
    PathText,
)
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.engine.searching import Grep, Searcher
from madang.services.workspace.store import FileNotices
from madang.services.workspace.views import files as views
from madang.services.workspace.views import searches
from madang.storage.folders import WriteMode, workspace_busy

Content = Annotated[str, Field(max_length=MAX_CONTENT_CHARS)]
Pattern = Annotated[str, Field(min_length=1, max_length=2_000)]
Glob = Annotated[str, Field(max_length=1_000)]
Depth = Annotated[int, Field(ge=1, le=64)]
Offset = Annotated[int, Field(ge=0, le=10**9)]
Limit = Annotated[int, Field(ge=1, le=MAX_LISTED_ENTRIES)]
Matches = Annotated[int, Field(ge=1, le=MAX_MATCHES)]
Around = Annotated[int, Field(ge=0, le=10)]

Rest = ParamSpec("Rest")
ChangedT = TypeVar("ChangedT")

MAX_SEARCHES = 3
"""At once: each may take seconds, and those who only read a file must still find a thread that is free."""

IN_LINE_S = 19.0
"""How long a change waits for others of its session: with the wait for other processes still within a call's time."""


class FileTools:
    """The tools for files. Paths are relative to the session's folder, and nothing leads out of it."""

    def __init__(self, engine: FileEngine, searcher: Searcher, notices: FileNotices) -> None:
        self._engine = engine
        self._searcher = searcher
        self._notices = notices
        self._searches = asyncio.Semaphore(MAX_SEARCHES)
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @tool(effect="read")
    async def read_file(
        self, call: Call, path: PathText, start_line: LineNumber = 1, end_line: LineNumber | None = None
    ) -> ToolResult[views.FileRead]:
        """Read a text of the workspace as numbered lines, about 8 KB at a time; it says how to go on."""
        if end_line is not None and end_line < start_line:
            raise InvalidArguments(
                say("endLine: must be at least startLine ({line}).", line=start_line),
                hint=say("Leave endLine out to read on from startLine."),
            )
        return views.read(await asyncio.to_thread(self._engine.read, call, path, start_line, end_line))

    @tool(effect="write")
    async def write_file(
        self, call: Call, path: PathText, content: Content, mode: WriteMode = "overwrite"
    ) -> ToolResult[views.FileWritten]:
        """Write a text file of the workspace, with the folders above it. create refuses to replace a file."""
        result = await self._change(call, self._engine.write, path, content, mode)
        await self._notices.tell(call)
        return views.written(result, appended=mode == "append")

    @tool(effect="write")
    async def edit_file(
        self,
        call: Call,
        path: PathText,
        edits: Annotated[list[Edit], Field(min_length=1, max_length=MAX_EDITS)],
    ) -> ToolResult[views.FileEdited]:
        """Replace pieces of a text: each oldText exactly as it is there, once, or with replaceAll. All or nothing."""
        result = await self._change(call, self._engine.edit, path, edits)
        await self._notices.tell(call)
        return views.edited(result)

    @tool(effect="read")
    async def list_directory(
        self, call: Call, path: PathText = "", depth: Depth = 1, offset: Offset = 0, limit: Limit = 50
    ) -> ToolResult[views.DirectoryListed]:
        """List a folder of the workspace, with sizes and times; depth goes into the folders in it."""
        return views.listed(await asyncio.to_thread(self._engine.list, call, path, depth, offset, limit))

    @tool(effect="read")
    async def search_files(self, call: Call, pattern: Pattern, path: PathText = "") -> ToolResult[searches.FilesFound]:
        """Find files by name: '*.md' at any depth, or 'src/**/*.py' below path."""
        return searches.files_found(await asyncio.to_thread(self._engine.search, call, pattern, path))

    @tool(effect="read")
    async def grep(
        self,
        call: Call,
        pattern: Pattern,
        path: PathText = "",
        glob: Glob = "",
        ignore_case: bool = False,
        context: Around = 0,
        limit: Matches = 50,
    ) -> ToolResult[searches.GrepResult]:
        """Find lines in the texts of the workspace by a regular expression (Rust syntax: no look-around)."""
        stop = threading.Event()
        wanted = Grep(pattern, path, glob, ignore_case, context, limit)
        try:
            async with self._searches:
                return searches.grepped(await asyncio.to_thread(self._searcher.grep, call, wanted, stop))
        finally:
            stop.set()  # also when this call is cancelled: the thread then ends the program it started

    @tool(effect="write")
    async def move_file(self, call: Call, source: PathText, target: PathText) -> ToolResult[views.FileMoved]:
        """Move or rename a file or folder of the workspace; nothing that is there is replaced."""
        entry = await self._change(call, self._engine.move, source, target)
        await self._notices.tell(call)
        return views.moved(source, entry.path, entry.kind)

    @tool(effect="destroy")
    async def delete_file(self, call: Call, path: PathText) -> ToolResult[views.FileDeleted]:
        """Delete a file, a link itself, or an empty folder of the workspace. It cannot be undone."""
        entry = await self._change(call, self._engine.delete, path)
        await self._notices.tell(call)
        return views.deleted(entry.path, entry.kind)

    @tool(effect="write")
    async def import_file(self, call: Call, source: PathText, path: PathText = "") -> ToolResult[views.FileWritten]:
        """Copy a file into the workspace from a folder that the person allowed. path names it, else its own name."""
        result = await self._change(call, self._engine.import_file, source, path)
        await self._notices.tell(call)
        return views.imported(result, source)

    async def _change(
        self, call: Call, change: Callable[Concatenate[Call, Rest], ChangedT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> ChangedT:
        """Change something in a thread, when it is this call's turn in its session.

        Threads are few, and one that waits for the folder, which another process may keep, is lost to all sessions:
        so one of each session waits there, and the others here. Also when its caller has given up: it still runs.
        """
        turn = self._turns.setdefault((call.user_id, call.session), asyncio.Lock())
        try:
            async with asyncio.timeout(IN_LINE_S):
                await turn.acquire()
        except TimeoutError:
            raise workspace_busy() from None
        work = asyncio.ensure_future(asyncio.to_thread(change, call, *args, **kwargs))

        def end(done: asyncio.Future[ChangedT]) -> None:
            turn.release()
            if not done.cancelled():
                done.exception()  # somebody has looked at it

        work.add_done_callback(end)
        return await asyncio.shield(work)
