"""`--workspace` and `madang sessions undo`, as a person uses them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from madang.app import open_madang
from madang.cli import main
from madang.core.errors import SetupError
from madang.settings import Settings, read_settings
from tests.cli.talking import call_step, madang, open_ids, rows, write_script


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    return ["--data-dir", str(tmp_path / "data")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("old")
    return project


def change(data: Path, run_id: str, path: str, content: str) -> None:
    """Write a file as a run does."""

    async def work() -> None:
        async with open_madang(Settings(data)) as madang:
            call = replace(madang.call("agent"), run_id=run_id)
            reply = await madang.provider.execute_tool(call, "write_file", {"path": path, "content": content})
            assert not reply.is_error, reply.text

    asyncio.run(work())


def test_a_folder_is_given_once_and_stays_with_the_session(
    data: list[str], project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()

    assert main(["--workspace", "project", "call", "list_directory", *data]) == 0
    assert main(["call", "write_file", '{"path": "b.txt", "content": "b"}', *data]) == 0
    assert main(["call", "list_directory", *data, "--workspace", "other"]) == 2
    assert main(["call", "list_directory", *data, "--workspace", "other", "--session", "two"]) == 0

    assert (project / "b.txt").read_text() == "b"
    captured = capsys.readouterr()
    assert captured.err == (
        f"madang: This session works in {project}. Use another session for another folder, with --session.\n"
    )


def test_a_run_works_in_the_folder_that_it_is_given_and_is_taken_back_there(
    data: list[str], project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    changes = [
        call_step("write_file", path="a.txt", content="new"),
        call_step("write_file", path="b/c.txt", content="c"),
    ]
    model = write_script(tmp_path, changes, ["Done."])

    assert main(["run", "Go", "--model", model, "--workspace", "project", "--session", "site", *data]) == 0

    assert (project / "a.txt").read_text() == "new"
    assert (project / "b/c.txt").read_text() == "c"
    assert main(["sessions", "undo", "site", *data]) == 0
    assert (project / "a.txt").read_text() == "old"
    assert not (project / "b").exists()


def test_a_run_goes_on_in_the_folder_of_its_session_in_every_process(tmp_path: Path, project: Path) -> None:
    question = call_step("prompt_user", prompt="Which?", type="text")
    model = write_script(tmp_path, [question], [call_step("write_file", path="b.txt", content="b")], ["Done."])
    folder = tmp_path / "data"

    begun = madang(folder, "run", "Go", "--model", model, "--session", "site", "--workspace", str(project))
    assert begun.returncode == 3, begun.stderr
    [id] = open_ids(folder)
    assert madang(folder, "answer", id, "this").returncode == 0
    resumed = madang(folder, "run", "--session", "site")

    assert resumed.returncode == 0, resumed.stderr
    assert (project / "b.txt").read_text() == "b"


def test_a_new_session_of_a_run_has_the_folder_and_continues_in_it(
    data: list[str], project: Path, tmp_path: Path
) -> None:
    b, c = (call_step("write_file", path=f"{name}.txt", content=name) for name in "bc")
    model = write_script(tmp_path, [b], ["Done."], [c], ["Done."])

    assert main(["--workspace", str(project), "run", "Go", "--model", model, *data]) == 0
    assert main(["run", "More", "--model", model, "--continue", *data]) == 0

    assert sorted(path.name for path in project.iterdir()) == ["a.txt", "b.txt", "c.txt"]


def test_a_chat_works_in_the_folder_that_it_is_given(tmp_path: Path, project: Path) -> None:
    model = write_script(tmp_path, [call_step("write_file", path="b.txt", content="b")], ["Done."])

    result = madang(tmp_path / "data", "chat", "--model", model, "--workspace", str(project), stdin="Go\n")

    assert result.returncode == 0, result.stderr
    assert (project / "b.txt").read_text() == "b"


@pytest.mark.parametrize("command", [["run", "Go"], ["chat"]], ids=["run", "chat"])
def test_a_folder_that_a_session_cannot_have_is_one_line_and_nothing_is_posted(
    command: list[str], data: list[str], project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    model = write_script(tmp_path, ["Done."])
    assert main(["call", "list_directory", *data, "--session", "site", "--workspace", str(project)]) == 0
    capsys.readouterr()

    for folder, reason in (("other", f"This session works in {project}."), ("none", "No session can work in")):
        words = [*command, "--model", model, "--session", "site", "--workspace", str(tmp_path / folder), *data]
        assert main(words) == 2
        streams = capsys.readouterr()
        assert streams.out == ""
        assert streams.err.startswith(f"madang: {reason}")
        assert streams.err.count("\n") == 1

    assert rows(tmp_path / "data", "SELECT count(*) FROM run") == [(0,)]
    assert main(["run", "Go", "--model", "nix", "--workspace", str(project), *data]) == 2
    assert [name for (name,) in rows(tmp_path / "data", "SELECT id FROM session")] == ["site"]


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("nothing", "No such file or directory"),
        ("project/a.txt", "it is not a folder"),
        ("data/workspaces", "it is in the data folder"),
        (".", "it contains the data folder"),
        ("way", "it contains the data folder"),
        ("odd\x1b[1m", "its name cannot be shown"),
    ],
)
def test_a_folder_that_no_session_can_work_in_is_said_at_the_start(
    project: Path, tmp_path: Path, folder: str, reason: str
) -> None:
    (tmp_path / "data/workspaces").mkdir(parents=True)
    (tmp_path / "way").symlink_to(tmp_path)
    (tmp_path / "odd\x1b[1m").mkdir()

    with pytest.raises(SetupError, match="No session can work in the folder") as refused:
        read_settings({}, data_dir=str(tmp_path / "data"), workspace=str(tmp_path / folder))

    assert reason in str(refused.value)


def test_what_a_run_changed_is_listed_and_taken_back(
    data: list[str], project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def undo(*words: str) -> int:
        return main([*data, "sessions", "undo", "default", *words])

    assert main(["call", "list_directory", *data, "--workspace", str(project)]) == 0
    change(tmp_path / "data", "run-1", "a.txt", "changed")
    change(tmp_path / "data", "run-2", "new/b.txt", "b")
    change(tmp_path / "data", "run-2", "a.txt", "again")
    (project / "new/b.txt").write_text("mine")
    capsys.readouterr()

    assert undo("--list") == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split("  ")[0] == "CHANGED (UTC)"
    assert [row.split()[2:] for row in rows] == [["run-2", "2"], ["run-1", "1"]]
    assert undo("run-2", "--list") == 0
    assert [row.split(maxsplit=3) for row in capsys.readouterr().out.splitlines()[1:]] == [
        ["added", "-", "1", "new/b.txt (changed again after the run)"],
        ["changed", "7", "5", "a.txt"],
    ]
    assert undo() == 1
    out = capsys.readouterr().out
    assert "As before the run: a.txt\n" in out
    assert "Not taken back: new/b.txt. It was changed after the run.\n" in out
    assert (project / "a.txt").read_text() == "changed"
    undo_id = out.rpartition("To take this undo back: ")[2].split("\n")[0].split()[-1]
    assert undo("run-2", "--force", "--json") == 0
    assert json.loads(capsys.readouterr().out)["restored"] == ["new/b.txt"]
    assert not (project / "new").exists()
    assert undo(undo_id) == 0
    assert (project / "a.txt").read_text() == "again"
    assert undo("run-2", "--file", "elsewhere") == 2
    assert "changed nothing at 'elsewhere'" in capsys.readouterr().err
    assert undo("run-2", "--file", "a.txt") == 0
    capsys.readouterr()
    assert undo("--list", "--json") == 0
    runs = json.loads(capsys.readouterr().out)
    assert {run["run_id"] for run in runs} >= {"run-1", "run-2", undo_id}
    assert undo("--forget", "--locale", "ko") == 0
    assert undo() == 2
    assert "Nothing is kept" in capsys.readouterr().err


def test_the_config_file_says_how_long_copies_are_kept(tmp_path: Path) -> None:
    assert read_settings({}, data_dir=str(tmp_path)).copies_days == 30
    (tmp_path / "config.toml").write_text("[retention]\ncopies_days = 7")
    assert read_settings({}, data_dir=str(tmp_path)).copies_days == 7


def test_an_undo_takes_back_all_that_a_run_did(
    data: list[str], project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [
        call_step("create_goal", goal="Tea"),
        call_step("add_todo", name="Boil water"),
        call_step("write_file", path="b.txt", content="b"),
    ]
    model = write_script(tmp_path, steps, ["Done."])
    words = ["--session", "tea", *data]
    assert main(["run", "Go", "--model", model, "--workspace", str(project), *words]) == 0
    assert main(["sessions", "undo", "tea", *data]) == 0
    out = capsys.readouterr().out

    assert sorted(path.name for path in project.iterdir()) == ["a.txt"]
    assert out.count("Taken back: ") == 2
    assert "As before the run: b.txt" in out
    assert main(["call", "get_current_state", "--json", *words]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert "Boil water" not in json.dumps(plan)
    assert main(["sessions", "undo", "tea", "--list", "--json", *data]) == 0


def test_a_run_that_changed_no_file_is_taken_back_too(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_script(tmp_path, [call_step("create_goal", goal="Tea")], ["Done."])
    assert main(["run", "Go", "--model", model, "--session", "tea", *data]) == 0
    capsys.readouterr()
    assert main(["sessions", "undo", "tea", "--json", *data]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["restored"], len(told["operations"]), told["not_undone"]) == ([], 1, [])
    assert main(["sessions", "undo", "tea", *data]) == 2
