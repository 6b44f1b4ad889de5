"""What every test shares."""

from collections.abc import AsyncIterator

import pytest

from tests.asking import Asker, open_asker

pytest_plugins = ["tests.postgresql"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """asyncio only: uvicorn runs on nothing else, so a second backend would test what nobody can use."""
    return "asyncio"


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    """Somebody who asks the built-in services, on a database in memory."""
    async with open_asker() as asker:
        yield asker
