"""The log and the terminal: text from outside begins no line and carries no controls."""

from __future__ import annotations

import ast
import json
import logging
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

import madang
from madang.cli import main
from madang.cli.logs import InertFormatter
from madang.cli.serve import how_to_connect
from madang.core.results import Reply
from madang.provider.provider import Provider
from madang.settings import Settings
from tests.security.served import serve

HOSTILE = "a\nForged: a line\x1b[2J\u202e\x9b\x1b]8;;http://x\x07\u200b\u2066\u2028"
HIDDEN = "\u200b\u200e\u200f\u2060\ufeff"


def is_inert(text: str) -> bool:
    is_ours = not any(line.startswith("Forged: a line") for line in text.splitlines())
    return is_ours and not any(map(is_control, text))


def is_control(character: str) -> bool:
    is_direction = "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"
    is_named = unicodedata.category(character) in ("Cc", "Zl", "Zp") and character not in "\n\t"
    return is_named or is_direction or character in HIDDEN


def test_a_record_is_one_line_and_its_traceback_is_indented() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed: %s", (HOSTILE,), sys.exc_info())

    first, *traceback = InertFormatter("%(levelname)s %(message)s").format(record).splitlines()

    assert first == snapshot(
        "ERROR failed: a Forged: a line\\u001b[2J\\u202e\\u009b\\u001b]8;;http://x\\u0007\\u200b\\u2066 "
    )
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
        main(["doctor", f"--{HOSTILE}"])

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


def test_the_token_is_told_once_and_stands_in_nothing_to_be_pasted() -> None:
    told = how_to_connect(Settings(Path("/data")), "127.0.0.1", 8321, token := "t" * 32)

    assert [line for line in told.splitlines() if token in line] == [
        f"Token (new at each start; 'madang token' keeps one): {token}"
    ]


QUOTING: dict[str, tuple[str, dict[str, Any]]] = {
    "goal": ("create_goal", {"goal": HOSTILE}),
    "todo": ("add_todo", {"name": HOSTILE}),
    "question": ("prompt_user", {"prompt": HOSTILE, "type": "text"}),
    "content": ("add_content", {"storeId": "", "content": HOSTILE, "metadata": {"filename": HOSTILE}}),
    "id": ("get_playbook", {"id": HOSTILE}),
    "path": ("read_file", {"path": HOSTILE}),
    "file": ("write_file", {"path": "a.txt", "content": HOSTILE}),
    "argument": ("add_todo", {HOSTILE: HOSTILE}),
}


@pytest.mark.parametrize("kind", QUOTING)
@pytest.mark.parametrize(
    "options", [[], ["--json"], ["--locale", "ko"]], ids=lambda options: " ".join(options) or "text"
)
def test_what_a_tool_quotes_reaches_no_terminal_with_controls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, options: list[str]
) -> None:
    tool, arguments = QUOTING[kind]

    assert main(["call", tool, json.dumps(arguments), *options, "--data-dir", str(tmp_path)]) in (0, 1)

    output = capsys.readouterr()
    assert is_inert(output.out + output.err)
    if options == ["--json"]:
        json.loads(output.out)


def test_what_a_tool_forgets_to_make_inert_is_inert_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(*_: object) -> Reply:
        return Reply(
            "draw", "chart", "[draw] red\x1b[31m\tred\r\nnext\x9b\u202e\u200b \x1b]0;title\x07", {HOSTILE: HOSTILE}
        )

    monkeypatch.setattr(Provider, "execute_tool", answer)

    main(["call", "draw", "--data-dir", str(tmp_path)])
    assert capsys.readouterr().out == snapshot("""\
[draw] red\\u001b[31m	red
next\\u009b\\u202e\\u200b \\u001b]0;title\\u0007
""")
    main(["call", "draw", "--json", "--data-dir", str(tmp_path)])
    assert capsys.readouterr().out == snapshot("""\
{
  "a\\nForged: a line\\u001b[2J\\u202e\\u009b\\u001b]8;;http://x\\u0007\\u200b\\u2066\\u2028": "a\\nForged: a line\\u001b[2J\\u202e\\u009b\\u001b]8;;http://x\\u0007\\u200b\\u2066\\u2028"
}
""")


EVERY_LOGGER = """
import asyncio, logging, sys, threading, warnings
from madang.cli.logs import configure_logging, log_uncaught_errors

HOSTILE = {hostile!r}
log_uncaught_errors()
configure_logging(is_verbose=True)

def fail():
    raise ValueError(HOSTILE)

class Unraisable:
    def __del__(self):
        fail()

async def forget():
    asyncio.get_running_loop().call_exception_handler({{"message": HOSTILE, "exception": ValueError(HOSTILE)}})

for name in ("madang.x", "uvicorn.error", "mcp.server", "apsw", HOSTILE):
    logging.getLogger(name).error("%s", HOSTILE, stack_info=True)
warnings.warn(HOSTILE)
thread = threading.Thread(target=fail, name=HOSTILE)
thread.start()
thread.join()
Unraisable()
asyncio.run(forget())
logging.getLogger("madang").error("x" * 100_000)
fail()
"""


def test_the_log_of_every_library_and_what_python_itself_says_is_inert() -> None:
    command = [sys.executable, "-c", EVERY_LOGGER.format(hostile=HOSTILE)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert result.returncode == 1
    assert is_inert(result.stderr)
    starts = [line for line in result.stderr.splitlines() if not line.startswith("    ")]
    assert all(re.match(r"\d{4}-\d\d-\d\d \S+ (WARNING|ERROR|CRITICAL) ", line) for line in starts), starts
    assert len(starts) == 11
    assert max(map(len, starts)) <= 4_000


def test_the_log_of_the_http_server_is_ours(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        served.send(b"nonsense\x1b[2J\r\n\r\n")

    lines = (tmp_path / "stderr.txt").read_text().splitlines()
    assert any(line.endswith("WARNING uvicorn.error: Invalid HTTP request received.") for line in lines), lines


# The home of output

SOURCES = Path(madang.__file__).parent
HOMES = ("cli/terminal.py", "cli/screen.py", "cli/logs.py")
STREAMS = {
    "cli/__init__.py": {"stdout"},  # flushed where a failure can still be told
    "cli/streams.py": {"stdin", "stdout", "stderr"},  # their encoding, and output that cannot be written
    "cli/shutdown.py": {"stdout", "stderr"},  # flushed before the process ends at once
    "cli/answer.py": {"stdin"},
    "cli/assistants.py": {"stdin"},
    "cli/attachments.py": {"stdin"},
    "cli/line_input.py": {"stdin"},
    "cli/models.py": {"stdin"},
    "cli/tools.py": {"stdin"},
    "host/recent_log.py": {"logging.Handler"},  # keeps lines for a report, and writes nothing
    "services/content/engine/parsing/child/process.py": {"stdin", "stdout"},  # pipes to the parent, not a terminal
    "system/child_process.py": {"stdin", "stdout"},  # as above
    "records/analysis/analyzer_child.py": {"stdin", "stdout"},  # as above
}


def bypasses(path: Path) -> Iterator[str]:
    """Yield what writes to standard output or error in a file, or makes a log of its own."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield "print"
        if isinstance(node, ast.Attribute):
            source = ast.unparse(node)
            if source in ("sys.stdin", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"):
                yield node.attr.strip("_")
            if re.fullmatch(
                r"traceback\.print_\w+|warnings\.showwarning|logging\.\w*(Handler|Config|config)\b.*", source
            ):
                yield source


def test_nothing_is_printed_or_logged_but_through_the_home_of_output() -> None:
    files = {path.relative_to(SOURCES).as_posix(): path for path in SOURCES.rglob("*.py")}

    found = {name: set(bypasses(path)) for name, path in files.items() if name not in HOMES}

    assert {name: kinds for name, kinds in found.items() if kinds} == STREAMS
    assert all(set(bypasses(files[home])) for home in HOMES), "the search finds what it looks for"
