"""The service that the guide builds works as it is printed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import madang.services
from madang.agent.inbox import Inbox
from madang.core.calls import Call
from madang.core.errors import Conflict, NotFound
from madang.core.ids import AssistantId, SessionId
from madang.core.pauses import Answer
from madang.database.port import Database
from madang.database.sqlite.database import SqliteDatabase
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.rendering import pages
from tests.asking import Asker
from tests.docs.pages import ROOT, blocks
from tests.postgresql import database_in

GUIDE = ROOT / "docs/guides/add-a-service.md"
CALL = Call(AssistantId("a"), SessionId("s"))
ELSEWHERE = Call(AssistantId("a"), SessionId("sa"))


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The guide's files as a package beside the other services, for as long as the test runs."""
    folder = tmp_path / "notes"
    (folder / "templates").mkdir(parents=True)
    (folder / "__init__.py").write_text('"""Notes of a session."""\n')
    for block in blocks(GUIDE):
        if block.language in ("python", "html"):
            (folder / block.heading).write_text(block.body, encoding="utf-8")
    monkeypatch.setattr(madang.services, "__path__", [*madang.services.__path__, str(tmp_path)])
    monkeypatch.setattr(pages, "_SERVICES", tmp_path)
    importlib.invalidate_caches()
    yield "madang.services.notes"
    for name in [name for name in sys.modules if name.startswith("madang.services.notes")]:
        del sys.modules[name]
    vars(madang.services).pop("notes", None)


@pytest.fixture(params=["embedded", "server"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database: Database = database_in(tmp_path) if request.param == "server" else SqliteDatabase(None)
    yield database
    await database.close()


@pytest.fixture
async def provider(notes: str, database: Database) -> AsyncIterator[Provider]:
    """A provider with the guide's service, on both databases."""
    provider = Provider(AuditLog(database))
    provider.register(importlib.import_module(f"{notes}.service").NotesService(database))
    yield provider
    await provider.close()


async def test_the_service_of_the_guide_keeps_notes_per_session(provider: Provider) -> None:
    added = await provider.execute_tool(CALL, "add_note", {"text": "The key is under the mat"})
    id = added.data["note"]["id"]
    note = await provider.execute_tool(CALL, "get_note", {"id": id})
    missing = await provider.execute_tool(ELSEWHERE, "get_note", {"id": id})

    assert added.text == f"[add_note] Noted. ID: {id}\nNote: Use 'get_note' with this id to read it again."
    assert note.text == f"[get_note] Note {id}: The key is under the mat"
    assert missing.text == f"[get_note] Error: There is no note {id}.\nHint: 'add_note' answers with the id."


async def test_its_page_shows_the_notes_escaped(provider: Provider) -> None:
    await provider.execute_tool(CALL, "add_note", {"text": "<b>a</b>\nStatus: b"})

    listing = await provider.execute_tool(CALL, "show_notes", {})

    assert "\n1. <b>a</b> Status: b (ID: " in listing.text
    assert listing.page is not None
    assert "&lt;b&gt;a&lt;/b&gt;" in listing.page.fragment


async def test_what_it_asks_is_in_the_inbox_and_answered_there(provider: Provider, database: Database) -> None:
    inbox, person = Inbox(database, provider), replace(CALL, door="host", actor="person")
    await inbox.open()
    for text in ("Water the plants", "The key is under the mat"):
        await provider.execute_tool(CALL, "add_note", {"text": text})
    asked = await provider.execute_tool(CALL, "choose_note", {})
    [pause] = await inbox.list_open(CALL.user_id)

    form = await inbox.read(person, pause)
    with pytest.raises(NotFound):
        await inbox.settle(person, pause, Answer("nothing"))
    settled = await inbox.settle(person, pause, Answer(form.options[1].value))

    assert "Status: Agent paused" in asked.text
    assert [option.label for option in form.options] == ["Water the plants", "The key is under the mat"]
    assert settled.status == "answered"
    with pytest.raises(Conflict):
        await inbox.settle(person, pause, Answer(form.options[0].value))
    outcome = await provider.outcome(CALL, settled)
    assert outcome.text == "[choose_note] The person chose: The key is under the mat"


async def test_its_promises_hold(provider: Provider, notes: str) -> None:
    promises = importlib.import_module(f"{notes}.promises").PROMISES
    asker = Asker(provider, SqliteDatabase(None), CALL)

    ids = await promises.prepare(asker)

    assert [*promises.tools] == [tool.name for tool in await provider.available_tools(CALL)]
    for name, promise in promises.tools.items():
        assert (await asker.done(name, **promise.example_arguments(ids))).tool == name
        assert (await asker.ask(name, **promise.refused)).is_error
    assert len((await asker.done("get_note", id=(await promises.fill(asker))["note"])).text) > 2_000


async def test_a_subscription_hears_of_its_own_session_alone(provider: Provider) -> None:
    async with aclosing(provider.watch_contexts(CALL)) as contexts:
        assert (await anext(contexts))["notes"].structured_state.model_dump() == {"notes": []}

        await provider.execute_tool(ELSEWHERE, "add_note", {"text": "not for us"})
        await provider.execute_tool(CALL, "add_note", {"text": "for us"})
        with anyio.fail_after(60):
            changed = await anext(contexts)

    assert [note["text"] for note in changed["notes"].structured_state.model_dump()["notes"]] == ["for us"]
