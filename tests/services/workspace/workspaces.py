"""Where the files of a test's session are."""

from __future__ import annotations

from pathlib import Path

from madang.core.calls import Call
from tests.asking import Asker


def folder_of(asker: Asker, call: Call | None = None) -> Path:
    """Return the folder that a session's files are in, as the system sees it; it is made if it is not there."""
    with asker.folders.of(call or asker.call) as session:
        return session.path / "files"
