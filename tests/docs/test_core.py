"""The program of the page about the core runs, prints what the page shows, and is what the page quotes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs/core.md"
PROGRAM = ROOT / "docs/examples/follow_a_run.py"
MAX_LINES = 60

pytestmark = pytest.mark.slow


def test_the_program_prints_what_the_page_shows(tmp_path: Path) -> None:
    (shown,) = [block.body for block in blocks(PAGE) if block.language == "text"]

    ran = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM), str(tmp_path / "data")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, shown, "")


def test_what_the_page_quotes_is_in_the_program_which_is_short() -> None:
    program = PROGRAM.read_text(encoding="utf-8")
    quoted = [block.body for block in blocks(PAGE) if block.language == "python"]

    assert len(quoted) == 2
    assert [body for body in quoted if body not in program] == []
    assert len(program.splitlines()) <= MAX_LINES
