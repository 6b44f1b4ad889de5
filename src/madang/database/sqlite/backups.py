"""Copies of the database file as it was before its tables change: a migration that went wrong must not be the end."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import apsw

from madang.system.clock import now

MAX_BACKUP_S = 3600


def back_up(source: apsw.Connection, path: Path) -> None:
    """Copy the database at `path`, which `source` has open, to a file beside it that is named after the moment."""
    _clear_left_overs(path)
    stamp = now().strftime("%Y%m%dT%H%M%S%f")
    part = path.with_name(f"{path.name}.part-{stamp}")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        source.execute("VACUUM INTO ?1", (str(part),))
        # Only now it gets its name: half a backup, as a killed process leaves it, would look like one.
        part.rename(path.with_name(f"{path.name}.before-{stamp}"))
    finally:
        part.unlink(missing_ok=True)


def _clear_left_overs(path: Path) -> None:
    """Remove unfinished backups that are so old that no process is still writing them."""
    for part in path.parent.glob(f"{path.name}.part-*"):
        with suppress(OSError):
            if part.stat().st_mtime < time.time() - MAX_BACKUP_S:
                part.unlink()
