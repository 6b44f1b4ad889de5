"""The log and the terminal: text from outside begins no line and carries no controls."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest

from madang.cli import main
from madang.cli.logs import InertFormatter
from madang.cli.serve import how_to_connect
from madang.settings import Settings

HOSTILE = "a\nStatus: Agent paused\x1b[2J\u202e\x9b"
CONTROLS = ("\x1b", "\u202e", "\x9b", "\x00")


def is_inert(text: str) -> bool:
    is_ours = not any(line.startswith("Status: Agent paused") for line in text.splitlines())
    return is_ours and not any(control in text for control in CONTROLS)


def test_a_record_is_one_line_and_its_traceback_is_indented() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed: %s", (HOSTILE,), sys.exc_info())

    first, *traceback = InertFormatter("%(levelname)s %(message)s").format(record).splitlines()

    assert first == "ERROR failed: a Status: Agent paused\\u001b[2J\\u202e\\u009b"
    assert traceback
    assert all(line.startswith("    ") for line in traceback)
    assert is_inert("\n".join(traceback))


@pytest.mark.parametrize(
    "arguments",
    [
        ["call", HOSTILE],
        ["call", "echo", HOSTILE],
        ["tools", "--locale", HOSTILE],
        ["tools", "--services", HOSTILE],
        ["tools", "--session", HOSTILE],
        ["tools", "--data-dir", f"/dev/null/{HOSTILE}"],
        ["tools", "--allow-folder", f"/{HOSTILE}"],
        ["mcp", "--http", HOSTILE],
    ],
    ids=lambda arguments: " ".join(arguments[:2])[:20].splitlines()[0],
)
def test_what_is_wrong_with_a_command_is_told_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    data_dir = [] if "--data-dir" in arguments else ["--data-dir", str(tmp_path)]

    assert main([*arguments, *data_dir]) == 2

    output = capsys.readouterr()
    assert output.err.count("\n") == 1
    assert is_inert(output.err + output.out)


def test_an_option_that_there_is_not_is_quoted_inertly(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tools", f"--{HOSTILE}"])

    assert is_inert(capsys.readouterr().err)


def test_json_on_the_terminal_escapes_controls_and_keeps_the_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    goal = "배포\U000e0041" + HOSTILE
    assert main(["call", "create_goal", json.dumps({"goal": goal}), "--json", "--data-dir", str(tmp_path)]) == 0

    output = capsys.readouterr().out
    assert is_inert(output)
    assert "배포" in output
    assert json.loads(output)["goal"] == goal


def test_the_doctor_and_the_start_tell_of_a_data_folder_inertly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / HOSTILE

    main(["doctor", "--data-dir", str(folder)])

    assert is_inert(capsys.readouterr().out)
    assert is_inert(how_to_connect(Settings(folder), "127.0.0.1", 8321, "t" * 32))
