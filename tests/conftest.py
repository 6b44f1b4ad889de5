"""What every test shares, and which tests are slow."""

import gc
import os
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path, PurePath

import hypothesis
import pytest

from tests.asking import Asker, open_asker

pytest_plugins = ["tests.postgresql", "tests.backends"]

# A busy machine must not fail a test: a ceiling is there against hangs, and says nothing about speed.
hypothesis.settings.register_profile("tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tests")

# The command line speaks the language of the shell; what tests compare is English unless they say otherwise.
for _name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE"):
    os.environ.pop(_name, None)
os.environ["LANG"] = "C.UTF-8"

SLOW_FOLDERS = ("hosts", "crash", "faults", "browser", "conformance", "security", "cli", "stores", "database")
"""Those that start programs, browsers and servers."""

LONG_FILES = (
    "cli/test_shutdown.py",
    "hosts/test_inspector_web.py",
    "faults/test_flushes.py",
    "security/test_web_cuts.py",
    "crash/test_session_operations.py",
    "crash/test_agents.py",
    "browser/test_chat_look.py",
    "browser/test_playbooks.py",
    "browser/test_panels.py",
    "browser/test_chat_tabs.py",
    "browser/test_chat_pauses.py",
    "browser/test_chat_seeds.py",
    "browser/test_chat_kills.py",
    "crash/test_runs.py",
    "browser/test_prompts.py",
    "contract/test_inert_texts.py",
    "crash/test_kill.py",
    "security/test_http_floods.py",
    "browser/test_accessibility.py",
    "services/content/test_processes.py",
    "contract/test_every_tool.py",
    "browser/test_charts.py",
    "services/content/test_relevance.py",
    "security/test_pages.py",
    "security/test_exports.py",
    "security/test_floods.py",
    "security/test_web_pauses.py",
    "security/test_web_doors.py",
    "agent/test_circles.py",
    "security/test_inputs.py",
    "cli/test_processes.py",
    "cli/test_way_in.py",
    "contract/test_whole_sessions.py",
    "faults/test_machines.py",
    "records/analysis/test_analysis.py",
    "faults/test_power.py",
    "security/test_bad_inputs.py",
    "faults/test_memory.py",
    "conformance/test_conformance.py",
)
"""The longest first. A file stays on one worker: a long one that begins late would end alone."""

SLOW_FILES = ("test_processes.py", "test_children.py", "test_python_guide.py", "test_contract.py", "test_imports.py")

SLOW_PARAMETERS = frozenset(("stdio", "http", "server"))
"""Words in the id of a case: doors with a transport, and PostgreSQL among the back ends."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow. Of several workers each takes long files first, then those of slow folders."""
    for item in items:
        if _is_slow(item):
            item.add_marker("slow")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (_length_rank(item), _folder_rank(item)))


def pytest_collection_finish() -> None:
    """Keep ten thousand collected tests out of every full collection of garbage, which takes 0.3 s with them."""
    gc.freeze()


def _is_slow(item: pytest.Item) -> bool:
    if _folder_rank(item) < len(SLOW_FOLDERS) or item.path.name in SLOW_FILES:
        return True
    return bool(SLOW_PARAMETERS & set(item.callspec.id.split("-"))) if hasattr(item, "callspec") else False


def _folder_rank(item: pytest.Item) -> int:
    """Return the place of a test's folder among the slow ones, or the number of these."""
    folder = _path(item).parts[0]
    return SLOW_FOLDERS.index(folder) if folder in SLOW_FOLDERS else len(SLOW_FOLDERS)


def _length_rank(item: pytest.Item) -> int:
    """Return the place of a test's file among the long ones, or the number of these."""
    path = _path(item).as_posix()
    return LONG_FILES.index(path) if path in LONG_FILES else len(LONG_FILES)


def _path(item: pytest.Item) -> PurePath:
    return _path_within(item.path, item.config.rootpath)


@cache
def _path_within(path: Path, root: Path) -> PurePath:
    return path.relative_to(root / "tests")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """asyncio only: uvicorn runs on nothing else, so a second backend would test what nobody can use."""
    return "asyncio"


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    """Somebody who asks the built-in services, on a database in memory."""
    async with open_asker() as asker:
        yield asker
