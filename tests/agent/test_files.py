"""A run that works on the person's own files, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from madang.llm.messages import Part, TextPart
from tests.agent.bench import ME, bench, tool_call


async def test_what_a_run_did_to_the_persons_files_is_taken_back(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "tea.md").write_text("green\n")
    (project / "old.md").write_text("old\n")
    script: list[Sequence[Part]] = [
        [
            tool_call("edit_file", "c1", path="tea.md", edits=[{"oldText": "green", "newText": "oolong"}]),
            tool_call("write_file", "c2", path="notes/new.md", content="new\n"),
            tool_call("delete_file", "c3", path="old.md"),
            tool_call("write_file", "c4", path=".git/hooks/pre-commit", content="#!/bin/sh\n"),
        ],
        [tool_call("move_file", "c5", source="tea.md", target="notes/tea.md")],
        [TextPart("Done.")],
    ]
    async with bench(tmp_path / "data", *script) as b:
        b.madang.folders.bind(ME, project.resolve())
        run = await b.say("Tidy up")
        assert run is not None
        assert run.state == "finished"
        assert (project / "notes/tea.md").read_text() == "oolong\n"
        assert not (project / "old.md").exists()

        assert await b.madang.file_undo.newest(ME) == run.id
        taken = await b.madang.file_undo.take_back(ME, run.id)

    assert taken.conflicts == []
    assert {path.name: path.read_text() for path in project.rglob("*") if path.is_file()} == {
        "tea.md": "green\n",
        "old.md": "old\n",
    }
    assert sorted(path.name for path in project.iterdir()) == [".git", "old.md", "tea.md"]
