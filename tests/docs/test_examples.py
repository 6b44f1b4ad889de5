"""Every example runs, and shows what really comes of it."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from madang.cli import _parser, main
from tests.docs.pages import PAGES, blocks, name_of

WITH_EXAMPLES = [page for page in PAGES if any(block.language == "console" for block in blocks(page))]

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
# What differs from one run or machine to the next.
_VARIES = re.compile(
    r"\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|(?<=Python: )\S+|(?<=SQLite: )\S+|(?<=MCP SDK )[\d.]+"
    r"|\d\d:\d\d(?= \(UTC)|\d+(?= KiB)"
)


@dataclass(slots=True)
class Example:
    """A command of a page, and what the page says about it."""

    command: str
    output: list[str] = field(default_factory=list)
    code: int = 0


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_the_examples_of_a_page_run_in_order_and_print_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in os.environ if name.startswith("MADANG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MADANG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LANG", "ko_KR.UTF-8" if "ko" in page.parts else "C.UTF-8")
    monkeypatch.chdir(tmp_path)
    ids: dict[str, str] = {}
    for example in _examples(page):
        command = _ID.sub(lambda found: ids[found[0]], example.command)

        code = _run(command)

        printed = capsys.readouterr()
        # Ids are new in each run: those of the page stand for those that were printed in the same places.
        ids.update(zip(_ID.findall("\n".join(example.output)), _ID.findall(printed.out), strict=False))
        assert code == example.code, command
        assert re.fullmatch(_pattern(example.output), _plain(printed.out + printed.err)), command


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_that_only_start_something_have_options_that_exist(page: Path) -> None:
    lines = [line for block in blocks(page) if block.language == "sh" for line in block.body.splitlines()]
    for line in lines:
        _, found, arguments = line.rpartition("madang ")
        if found and not line.startswith("pip "):
            _parser().parse_args(shlex.split(arguments.rstrip(')"')))


def _run(command: str) -> int:
    program, *arguments = shlex.split(command)
    assert program == "madang", f"A console block runs madang and nothing else: {command}"
    try:
        return main(arguments)
    except SystemExit as exit:  # argparse ends this way, for --version too
        return int(exit.code or 0)


def _examples(page: Path) -> list[Example]:
    found: list[Example] = []
    asks_for_code = False
    for block in blocks(page):
        for line in block.body.splitlines() if block.language == "console" else ():
            if line == "$ echo $?":
                asks_for_code = True
            elif asks_for_code:
                found[-1].code = int(line)
                asks_for_code = False
            elif line.startswith("$ "):
                found.append(Example(line[2:]))
            elif line.startswith("> ") and not found[-1].output:
                found[-1].command += "\n" + line[2:]
            else:
                found[-1].output.append(line)
    return found


def _plain(text: str) -> str:
    return _VARIES.sub("*", _ID.sub("<id>", text.replace(f"{Path.cwd()}{os.sep}", ""))).strip()


def _pattern(lines: list[str]) -> str:
    """Return what the output must match: these lines, where `...` stands for any number of lines."""
    shown = _plain("\n".join(lines))
    parts = [r"(?:.*\n)*?.*" if line == "..." else re.escape(line) for line in shown.splitlines()]
    return "\n".join(parts)
