"""The service that the guide builds works as it is printed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import madang.services
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.provider.provider import Provider
from madang.storage.audit import AuditLog
from madang.storage.sqlite import SqliteDatabase
from tests.docs.pages import ROOT, blocks

GUIDE = ROOT / "docs/guides/add-a-service.md"
CALL = Call(AssistantId("a"), SessionId("s"))


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The guide's files as a package beside the other services, for as long as the test runs."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "__init__.py").write_text('"""Notes of a session."""\n')
    for block in blocks(GUIDE):
        if block.language == "python":
            (folder / block.heading).write_text(block.body, encoding="utf-8")
    monkeypatch.setattr(madang.services, "__path__", [*madang.services.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield "madang.services.notes"
    for name in [name for name in sys.modules if name.startswith("madang.services.notes")]:
        del sys.modules[name]
    vars(madang.services).pop("notes", None)


async def test_the_service_of_the_guide_keeps_notes_per_session(notes: str) -> None:
    database = SqliteDatabase(None)
    provider = Provider(AuditLog(database))
    provider.register(importlib.import_module(f"{notes}.service").NotesService(database))
    try:
        added = await provider.execute_tool(CALL, "add_note", {"text": "The key is under the mat"})
        id = added.data["note"]["id"]
        found = await provider.execute_tool(CALL, "get_note", {"id": id})
        elsewhere = Call(AssistantId("a"), SessionId("t"))
        missing = await provider.execute_tool(elsewhere, "get_note", {"id": id})
    finally:
        await provider.close()
        await database.close()

    assert added.text == f"[add_note] Noted. ID: {id}\nNote: Use 'get_note' with this id to read it again."
    assert found.text == f"[get_note] Note {id}: The key is under the mat"
    assert missing.text == f"[get_note] Error: There is no note {id}.\nHint: 'add_note' answers with the id."
