"""Files and functions stay short enough to be read at once: what outgrows that is two things, and is parted by them."""

from __future__ import annotations

import ast
from pathlib import Path

import madang

CODE = Path(madang.__file__).parent
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
LONGER_FILES = {
    "provider/provider.py": 571,  # the one door to services: contexts, resources and prompts are to leave it
}
"""Those that are to be parted still, with how long they may be meanwhile: no longer than they are."""


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    lengths = {str(path.relative_to(CODE)): len(path.read_text("utf-8").splitlines()) for path in CODE.rglob("*.py")}

    assert {name: lines for name, lines in lengths.items() if lines > LONGER_FILES.get(name, MAX_FILE_LINES)} == {}
    assert [name for name in LONGER_FILES if lengths.get(name, 0) <= MAX_FILE_LINES] == []


def test_no_function_is_too_long_to_be_read_at_once() -> None:
    long = [
        f"{path.relative_to(CODE)}: {node.name}"
        for path in CODE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]

    assert long == []
