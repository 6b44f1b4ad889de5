"""Every file tool with paths that lead out: `python -m tests.security.strolling DATA`, for strace to look on."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.asking import open_asker

WAYS_OUT = [
    "../canary.txt",
    "a/../../canary.txt",
    "/etc/canary-of-madang",
    "~/canary.txt",
    "%2e%2e/canary.txt",
    "..\\canary.txt",
    "",
    "x" * 5_000,
    "link/canary.txt",
    "file:///etc/canary-of-madang",
]
TOOLS: dict[str, Any] = {
    "read_file": lambda path: {"path": path},
    "write_file": lambda path: {"path": path, "content": "x"},
    "edit_file": lambda path: {"path": path, "edits": [{"oldText": "a", "newText": "b"}]},
    "list_directory": lambda path: {"path": path or "../"},
    "search_files": lambda path: {"pattern": "*", "path": path or "../"},
    "grep": lambda path: {"pattern": "a", "path": path or "../"},
    "move_file": lambda path: {"source": path, "target": "b.txt"},
    "delete_file": lambda path: {"path": path},
}
"""The empty path is the folder itself for tools that take one; they get a way up instead."""


async def stroll(data: Path) -> dict[str, set[str]]:
    """Try every way out with every tool, and return the codes of the errors."""
    codes: dict[str, set[str]] = {}
    async with open_asker(data / "madang.db") as asker:
        with asker.folders.of(asker.call) as session:
            (session.path / "files/link").symlink_to(data)
        for tool, arguments in TOOLS.items():
            codes[tool] = {(await asker.ask(tool, **arguments(path))).error_code for path in WAYS_OUT}
        codes["move_file to"] = {
            (await asker.ask("move_file", source="a.txt", target=path)).error_code for path in WAYS_OUT
        }
    return codes


if __name__ == "__main__":
    asyncio.run(stroll(Path(sys.argv[1])))
