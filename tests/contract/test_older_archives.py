"""An archive of an earlier version is imported whole, and exported again it says the same in the same files.

`tests/stores/fixtures/session-format-1.zip` was made by `make_session_archive.py` beside it, when each store still
read and wrote its rows by statements of its own.
"""

from __future__ import annotations

import json
import re
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.errors import MadangError
from madang.records.pauses import PauseStore
from tests.whole_sessions import open_house

ARCHIVE = Path(__file__).parents[1] / "stores" / "fixtures" / "session-format-1.zip"
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


@pytest.mark.parametrize("back_end", ["disk", "server"])
async def test_a_pause_without_an_end_is_not_open_where_it_comes(back_end: str, tmp_path: Path) -> None:
    """Anybody may have written an archive: it must not ask the person anything."""
    with zipfile.ZipFile(ARCHIVE) as opened, zipfile.ZipFile(tmp_path / "changed.zip", "w") as changed:
        for name in opened.namelist():
            text = opened.read(name).decode()
            changed.writestr(name, re.sub('"settledAt":"[^"]+"', '"settledAt":""', text))
    async with open_house(tmp_path / back_end, back_end) as house:
        with suppress(MadangError):
            await house.madang.session_operations.import_(house.call, tmp_path / "changed.zip")

        assert await PauseStore(house.madang.database).list_open(house.call.user_id, 10) == []
