"""The end of a host in which the person has asked to delete everything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HOST = """
import sys, threading
from madang.cli import main, web

def busy():
    while True:
        sum(range(1000))

async def serve(*arguments):
    threading.Thread(target=busy).start()
    return True

web._serve = serve
sys.exit(main(["web", "--no-open"]))
"""


def test_everything_is_deleted_also_while_a_thread_is_busy(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    (data_dir / "workspaces").mkdir(parents=True, mode=0o700)
    (data_dir / "madang.db").write_bytes(b"")
    data_dir.chmod(0o700)

    ended = subprocess.run(
        [sys.executable, "-c", HOST],
        env={**os.environ, "MADANG_DATA_DIR": str(data_dir), "MADANG_LOCALE": "en"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "Deleted" in ended.stdout
    assert not (data_dir / "madang.db").exists()
