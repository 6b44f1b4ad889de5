"""Programs that are only measured against: each in a virtual environment of its own, never in the project's."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def python_with(*requirements: str) -> Path | None:
    """Return a Python that has `requirements`, or None where they cannot be had. What was made is kept for later."""
    name = hashlib.sha256("\n".join([sys.version, *requirements]).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"madang-bench-venv-{name}"
    python = folder / "bin" / "python"
    finished = folder / "finished"
    if not finished.exists():
        print(f"Installing {', '.join(requirements)} into {folder} ...", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], capture_output=True)
        if done.returncode:
            print(f"Left out: {done.stderr.decode().strip().splitlines()[-1][:200]}", file=sys.stderr)
            return None
        finished.touch()
    return python
