"""`madang models try NAME --stories`, played by a script that can do every story, and by one that only claims to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from madang.cli import main
from madang.cli.story_tasks import STORIES
from madang.core.calls import Locale

NOTES = {"oldText": "Friday", "newText": "Thursday"}
STEPS = [{"description": "Collect the receipts"}, {"description": "Write the report"}]
MONTHS = [{"label": "May", "value": 3}, {"label": "June", "value": 5}, {"label": "July", "value": 4}]
ORACLE: list[tuple[str, list[tuple[str, dict[str, Any]]] | str]] = [
    (
        "^(Make a plan|이사 계획)",
        [("create_goal", {"goal": "Move"}), *(("add_todo", {"name": name}) for name in ("Boxes", "Van", "Keys"))],
    ),
    ("^(I have bought|우유)", [("mark_todo", {"id": 1})]),
    ("^(Write a file|hello.txt)", [("write_file", {"path": "hello.txt", "content": "Hello, courtyard\n"})]),
    ("^(In notes.md|notes.md)", [("edit_file", {"path": "notes.md", "edits": [NOTES]})]),
    ("^(Rename|draft.md)", [("move_file", {"source": "draft.md", "target": "final.md"})]),
    ("^(How many tables|강당)", [("keyword_similarity_search", {"query": "tables"})]),
    ("The hall has 37", "There are 37."),
    ("^(Keep this text|이 글을)", [("add_content", {"content": "The locker number is 4471."})]),
    ("^(Make a playbook|월 마감)", [("create_playbook", {"goal": "Close the month", "workflow": STEPS})]),
    ("^(Select the playbook|일일 점검)", [("write_file", {"path": "checked.txt", "content": "done\n"})]),
    ("^(Ask me|내가 어떤)", [("prompt_user", {"prompt": "Which colour?", "type": "text"})]),
    (r"\[prompt_user\][\s\S]*persimmon", [("write_file", {"path": "colour.txt", "content": "persimmon\n"})]),
    ("^(Draw a bar|막대 차트)", [("visualize_data", {"type": "bar", "data": MONTHS})]),
    ("^(Export report|report.md)", [("export_file", {"path": "report.md"})]),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MADANG_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def script(path: Path, turns: list[dict[str, Any]]) -> str:
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted:{path}"


def oracle(path: Path) -> str:
    turns: list[dict[str, Any]] = []
    for when, deeds in ORACLE:
        steps = (
            [{"say": deeds}]
            if isinstance(deeds, str)
            else [{"call": tool, "arguments": arguments} for tool, arguments in deeds]
        )
        turns.append({"when": when, "steps": steps})
    return script(path, [*turns, {"steps": [{"say": "Done."}]}])


def play(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["models", "try", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("locale", ["en", "ko"])
def test_every_story_can_be_done_and_is_judged_by_what_is_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, locale: Locale
) -> None:
    monkeypatch.setenv("MADANG_LOCALE", locale)

    played = json.loads(play(capsys, oracle(folder / "oracle.json"), "--stories", "--json"))

    assert [one["story"] for one in played] == [story.name for story in STORIES]
    assert len(played) == 12
    assert {one["story"]: one["end"] for one in played if not one["done"]} == {}
    assert {one["story"]: one["questions"] for one in played if one["questions"]} == {"ask": 1}
    assert all(one["calls"] for one in played)
    assert not (folder / "data" / "madang.db").exists(), "nothing is left in the person's own folder"


def test_a_model_that_only_claims_has_done_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claims = script(folder / "claims.json", [{"steps": [{"say": "I did it, all 37 of them are persimmon."}]}])

    shown = play(capsys, claims, "--stories")

    # One story asks for words alone.
    assert "1 of 12 done; 0 calls" in shown
    assert [line.split()[1] for line in shown.splitlines()[1:13]].count("yes") == 1


@pytest.mark.parametrize("arguments", [("try",), ("try", "a", "b"), ("--stories",)])
def test_one_model_has_to_be_named(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert main(["models", *arguments]) == 2
    assert "Name one model to try." in capsys.readouterr().err
