"""Every tool that changes files, called by a run: what it did is taken back, and nothing is kept of other calls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.core.errors import Conflict, Denied, NotFound
from madang.core.executor import Executor
from madang.core.tools import Tool
from madang.records.runs.journal import Step
from madang.records.runs.store import RunStore
from madang.services.workspace.engine.undo import FileUndo
from tests.asking import Asker, open_asker
from tests.services.workspace.workspaces import folder_of, stage_upload

pytestmark = pytest.mark.anyio

RUN = "run-1"
CHANGES: dict[str, dict[str, Any]] = {
    "write_file": {"path": "a.txt", "content": "new"},
    "edit_file": {"path": "a.txt", "edits": [{"oldText": "old", "newText": "new"}]},
    "move_file": {"source": "a.txt", "target": "sub/b.txt"},
    "delete_file": {"path": "a.txt"},
    "import_file": {"source": "", "path": "imported/b.txt"},
    "upload_file": {"path": "uploaded/b.txt"},
}
"""Without sources, which each test has to make."""
BESIDE = {"export_file", "export_zip"}
"""They write beside the workspace, and replace nothing."""


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with open_asker() as asker:
        yield asker.with_call(run_id=RUN)


@pytest.fixture
def undo(asker: Asker) -> FileUndo:
    return FileUndo(asker.folders, asker.database, Executor())


def tree(path: Path) -> dict[str, bytes | None]:
    return {str(item.relative_to(path)): item.read_bytes() if item.is_file() else None for item in path.rglob("*")}


def arguments_of(asker: Asker, tool: str) -> dict[str, Any]:
    outside = asker.folders.allowed[0] / "outside.txt"
    outside.write_text("outside")
    sources = {"import_file": str(outside), "upload_file": stage_upload(asker, b"new")}
    return CHANGES[tool] | ({"source": sources[tool]} if tool in sources else {})


async def test_every_tool_that_changes_files_is_listed_here(asker: Asker) -> None:
    tools: list[Tool] = [
        tool
        for service in await asker.provider.open_services()
        if service.metadata.name == "workspace"
        for tool in service.tools
    ]

    assert {tool.name for tool in tools if tool.effect != "read"} == CHANGES.keys() | BESIDE


@pytest.mark.parametrize("tool", CHANGES)
async def test_what_a_tool_changed_in_a_run_is_taken_back(asker: Asker, undo: FileUndo, tool: str) -> None:
    path = folder_of(asker)
    (path / "a.txt").write_bytes(b"old\r\n")
    arguments = arguments_of(asker, tool)
    before = tree(path)
    await asker.done(tool, **arguments)
    assert tree(path) != before

    taken = await undo.take_back(replace(asker.call, run_id=""), RUN)

    assert taken.conflicts == []
    assert tree(path) == before


@pytest.mark.parametrize("tool", CHANGES)
async def test_nothing_is_kept_of_a_call_without_a_run(asker: Asker, undo: FileUndo, tool: str) -> None:
    asker = asker.with_call(run_id="")
    path = folder_of(asker)
    (path / "a.txt").write_bytes(b"old\r\n")

    await asker.done(tool, **arguments_of(asker, tool))

    assert await undo.runs(asker.call) == []
    assert not (path.parent / "copies").exists()
    with pytest.raises(NotFound):
        await undo.newest(asker.call)


async def test_changes_at_the_same_time_are_all_taken_back(asker: Asker, undo: FileUndo) -> None:
    path = folder_of(asker)
    for number in range(20):
        (path / f"{number}.txt").write_text(f"old {number}")
    before = tree(path)
    await asyncio.gather(
        *(asker.done("write_file", path=f"{number % 20}.txt", content=f"{number}") for number in range(40))
    )

    assert len(await undo.changes(asker.call, RUN)) == 20
    taken = await undo.take_back(replace(asker.call, run_id=""), RUN)

    assert (len(taken.restored), taken.conflicts) == (20, [])
    assert tree(path) == before


async def test_subscribers_hear_of_an_undo(asker: Asker, undo: FileUndo) -> None:
    await asker.done("write_file", path="a.txt", content="new")
    service = next(one for one in await asker.provider.open_services() if one.metadata.name == "workspace")
    changes = aiter(service.changes(asker.call))
    await anext(changes)

    await undo.take_back(replace(asker.call, run_id=""), RUN)

    async with asyncio.timeout(10):
        assert any("a.txt" in topic for topic in await anext(changes))  # type: ignore[attr-defined]
    await changes.aclose()  # type: ignore[attr-defined]


async def test_only_a_person_or_a_program_takes_back(asker: Asker, undo: FileUndo) -> None:
    await asker.done("write_file", path="a.txt", content="new")
    for actor in ("model", "foreign"):
        call = replace(asker.call, actor=actor)
        with pytest.raises(Denied):
            await undo.take_back(call, RUN)
        with pytest.raises(Denied):
            await undo.forget(call)


async def test_a_run_is_taken_back_only_when_it_is_over(asker: Asker, undo: FileUndo) -> None:
    liveness = asker.database.new_liveness()
    runs = RunStore(asker.database, liveness)
    await runs.open()
    run = await runs.start(replace(asker.call, run_id=""), Step())
    await asker.with_call(run_id=run.id).done("write_file", path="a.txt", content="new")
    person = replace(asker.call, run_id="", actor="person")

    with pytest.raises(Conflict):
        await undo.take_back(person, run.id)
    assert (folder_of(asker) / "a.txt").exists()
    await runs.commit(run, Step(state="finished"))
    assert await undo.newest(person) == run.id
    assert (await undo.take_back(person, run.id)).restored == ["a.txt"]
    await liveness.close()


async def test_a_quota_that_is_reached_is_told_to_the_model(
    asker: Asker, undo: FileUndo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madang.files.folders.copies.MAX_COPIES_BYTES", 10)
    asker.with_call(run_id="").keep_file("large.txt", b"x" * 11)

    reply = await asker.ask("delete_file", path="large.txt")

    assert reply.is_error
    assert "Nothing was changed" in reply.text
    assert os.path.getsize(folder_of(asker) / "large.txt") == 11
