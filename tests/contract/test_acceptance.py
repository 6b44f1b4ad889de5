"""The table of acceptance lines names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent.parent


def test_every_test_named_in_the_table_exists() -> None:
    named = re.findall(r"`([a-z_/]+\.py)::(test_\w+)`", (TESTS / "README.md").read_text(encoding="utf-8"))

    assert len(named) > 60
    for file, name in named:
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        assert name in functions, f"{file}::{name}"
