"""Floods of one session: its own calls may wait or be refused, those of another are answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from anyio import fail_after

from madang.core.ids import SessionId
from madang.core.results import Reply
from tests.asking import Asker, open_asker

WITHIN_S = 5
"""A ceiling for a busy machine: what must not be waited for takes longer. `benchmarks floods` has the figures."""
OUTCOMES = {"", "invalid_arguments", "limit_exceeded", "unavailable", "not_found", "conflict", "out_of_range"}
"""What a call in a flood may be answered with: never that it timed out, nor an internal error."""

MIXED_LINES = "\r\n" * 2_000_000 + "\n"


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with open_asker() as asker:
        yield asker


def deep_file(asker: Asker) -> None:
    asker.keep_file("a/" * 60 + "f")


def many_files(asker: Asker) -> None:
    with asker.folders.of(asker.call) as session:
        for number in range(3_000):
            (session.path / "files" / f"q{number}q").touch()


def mixed_text(asker: Asker) -> None:
    asker.keep_file("mixed.txt", (MIXED_LINES + "end").encode())


def nothing(_: Asker) -> None:
    """Needs nothing to be there."""


def edit(number: int) -> dict[str, str]:
    return {"oldText": f"end{'!' * number}", "newText": f"\nend{'!' * (number + 1)}"}


FLOODS: dict[str, tuple[Callable[[Asker], None], str, dict[str, Any], int]] = {
    "a number in base 60": (nothing, "import_playbooks", {"document": "madangPlaybooks: 1" + ":1" * 1_000_000}, 8),
    "many directives": (nothing, "import_playbooks", {"document": "%TAG !a! b\n" * 190_000}, 8),
    "a long flat list": (nothing, "import_playbooks", {"document": "[1" + ",1" * 1_000_000 + "]"}, 8),
    "a long flat list in JSON": (nothing, "import_playbooks", {"document": '{"a":[1' + ",1" * 1_000_000 + "]}"}, 8),
    "many folders in a glob": (
        deep_file,
        "search_files",
        {"pattern": "{" + "," * 63 + "}" + "**/" * 630 + "x"},
        8,
    ),
    "many parts in a glob": (
        deep_file,
        "search_files",
        {"pattern": "{" + ",".join(map(str, range(60))) + "}/" + "**/?/" * 350 + "x"},
        8,
    ),
    "searches over many names": (many_files, "search_files", {"pattern": "*q*q*q*q*"}, 40),
    "listings of many names": (many_files, "list_directory", {"depth": 64, "offset": 10**9}, 40),
    "edits among both line ends": (
        mixed_text,
        "edit_file",
        {"path": "mixed.txt", "edits": [*map(edit, range(100))]},
        6,
    ),
    "searches in a long text": (mixed_text, "grep", {"pattern": "(a|b)*c$"}, 40),
    "large packages": (mixed_text, "export_zip", {"files": ["."]}, 20),
    "more calls than the queue holds": (nothing, "list_directory", {}, 400),
}


@pytest.mark.parametrize(("prepare", "tool", "arguments", "count"), FLOODS.values(), ids=FLOODS)
async def test_a_flood_of_one_session_leaves_another_its_answers(
    asker: Asker, prepare: Callable[[Asker], None], tool: str, arguments: dict[str, Any], count: int
) -> None:
    prepare(asker)
    other = asker.with_call(session_id=SessionId("another"))
    await other.done("write_file", path="a.txt", content="x")
    flood = [asyncio.create_task(asker.ask(tool, **arguments)) for _ in range(count)]
    await asyncio.sleep(0.1)

    for _ in range(3):
        with fail_after(WITHIN_S):
            await other.done("read_file", path="a.txt")
        with fail_after(WITHIN_S):
            await other.done("get_current_state")

    replies: list[Reply] = await asyncio.gather(*flood)
    assert {reply.error_code or "" for reply in replies} <= OUTCOMES, {reply.text for reply in replies}


async def test_a_flood_over_many_sessions_leaves_another_its_reads(asker: Asker) -> None:
    deep_file(asker)
    other = asker.with_call(session_id=SessionId("another"))
    await other.done("write_file", path="a.txt", content="x")
    sessions = [asker.with_call(session_id=SessionId(f"guest {number}")) for number in range(30)]
    flood = [
        asyncio.create_task(
            session.ask("import_playbooks", document=json.dumps({"playbooks": [1] * 90_000, "madangPlaybooks": 1}))
        )
        for session in sessions
    ]
    await asyncio.sleep(0.1)

    with fail_after(WITHIN_S):
        await other.done("read_file", path="a.txt")

    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)
