"""What every test shares."""

import pytest

pytest_plugins = ["tests.postgresql"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """asyncio only: uvicorn runs on nothing else, so a second backend would test what nobody can use."""
    return "asyncio"
