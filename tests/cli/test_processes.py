"""The `madang` command as a real process: exit codes, one line per error, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from madang.cli.serve import parse_address
from madang.core.errors import SetupError

TIMEOUT_S = 60


def madang(
    folder: Path | str, *arguments: str, stdin: str = "", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command on a data folder and return what came of it."""
    return subprocess.run(
        [sys.executable, "-m", "madang", *arguments],
        env={**os.environ, "MADANG_DATA_DIR": str(folder), **(environment or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def refused(result: subprocess.CompletedProcess[str], *parts: str, code: int = 2) -> None:
    """Check that it failed with one line on standard error, which says `parts`."""
    assert result.returncode == code, result
    assert result.stdout == ""
    assert re.fullmatch(r"madang: .+\n", result.stderr), result.stderr
    for part in parts:
        assert part in result.stderr


def test_a_call_prints_the_answer_and_keeps_what_it_did(tmp_path: Path) -> None:
    first = madang(tmp_path, "call", "add_todo", '{"name": "빨래"}')
    second = madang(tmp_path, "call", "get_current_state", "--json")

    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("[add_todo] ")
    assert (second.returncode, second.stderr) == (0, "")
    assert json.loads(second.stdout)["todos"] == [{"id": 1, "name": "빨래", "status": "pending", "summary": ""}]


def test_arguments_come_from_standard_input_too(tmp_path: Path) -> None:
    result = madang(tmp_path, "call", "add_todo", "-", stdin='{"name": "x"}')

    assert result.returncode == 0
    assert "ID:1" in result.stdout


def test_an_answer_that_is_an_error_exits_with_1(tmp_path: Path) -> None:
    result = madang(tmp_path, "call", "get_playbook", '{"id": "nothing"}')

    assert result.returncode == 1
    assert result.stdout.startswith("[get_playbook] Error: Playbook nothing not found.")
    assert result.stderr == ""


@pytest.mark.parametrize(
    "text", ["{", "", "[1]", '{"a":' * 100_000, '{"a": ' + "1" * 5000 + "}"], ids=lambda text: text[:7]
)
def test_arguments_that_are_no_json_object_are_wrong_use(tmp_path: Path, text: str) -> None:
    refused(madang(tmp_path, "call", "add_todo", "-", stdin=text), "The arguments")


@pytest.mark.parametrize("depth", [60, 900])
def test_deep_arguments_are_answered_not_a_traceback(tmp_path: Path, depth: int) -> None:
    result = madang(tmp_path, "call", "add_todo", '{"name":' + "[" * depth + "]" * depth + "}")

    assert result.returncode in (1, 2)
    assert "Traceback" not in result.stderr


def test_an_unknown_tool_is_wrong_use(tmp_path: Path) -> None:
    refused(madang(tmp_path, "call", "no_such_tool"), "There is no tool 'no_such_tool'.")


def test_an_unknown_service_is_wrong_use_and_the_others_are_named(tmp_path: Path) -> None:
    refused(madang(tmp_path, "tools", "--services", "playbook,nonsense"), "'nonsense'", "playbook, planning")


def test_only_the_wanted_services_are_offered(tmp_path: Path) -> None:
    result = madang(tmp_path, "tools", "--services", "planning")

    assert result.returncode == 0
    assert "add_todo" in result.stdout
    assert "create_playbook" not in result.stdout


@pytest.mark.parametrize("option", [["--locale", "xx"], ["--assistant", ""], ["--session", "a\nb"]])
def test_a_setting_that_is_none_is_wrong_use(tmp_path: Path, option: list[str]) -> None:
    refused(madang(tmp_path, "tools", *option))


def test_settings_from_the_environment_are_checked_too(tmp_path: Path) -> None:
    refused(madang(tmp_path, "tools", environment={"MADANG_LOCALE": "xx"}), "xx", "en, ko")
    refused(madang(tmp_path, "mcp", environment={"MADANG_UI": "sideways"}), "sideways")
    refused(madang(tmp_path, "mcp", "--http", environment={"MADANG_TOKEN": "short"}), "MADANG_TOKEN", "16")
    refused(madang(tmp_path, "mcp", "--http", environment={"MADANG_TOKEN": "with a space in it, long"}), "MADANG_TOKEN")


def test_errors_are_said_in_the_language_of_the_person(tmp_path: Path) -> None:
    result = madang(tmp_path, "call", "no_such_tool", "--locale", "ko")

    refused(result, "no_such_tool")
    assert re.search("[가-힣]", result.stderr)


UNUSABLE = ["a file", "below a file", "a loop", "too long", "nobody's home"]
COMMANDS = [["call", "add_todo", "{}"], ["tools"], ["mcp"], ["mcp", "--http", "127.0.0.1:0"]]


@pytest.mark.parametrize(
    ("place", "command"), [*((place, ["tools"]) for place in UNUSABLE), *(("a file", command) for command in COMMANDS)]
)
def test_a_data_folder_that_cannot_be_is_a_matter_of_setup(tmp_path: Path, place: str, command: list[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    folders: dict[str, Path | str] = {
        "a file": file,
        "below a file": file / "data",
        "a loop": loop / "data",
        "too long": tmp_path / ("x" * 300),
        "nobody's home": "~no-such-user-here/data",
    }

    refused(madang(folders[place], *command))


def test_a_database_file_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "madang.db").write_text("my notes " * 1000)

    result = madang(tmp_path, "call", "get_current_state")

    assert result.returncode == 1
    assert "not a database" in result.stdout
    assert "Traceback" not in result.stderr
    assert (tmp_path / "madang.db").read_text() == "my notes " * 1000


NO_ADDRESSES = [
    "", "8321", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", ":80", "127.0.0.1:1:1",
    "127.0.0.1:" + "1" * 5000,
]  # fmt: skip
OTHER_MACHINES = ["0.0.0.0:0", "[::]:0", "192.168.0.1:0", "example.org:80", "127.0.0.1.example.org:0", "*:0"]


@pytest.mark.parametrize("text", [*NO_ADDRESSES, *OTHER_MACHINES], ids=lambda text: text[:20])
def test_t40_an_address_that_is_none_or_of_another_machine_is_refused(text: str) -> None:
    with pytest.raises(SetupError):
        parse_address(text)


@pytest.mark.parametrize("text", ["127.0.0.1:0", "localhost:8321", "[::1]:65535"])
def test_addresses_of_this_machine_are_taken(text: str) -> None:
    host, port = parse_address(text)
    assert f"[{host}]:{port}" == text if ":" in host else f"{host}:{port}" == text


def test_a_wrong_address_is_said_in_one_line(tmp_path: Path) -> None:
    refused(madang(tmp_path, "mcp", "--http=127.0.0.1:x"), "HOST:PORT")
    refused(madang(tmp_path, "mcp", "--http", "0.0.0.0:0"), "only to this machine")


def test_a_port_in_use_is_said_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused(madang(tmp_path, "mcp", "--http", f"127.0.0.1:{port}"), str(port), "0 takes a free one")


@pytest.mark.parametrize(
    "text", ["broken [", 'nonsense = "x"', "locale = 5", 'locale = "xx"', "\x00", '[assistants.a]\nservices = ["no"]']
)
def test_a_config_file_that_is_wrong_is_said_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)

    refused(madang(tmp_path, "tools"))


def test_wrong_use_of_options_is_told_by_the_parser(tmp_path: Path) -> None:
    for arguments in (["call"], ["nonsense"], ["tools", "--nonsense"]):
        result = madang(tmp_path, *arguments)
        assert result.returncode == 2
        assert "usage:" in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", [["tools"], ["doctor"]])
def test_a_reader_that_went_away_is_no_error(tmp_path: Path, arguments: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "madang", *arguments],
            env={**os.environ, "MADANG_DATA_DIR": str(tmp_path), "PYTHONUNBUFFERED": ""},
            stdout=write_end,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    finally:
        os.close(write_end)

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_show_korean_breaks_nothing(tmp_path: Path, encoding: str) -> None:
    result = madang(
        tmp_path, "call", "add_todo", r'{"name": "\uBE68\uB798"}', environment={"PYTHONIOENCODING": encoding}
    )

    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    assert "빨래" in madang(tmp_path, "call", "get_current_state").stdout


def test_the_doctor_finds_nothing_where_all_is_well(tmp_path: Path) -> None:
    result = madang(tmp_path / "new", "doctor")

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("All checks passed.\n")
    assert "FAIL" not in result.stdout


def test_the_doctor_tells_how_to_close_a_folder_that_others_can_read(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)

    result = madang(folder, "doctor")

    assert result.returncode == 1
    assert "(mode 755)" in result.stdout
    assert f"chmod 700 '{folder}'" in result.stdout
    folder.chmod(0o700)
    assert madang(folder, "doctor").returncode == 0
    assert stat.S_IMODE((folder / "madang.db").stat().st_mode) == 0o600


def test_the_doctor_finds_a_file_that_is_no_database(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "madang.db").write_text("my notes " * 1000)

    result = madang(tmp_path, "doctor")

    assert result.returncode == 1
    assert "FAIL  Database: " in result.stdout
    assert "restore" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_the_doctor_finds_a_database_that_is_broken_inside(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    for number in range(3):
        step = {"description": "x" * 3000}
        document = json.dumps({"madangPlaybooks": 1, "playbooks": [{"goal": f"g{number}", "workflow": [step] * 20}]})
        assert (
            madang(tmp_path, "call", "import_playbooks", "-", stdin=json.dumps({"document": document})).returncode == 0
        )
    file = tmp_path / "madang.db"
    data = bytearray(file.read_bytes())
    for page in range(4, len(data) // 4096):
        data[page * 4096 : page * 4096 + 100] = os.urandom(100)
    file.write_bytes(data)

    result = madang(tmp_path, "doctor")

    assert result.returncode == 1
    assert "FAIL  Database: " in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_the_doctor_says_what_is_wrong_with_the_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")

    result = madang(file, "doctor")

    assert result.returncode == 1
    assert "FAIL  Data folder: " in result.stdout
    assert "--data-dir" in result.stdout


# Who acts


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("at_terminal", "actor"), [(True, "person"), (False, "program")])
def test_a_person_acts_at_a_terminal_and_a_program_elsewhere(tmp_path: Path, at_terminal: bool, actor: str) -> None:
    import pty

    ends = pty.openpty() if at_terminal else os.pipe()
    try:
        command = [sys.executable, "-m", "madang", "call", "add_todo", '{"name": "Look"}', "--data-dir", str(tmp_path)]
        # Of a pipe the first end is read, of a terminal the second is the side of the program.
        result = subprocess.run(command, stdin=ends[1] if at_terminal else ends[0], capture_output=True, timeout=60)
    finally:
        for end in ends:
            os.close(end)

    assert result.returncode == 0, result.stderr
    with closing(sqlite3.connect(tmp_path / "madang.db")) as connection:
        assert connection.execute("SELECT door, actor, decision FROM audit").fetchall() == [("command", actor, "allow")]
