"""A database of each back end, open and closed again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from madang.database.port import Database
from tests.storage.backends import BACK_ENDS, opened


@pytest.fixture(params=BACK_ENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(BACK_ENDS[request.param](tmp_path)) as database:
        yield database
