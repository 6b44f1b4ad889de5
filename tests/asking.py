"""Asking a provider in this process, as one assistant in one session: the shortest way to a tool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.results import Reply
from madang.database.port import Database
from madang.database.sqlite.database import SqliteDatabase
from madang.files.folders import Folders
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.services import builtin_services

NO_FOLDERS = Folders(Path("nowhere"))
"""For those who only ask which tools there are."""

CALL = Call(assistant_id=AssistantId("test-agent"), session_id=SessionId("test-session"))


@dataclass(frozen=True)
class Asker:
    """Somebody who asks: a provider, and whose calls they are."""

    provider: Provider
    database: Database
    call: Call = CALL
    folders: Folders = NO_FOLDERS

    def with_call(self, **changes: Any) -> Asker:
        """Return somebody else at the same provider."""
        return replace(self, call=replace(self.call, **changes))

    async def ask(self, tool: str, /, **arguments: Any) -> Reply:
        return await self.provider.execute_tool(self.call, tool, arguments)

    def keep_file(self, path: str, content: bytes = b"") -> None:
        """Put a file into the workspace, past the tools."""
        with self.folders.of(self.call) as session:
            session.files.write(path, [content])

    async def done(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool that has to succeed."""
        reply = await self.ask(tool, **arguments)
        assert not reply.is_error, reply.text
        return reply


@asynccontextmanager
async def open_asker(path: Path | None = None) -> AsyncIterator[Asker]:
    """Open the built-in services on a database in memory, or in a file; sessions' folders are beside it.

    The person allowed one folder to import files from.
    """
    database = SqliteDatabase(path)
    provider = Provider(AuditLog(database))
    with TemporaryDirectory(prefix="madang-") as temporary:
        allowed = Path(temporary).resolve() / "allowed"
        allowed.mkdir()
        folders = Folders((path.parent if path else Path(temporary)) / "workspaces", [allowed])
        for service in builtin_services(database, folders):
            provider.register(service)
        try:
            yield Asker(provider, database, folders=folders)
        finally:
            await provider.close()
            await database.close()
