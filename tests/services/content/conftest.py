"""The content service on each back end."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.asking import Asker
from tests.services.content.contents import BACK_ENDS, open_content


@pytest.fixture(params=BACK_ENDS)
async def asker(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Asker]:
    async with open_content(tmp_path, request.param) as asker:
        yield asker
