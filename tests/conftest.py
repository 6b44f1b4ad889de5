"""What every test shares, and which tests are slow."""

import os
from collections.abc import AsyncIterator

import hypothesis
import pytest

from tests.asking import Asker, open_asker

pytest_plugins = ["tests.postgresql"]

# A busy machine must not fail a test: a ceiling is there against hangs, and says nothing about speed.
hypothesis.settings.register_profile("tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tests")

# The command line speaks the language of the shell; what tests compare is English unless they say otherwise.
for _name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE"):
    os.environ.pop(_name, None)
os.environ["LANG"] = "C.UTF-8"

SLOW_FOLDERS = ("hosts", "crash", "faults", "browser", "conformance", "security", "cli", "storage")
"""Those that start programs, browsers and servers; the longest first."""

SLOW_FILES = ("test_processes.py", "test_children.py", "test_python_guide.py", "test_contract.py", "test_imports.py")

SLOW_PARAMETERS = frozenset(("stdio", "http", "server"))
"""Words in the id of a case: doors with a transport, and PostgreSQL among the back ends."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow. A worker of several takes long files first, so that none is left for the end."""
    for item in items:
        if _is_slow(item):
            item.add_marker("slow")
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


def _is_slow(item: pytest.Item) -> bool:
    if _rank(item) < len(SLOW_FOLDERS) or item.path.name in SLOW_FILES:
        return True
    return bool(SLOW_PARAMETERS & set(item.callspec.id.split("-"))) if hasattr(item, "callspec") else False


def _rank(item: pytest.Item) -> int:
    """Return the place of a test's folder among the slow ones, or the number of these."""
    folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    return SLOW_FOLDERS.index(folder) if folder in SLOW_FOLDERS else len(SLOW_FOLDERS)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """asyncio only: uvicorn runs on nothing else, so a second backend would test what nobody can use."""
    return "asyncio"


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    """Somebody who asks the built-in services, on a database in memory."""
    async with open_asker() as asker:
        yield asker
