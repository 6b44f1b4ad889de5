"""The command line: an answer and an exit code, or one line about what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from madang.cli import main


def test_a_tool_can_be_called_and_what_it_wrote_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--data-dir", str(tmp_path / "new")]

    assert main(["call", "add_todo", '{"name": "Look"}', *folder]) == 0
    assert capsys.readouterr().out.startswith("[add_todo] Todo added: ID:1 Look\n")
    assert main(["call", "get_current_state", "--json", *folder]) == 0
    assert json.loads(capsys.readouterr().out)["todos"][0]["name"] == "Look"


def test_a_tool_that_says_no_is_exit_code_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "mark_todo", '{"id": 5}', "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("[mark_todo] Error: There is no todo with ID 5.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["call", "nothing"], "madang: There is no tool 'nothing'."),
        (["call", "add_todo", "{"], "madang: The arguments are not JSON: "),
        (["call", "add_todo", "[]"], "madang: The arguments must be a JSON object."),
        (["tools", "--locale", "fr"], "madang: The locale 'fr' is not known. Use one of: en, ko."),
        (["tools", "--services", "cooking"], "madang: There is no service 'cooking'. The services are: "),
        (["tools", "--assistant", " "], "madang: The assistant must have 1 to 200 printable characters."),
        (["mcp", "--http", "0.0.0.0:80"], "madang: Madang serves HTTP only to this machine, not on '0.0.0.0'."),
        (["mcp", "--http", "nowhere"], "madang: 'nowhere' is not HOST:PORT."),
        (["mcp", "--ui", "loud"], "madang: The ui 'loud' is not known."),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main([*arguments, "--data-dir", str(tmp_path)]) == 2

    captured = capsys.readouterr()
    assert captured.err.startswith(said)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_data_folder_that_is_a_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")

    assert main(["tools", "--data-dir", str(tmp_path / "file")]) == 2
    assert "cannot be used" in capsys.readouterr().err


def test_errors_are_told_in_korean_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "nothing", "--locale", "ko", "--data-dir", str(tmp_path)]) == 2
    assert "'nothing'" in (said := capsys.readouterr().err)
    assert "There is no tool" not in said


def test_the_tools_are_listed_with_their_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--services", "planning", "--data-dir", str(tmp_path)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["TOOL", "EFFECT", "FOR", "TOKENS"]
    assert [line.split()[0] for line in lines[1:-1]] == [
        "create_goal",
        "clear_goal",
        "add_todo",
        "mark_todo",
        "clear_todos",
        "add_observation",
        "clear_session",
        "get_current_state",
    ]
    assert lines[-1].startswith("8 tools, about ")


def test_a_healthy_data_folder_passes_the_doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "madang"

    assert main(["doctor", "--data-dir", str(folder)]) == 0

    said = capsys.readouterr().out
    assert said.endswith("All is well.\n")
    assert "FAIL" not in said
    assert "Service playbook: ready" in said


def test_the_doctor_finds_a_folder_that_others_can_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "madang"
    folder.mkdir()
    folder.chmod(0o755)

    assert main(["doctor", "--data-dir", str(folder)]) == 1

    assert "can be read by others (mode 755)\n      chmod 700 " in capsys.readouterr().out


def test_the_doctor_finds_a_broken_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "madang"
    folder.mkdir(mode=0o700)
    (folder / "madang.db").write_bytes(b"this is no database" * 100)

    assert main(["doctor", "--data-dir", str(folder)]) == 1

    said = capsys.readouterr().out
    assert "FAIL  Service playbook: error " in said
    assert "FAIL  Database: " in said
