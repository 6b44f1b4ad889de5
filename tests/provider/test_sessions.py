"""Whole sessions over services that fail, hang or are not there: one service keeps no other from its part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.calls import Call
from madang.core.errors import Unavailable
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import say
from madang.core.service import Service, ServiceMetadata
from madang.database.sqlite.database import SqliteDatabase
from madang.provider import sessions as module
from madang.provider.provider import Provider
from madang.provider.sessions import SessionOperations
from madang.records.audit import AuditLog
from madang.records.sessions import SessionStore

CALL = Call(AssistantId("a"), SessionId("s"))
WITHIN_S = 60


class Keeper(Service):
    """Keeps the names of sessions in memory, and hangs in a hook when it is told to."""

    def __init__(self, name: str) -> None:
        self.metadata = ServiceMetadata(name=name, title=say("{name}", name=name), description=say(""), version="1")
        self.sessions: set[str] = {"s"}
        self.hangs_in = ""
        self.imported = asyncio.Event()

    async def forget_session(self, call: Call) -> None:
        await self._hang("forget")
        self.sessions.discard(call.session)

    async def copy_session(self, call: Call, target: SessionId) -> None:
        await self._hang("copy")
        self.sessions.add(target)

    async def export_session(self, call: Call, archive: ArchiveWriter) -> None:
        if call.session in self.sessions:
            with archive.create("kept.txt") as file:
                file.write(b"kept")
            await self._hang("export")

    async def import_session(self, call: Call, archive: ArchiveReader) -> None:
        self.sessions.add(call.session)
        self.imported.set()
        await self._hang("import")

    async def _hang(self, hook: str) -> None:
        if self.hangs_in == hook:
            await asyncio.Event().wait()


@pytest.fixture
def keepers() -> list[Keeper]:
    return [Keeper("first"), Keeper("second"), Keeper("third")]


@pytest.fixture
async def operations(
    database: SqliteDatabase, provider: Provider, keepers: list[Keeper], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SessionOperations]:
    monkeypatch.setattr(module, "AUDIT_SETTLE_S", 0.0)
    for keeper in keepers:
        provider.register(keeper)
    audit = AuditLog(database)
    yield SessionOperations(provider, database, SessionStore(database), audit, hook_limit_s=0.2)
    await audit.close()


async def test_a_service_that_hangs_keeps_no_other_from_forgetting(
    operations: SessionOperations, keepers: list[Keeper]
) -> None:
    keepers[1].hangs_in = "forget"
    with pytest.raises(Unavailable, match="second failed"):
        await operations.forget(CALL)
    assert [keeper.sessions for keeper in keepers] == [set(), {"s"}, set()]

    keepers[1].hangs_in = ""
    await operations.forget(CALL)

    assert keepers[1].sessions == set()


async def test_a_copy_or_import_that_a_service_hangs_in_is_taken_back(
    operations: SessionOperations, keepers: list[Keeper], tmp_path: Path
) -> None:
    await operations.export(CALL, tmp_path / "s.zip")
    target = Call(AssistantId("a"), SessionId("t"))
    keepers[0].hangs_in = "copy"
    with pytest.raises(Unavailable, match="'first' took longer than"):
        await operations.copy(CALL, target.session)
    keepers[0].hangs_in = "import"
    with pytest.raises(Unavailable, match="'first' took longer than"):
        await operations.import_(target, tmp_path / "s.zip")
    assert [keeper.sessions for keeper in keepers] == [{"s"}] * 3

    keepers[0].hangs_in = ""
    await operations.import_(target, tmp_path / "s.zip")

    assert [keeper.sessions for keeper in keepers] == [{"s", "t"}] * 3


async def test_an_export_that_a_service_hangs_in_leaves_no_file(
    operations: SessionOperations, keepers: list[Keeper], tmp_path: Path
) -> None:
    keepers[2].hangs_in = "export"

    with pytest.raises(Unavailable):
        await operations.export(CALL, tmp_path / "s.zip")

    assert list(tmp_path.iterdir()) == []


async def test_a_cancelled_import_is_taken_back(
    operations: SessionOperations, keepers: list[Keeper], tmp_path: Path
) -> None:
    await operations.export(CALL, tmp_path / "s.zip")
    target = Call(AssistantId("a"), SessionId("t"))
    keepers[0].hangs_in = "import"
    importing = asyncio.create_task(operations.import_(target, tmp_path / "s.zip"))
    await asyncio.wait_for(keepers[0].imported.wait(), WITHIN_S)

    importing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await importing
    assert [keeper.sessions for keeper in keepers] == [{"s"}] * 3
