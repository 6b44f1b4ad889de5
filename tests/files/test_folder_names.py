"""Names in folders that are longer in one spelling than in another."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folders

CALL = Call(AssistantId("test-agent"), SessionId("test-session"))


def test_a_long_name_in_hangul_can_be_new(tmp_path: Path) -> None:
    """In parts it would be longer than the file system takes, so there is nothing under that spelling."""
    name = "긴" * 80
    assert len(unicodedata.normalize("NFD", name).encode()) > 255

    with Folders(tmp_path).of(CALL) as session:
        made = session.files.write(f"{name}/{name}", [b"x"], mode="create")

        assert session.files.entry(f"{name}/{name}") == made
