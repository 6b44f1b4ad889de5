"""How people and clients come in: plain `madang`, options in any place, slips, the language of the shell, the token."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from madang.cli import main
from madang.cli.completion import completion_script
from madang.cli.launcher import launch_command
from madang.cli.logs import configure_logging
from madang.cli.serve import how_to_connect
from madang.database.sqlite.database import SqliteDatabase
from madang.services import builtin_services, prebuilt_schemas
from madang.settings import Settings, environment_locale, read_settings
from tests.asking import NO_FOLDERS

TIMEOUT_S = 60
GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
HANGUL = re.compile("[가-힣]")
OFFERED = [
    tool.name
    for service in builtin_services(SqliteDatabase(None), NO_FOLDERS)
    for tool in service.tools
    if tool.audience != "panel"
]
"""The tools of a terminal: those of panels are for the chat."""


def madang(*arguments: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "madang", *arguments],
        env={**os.environ, **variables},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


# Without a command


@pytest.mark.parametrize("options", [[], ["--locale", "ko"], ["--services", "planning", "--ui", "off"]], ids=str)
def test_a_client_that_names_no_command_gets_an_mcp_server(tmp_path: Path, options: list[str]) -> None:
    result = madang(*options, stdin=json.dumps(GREETING) + "\n", MADANG_DATA_DIR=str(tmp_path))

    assert result.returncode == 0
    (line,) = result.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "madang"
    assert result.stderr == ""


def test_a_socket_is_a_client_too_as_node_starts_its_servers(tmp_path: Path) -> None:
    import socket

    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(json.dumps(GREETING).encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)
        result = subprocess.run(
            [sys.executable, "-m", "madang", "--data-dir", str(tmp_path)],
            stdin=theirs.fileno(),
            capture_output=True,
            timeout=TIMEOUT_S,
        )

    assert json.loads(result.stdout)["result"]["serverInfo"]["name"] == "madang"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "Madang: http://127.0.0.1:"),
        (["--no-open", "--port", "0"], "Madang: http://127.0.0.1:"),
        (["--http", "127.0.0.1:0"], "Madang serves MCP at http://127.0.0.1:"),
        (["mcp"], "Madang waits for an MCP client on standard input."),
    ],
    ids=str,
)
def test_a_person_in_a_terminal_gets_the_chat_and_is_told_what_happens(
    tmp_path: Path, words: list[str], expected: str
) -> None:
    import pty

    master, terminal = pty.openpty()
    try:
        assert expected in first_line(words, tmp_path, stdin=terminal)
    finally:
        os.close(master)
        os.close(terminal)


def test_a_service_that_names_no_command_serves_mcp_over_http() -> None:
    code = "from madang.cli import _parse; print(_parse([], 'en').http)"
    result = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )

    assert result.stdout.strip() == "127.0.0.1:8321"


def test_a_service_serves_the_chat_if_an_option_of_it_is_given(tmp_path: Path) -> None:
    words = ["--no-open", "--port", "0"]

    assert "Madang: http://127.0.0.1:" in first_line(words, tmp_path, stdin=subprocess.DEVNULL)


def first_line(words: list[str], folder: Path, stdin: int) -> str:
    """Start a server, end it, and return the first line that it prints to standard output or error."""
    variables = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    with subprocess.Popen(
        [sys.executable, "-m", "madang", *words],
        env={**variables, "MADANG_DATA_DIR": str(folder)},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, b"")
            return next((line for line in map(bytes.decode, lines) if not line.startswith("Another program")), "")
        finally:
            process.terminate()
            process.communicate(timeout=TIMEOUT_S)


def test_nothing_of_the_other_commands_is_imported_to_serve() -> None:
    code = (
        "import sys; from madang.cli import _parse; _parse(['mcp'], 'en');"
        "print(*sorted(name for name in sys.modules if name.startswith('madang.cli')))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.split() == [
        "madang.cli",
        "madang.cli.agent_options",
        "madang.cli.language",
        "madang.cli.logs",
        "madang.cli.one_line_parser",
        "madang.cli.parser",
        "madang.cli.session_options",
        "madang.cli.streams",
        "madang.cli.terminal",
    ]


# Options and slips


def test_options_stand_before_the_command_or_after_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = ["--data-dir", str(tmp_path), "--session", "one"]
    assert main([*before, "call", "add_todo", '{"name": "Look"}']) == 0
    assert main(["call", "get_current_state", *before]) == 0
    assert "Look" in capsys.readouterr().out
    # The one after the command wins.
    assert main([*before, "call", "get_current_state", "--session", "two"]) == 0
    assert "Look" not in capsys.readouterr().out


def test_folders_of_both_places_are_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    for name in ("one", "two"):
        words = ["call", "import_file", json.dumps({"source": str(tmp_path / name / "a.txt"), "path": f"{name}.txt"})]
        folders = ["--allow-folder", str(tmp_path / "one")], ["--allow-folder", str(tmp_path / "two")]
        assert main([*folders[0], *words, *folders[1], "--data-dir", str(tmp_path / "data")]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (["tool"], "Did you mean 'tools'?"),
        (["sessions", "exprot"], "Did you mean 'export'"),
        (["tools", "--jsno"], "Did you mean '--json'?"),
        (["doctor", "--data_dir", "x"], "Did you mean '--data-dir'?"),
        (["hlep"], "Did you mean 'help'?"),
        (["entirely-else"], "There are: mcp, call, tools"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(
    words: list[str], suggestion: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit:
        main(words)

    assert exit.value.code == 2
    assert suggestion in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["sessions"], ["sessions", "copy"], ["backup"]], ids=str)
def test_help_is_a_command_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for spelling in (["help", *words], [*words, "--help"]):
        with pytest.raises(SystemExit) as exit:
            main(spelling)
        assert exit.value.code == 0
        printed.append(capsys.readouterr().out)

    assert printed[0] == printed[1]
    assert " ".join(["madang", *words]) in printed[0]


@pytest.mark.parametrize(("group", "empty"), [("sessions", "no sessions yet"), ("assistants", "No assistant")])
def test_a_group_without_an_action_lists_and_says_when_there_is_nothing(
    tmp_path: Path, group: str, empty: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ["--data-dir", str(tmp_path)]
    assert main([group, *folder]) == 0
    assert empty in capsys.readouterr().out
    assert main(["call", "add_todo", '{"name": "Look"}', *folder]) == 0
    assert main(["assistants", "grant", "default", "planning", *folder]) == 0
    capsys.readouterr()

    assert main([group, *folder]) == 0
    listed = capsys.readouterr().out
    assert main([group, "list", *folder]) == 0

    assert "default" in listed
    assert listed == capsys.readouterr().out


@pytest.mark.parametrize("words", [["call", "add_tod"], ["tools", "add_tod"]])
def test_the_slip_of_a_tool_too(tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--data-dir", str(tmp_path)]) == 2

    assert "Did you mean 'add_todo'?" in capsys.readouterr().err


def test_a_tool_of_the_panels_is_not_offered_in_its_own_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tools", "upload_file", "--data-dir", str(tmp_path)]) == 2

    assert "Did you mean 'upload_file'" not in capsys.readouterr().err


# Tools and doctor


@pytest.mark.parametrize("tool", sorted(OFFERED))
def test_every_tool_is_explained_with_its_arguments(
    tmp_path: Path, tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tools", tool, "--data-dir", str(tmp_path)]) == 0

    output = capsys.readouterr().out
    assert output.startswith(f"{tool}\n  ")
    schema = prebuilt_schemas()[tool]["input"]
    assert [name for name in schema["properties"] if not re.search(rf"^{name} ", output, re.MULTILINE)] == []
    example = output.splitlines()[-1]
    assert example.startswith(f"madang call {tool}")
    arguments = json.loads(example.partition("'")[2].rstrip("'") or "{}")
    assert list(arguments) == schema.get("required", [])


def test_tools_are_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--json", "--data-dir", str(tmp_path)]) == 0
    tools = json.loads(capsys.readouterr().out)
    assert [tool["name"] for tool in tools] == OFFERED
    assert main(["tools", "planning__add_todo", "--json", "--data-dir", str(tmp_path)]) == 0

    tool = json.loads(capsys.readouterr().out)
    assert tool == next(one for one in tools if one["name"] == "add_todo")
    assert tool["inputSchema"] == prebuilt_schemas()["add_todo"]["input"]


def test_the_doctor_prints_json_for_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    assert main(["doctor", "--json", "--data-dir", str(folder)]) == 0

    report = json.loads(capsys.readouterr().out)
    checks = {check["check"]: check for check in report["checks"]}
    assert report["ok"]
    assert checks["madang"]["result"].startswith(report["version"])
    assert {"settings", "command", "database", "service-playbook", "start"} <= set(checks)


def test_the_doctor_finds_that_a_client_cannot_start_madang(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madang.cli.doctor.launch_command", lambda: [sys.executable, "-c", "print('no')"])

    assert main(["doctor", "--data-dir", str(tmp_path / "data")]) == 1

    assert "FAIL  Start by a client: no answer" in capsys.readouterr().out


def test_a_database_that_has_no_address_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--database", "nonsense://x", "--data-dir", str(tmp_path / "data")]) == 1

    output = capsys.readouterr().out
    assert "FAIL  Database server: " in output
    assert output.count("FAIL") == 1
    assert output.endswith("1 check(s) failed.\n")


def test_a_missing_driver_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "madang.database.postgresql.database", None)

    assert main(["doctor", "--database", "postgresql://x@127.0.0.1:1/x", "--data-dir", str(tmp_path / "data")]) == 1

    assert "pip install 'madang[postgresql]'" in capsys.readouterr().out


def test_an_answer_that_says_the_reason_is_not_preceded_by_a_log(tmp_path: Path) -> None:
    (tmp_path / "madang.db").write_text("my notes " * 1000)

    result = madang("call", "get_current_state", MADANG_DATA_DIR=str(tmp_path))

    assert result.returncode == 1
    assert "not a database" in result.stdout
    assert result.stderr == ""


def test_the_log_of_such_a_command_still_has_what_nobody_expected(capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    root = logging.getLogger()
    handlers = root.handlers[:]
    root.handlers.clear()
    try:
        configure_logging(is_verbose=False, tells_reasons=True)
        logger = logging.getLogger("madang.provider.lifecycle")
        logger.error("Service x cannot be opened", exc_info=False)
        try:
            raise ValueError("a bug")
        except ValueError:
            logger.exception("Service y cannot be opened")
    finally:
        root.handlers[:] = handlers

    assert "Service x" not in (output := capsys.readouterr().err)
    assert "a bug" in output


# Language


@pytest.mark.parametrize(
    ("variables", "locale"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "ko_KR.eucKR"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": ""}, "ko"),
        ({"LANG": "kok_IN"}, "en"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
    ],
)
def test_the_language_is_that_of_the_shell(variables: dict[str, str], locale: str, tmp_path: Path) -> None:
    assert environment_locale(variables) == locale
    assert read_settings(variables, data_dir=str(tmp_path)).locale == locale
    assert read_settings({**variables, "MADANG_LOCALE": "en"}, data_dir=str(tmp_path)).locale == "en"
    assert read_settings(variables, data_dir=str(tmp_path), locale="ko").locale == "ko"


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["call", "--help"],
        ["sessions", "import", "--help"],
        ["call"],
        ["nonsense"],
        ["tools", "--nonsense"],
        ["call", "no_such_tool"],
        ["tools", "add_todo"],
        ["doctor"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("way", ["LANG", "--locale"])
def test_the_command_line_speaks_korean(
    words: list[str], way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADANG_DATA_DIR", str(tmp_path / "data"))
    options = ["--locale", "ko"] if way == "--locale" else []
    if way == "LANG":
        monkeypatch.setenv("LANG", "ko_KR.UTF-8")
    with suppress(SystemExit):
        main([*options, *words])

    captured = capsys.readouterr()
    assert HANGUL.search(captured.out + captured.err)
    for english in ("usage:", "options:", "error:", "passed", "Arguments", "required"):
        assert english not in captured.out + captured.err
    assert "LANGUAGE" not in os.environ


def test_a_server_tells_in_korean_how_to_connect() -> None:
    text = how_to_connect(Settings(Path("/data"), locale="ko"), "127.0.0.1", 8321, "t" * 32)

    english = [line for line in text.splitlines() if re.match(r"[A-Za-z]", line) and not HANGUL.search(line)]
    assert [line for line in english if not line.startswith("MCP Inspector:")] == []


@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "POSIX"}], ids=str)
def test_korean_is_written_as_utf_8_whatever_the_shell_says(tmp_path: Path, variables: dict[str, str]) -> None:
    result = madang("call", "get_current_state", "--locale", "ko", MADANG_DATA_DIR=str(tmp_path), **variables)

    assert HANGUL.search(result.stdout)
    assert "\\u" not in result.stdout


# The token


def test_the_token_is_made_once_and_kept_for_its_owner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def token(*words: str) -> str:
        assert main(["token", *words, "--data-dir", str(tmp_path / "data")]) == 0
        return capsys.readouterr().out.strip()

    first = token()
    assert token() == first
    assert stat.S_IMODE((tmp_path / "data/token").stat().st_mode) == 0o600
    second = token("--new")
    assert second not in ("", first)
    assert token() == second
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["token"]


def test_the_variable_wins_over_the_token_that_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADANG_TOKEN", "x" * 20)
    folder = ["--data-dir", str(tmp_path)]

    assert main(["token", *folder]) == 0
    assert capsys.readouterr().out == "x" * 20 + "\n"
    assert not (tmp_path / "token").exists()
    assert main(["token", "--new", *folder]) == 2


@pytest.mark.parametrize("content", [b"short", b"", b"with a space in it, long", b"\xff" * 40])
def test_a_file_that_holds_no_token_is_said(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_bytes(content)

    assert main(["token", "--data-dir", str(tmp_path)]) == 2
    assert "'madang token --new' makes a new one." in capsys.readouterr().err
    assert main(["token", "--new", "--data-dir", str(tmp_path)]) == 0


# Set-up


def test_an_empty_home_does_not_put_data_into_the_root_folder() -> None:
    result = madang("tools", HOME="", XDG_DATA_HOME="", MADANG_DATA_DIR="")

    assert result.returncode == 2
    assert "There is no home folder" in result.stderr
    assert "--data-dir" in result.stderr
    assert madang("--help", HOME="", XDG_DATA_HOME="").returncode == 0


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_of_somebody_else_is_named_and_not_a_file_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o000)
    try:
        result = madang("tools", MADANG_DATA_DIR=str(folder))
    finally:
        folder.chmod(0o700)

    assert f"The data folder {folder} cannot be used" in result.stderr


def test_a_client_is_given_a_command_that_runs_from_any_folder(tmp_path: Path) -> None:
    command = launch_command()

    assert Path(command[0]).is_absolute()
    result = subprocess.run([*command, "--version"], cwd=tmp_path, capture_output=True, text=True, env={})
    assert result.stdout.startswith("madang ")


# Completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_one_that_the_shell_takes(shell: str, tmp_path: Path) -> None:
    script = completion_script(shell)

    assert "add_todo" in script
    assert "--data-dir" in script
    if program := shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(script)
        assert subprocess.run([program, "-n", str(path)], capture_output=True).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("madang doc", ["doctor"]),
        ("madang sessions ex", ["export"]),
        ("madang --locale k", ["ko"]),
        ("madang --locale ko tools add_t", ["add_todo"]),
        ("madang call create_g", ["create_goal"]),
        ("madang doctor --js", ["--json"]),
    ],
)
def test_bash_offers_what_can_come_next(typed: str, offered: list[str]) -> None:
    words = typed.split()
    script = (
        f"{completion_script('bash')}\n"
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _madang; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )

    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)

    assert result.stdout.split() == offered
