"""Where the files of a test's session are."""

from __future__ import annotations

from pathlib import Path

from madang.core.calls import Call
from madang.core.ids import new_id
from madang.files.folders.uploads import SCHEME
from tests.asking import Asker


def folder_of(asker: Asker, call: Call | None = None) -> Path:
    """Return the folder that a session's files are in, as the system sees it; it is made if it is not there."""
    with asker.folders.of(call or asker.call) as session:
        return session.path / "files"


def stage_upload(asker: Asker, data: bytes) -> str:
    """Put bytes where an upload lies that has just come, and return its address."""
    name = f"draft-{new_id()}"
    with asker.folders.of(asker.call) as session:  # swept once, now: what has no lock stays from here on
        (session.path / "temporary" / name).write_bytes(data)
    return f"{SCHEME}{name}"
