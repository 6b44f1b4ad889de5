"""An archive of an earlier version is imported whole, and exported again it says the same in the same files.

`tests/stores/fixtures/session-format-1.zip` was made by `make_session_archive.py` beside it, when each store still
read and wrote its rows by statements of its own.
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.whole_sessions import open_house

ARCHIVE = Path(__file__).parents[1] / "storage" / "fixtures" / "session-format-1.zip"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

pytestmark = pytest.mark.anyio


def files_of(archive: Path) -> dict[str, str]:
    """Return the texts of an archive, without ids: rows have new ones in each place."""
    with zipfile.ZipFile(archive) as opened:
        return {name: _ID.sub("#", opened.read(name).decode()) for name in opened.namelist()}


@pytest.mark.parametrize("back_end", ["disk", "server"])
async def test_an_earlier_archive_comes_and_leaves_as_it_was(back_end: str, tmp_path: Path) -> None:
    earlier = files_of(ARCHIVE)
    async with open_house(tmp_path / back_end, back_end) as house:
        operations = house.madang.session_operations
        imported = await operations.import_(replace(house.call, session_id=None), ARCHIVE)
        await operations.export(replace(house.call, session_id=imported.id), tmp_path / "again.zip")

    again = files_of(tmp_path / "again.zip")

    assert imported.is_tainted
    assert list(again) == list(earlier)
    session = json.loads(earlier.pop("session.json"))
    assert json.loads(again.pop("session.json")) == session | {"isTainted": True}
    assert again == earlier
