"""The programs of the Python guide run in order, as they are printed, and print what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, blocks

GUIDE = ROOT / "docs/guides/python.md"


def test_the_programs_of_the_guide_print_what_it_shows(tmp_path: Path) -> None:
    shown = [block for block in blocks(GUIDE) if block.language in ("python", "text")]
    programs, outputs = shown[::2], shown[1::2]
    assert [block.language for block in shown] == ["python", "text"] * len(programs)
    assert len(programs) == 5
    # Where this Python is, there is the command that the package installs.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for program, output in zip(programs, outputs, strict=True):
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-c", program.body],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ran.stdout, ran.stderr) == (output.body, ""), program.heading
