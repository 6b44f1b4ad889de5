"""What the contract tests want to know of a service and its tools.

Each service says it in `tests/services/NAME/promises.py`, as `PROMISES`; the tests in `tests/contract/` collect them.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from madang.core.service import Service
from madang.core.tools import Audience, Effect, MethodTool
from madang.database.sqlite.database import SqliteDatabase
from madang.services import builtin_services
from tests.asking import NO_FOLDERS, Asker

TESTS = Path(__file__).parent

Arguments = dict[str, Any]
Ids = dict[str, str]
"""The ids of what `prepare` or `fill` made, by names of the service's choice."""


async def nothing(asker: Asker) -> Ids:
    """Make nothing: for a service whose tools need nothing to work on."""
    return {}


@dataclass(frozen=True)
class Promise:
    """What one tool promises."""

    effect: Effect
    example: Arguments | Callable[[Ids], Arguments]
    """Arguments that work on what `prepare` made."""
    refused: Arguments = field(default_factory=lambda: {"surprise": 1})
    """Arguments that fit the schema and are refused; where there are none, an unknown argument will do."""
    largest: Arguments | Callable[[Ids], Arguments] | None = None
    """Arguments with the longest answer on what `fill` made, unless the example is among them."""
    audience: Audience = "model"
    shows_page: bool = False
    pauses: bool = False
    unions: int = 0
    """How many arguments take values of several types."""

    def example_arguments(self, ids: Ids) -> Arguments:
        return self.example(ids) if callable(self.example) else self.example

    def largest_arguments(self, ids: Ids) -> Arguments:
        largest = self.largest or self.example
        return largest(ids) if callable(largest) else largest


@dataclass(frozen=True)
class ServicePromises:
    """What one service promises: an entry for each tool, and something for its tools to work on."""

    tools: Mapping[str, Promise]
    prepare: Callable[[Asker], Awaitable[Ids]] = nothing
    """Make a little of everything that the service keeps."""
    fill: Callable[[Asker], Awaitable[Ids]] = nothing
    """Make so much, and so long, that the answers of the service are as large as they get."""
    bring_in: Callable[[Asker, str], Awaitable[Sequence[tuple[str, Arguments]]]] | None = None
    """Bring a text in from outside in every way there is (imports, files, their names), and return the calls that show
    it: for services that read what others wrote."""
    internal_ids: frozenset[str] = frozenset()
    """Fields with ids that no tool takes: all others have to be in the text."""


SERVICES = {service.metadata.name: service for service in builtin_services(SqliteDatabase(None), NO_FOLDERS)}
TOOLS: dict[str, MethodTool] = {
    tool.name: tool for service in SERVICES.values() for tool in service.tools if isinstance(tool, MethodTool)
}
SERVICE_OF = {tool.name: name for name, service in SERVICES.items() for tool in service.tools}


def service_promises(service: str) -> ServicePromises | None:
    """Return the promises of a service, if it has written any."""
    if not (TESTS / "services" / service / "promises.py").exists():
        return None
    promises: ServicePromises = importlib.import_module(f"tests.services.{service}.promises").PROMISES
    return promises


PROMISES = {name: promises for name in SERVICES if (promises := service_promises(name))}
PROMISED = {
    tool: promises.tools[tool]
    for tool, service in SERVICE_OF.items()
    if (promises := PROMISES.get(service)) and tool in promises.tools
}
"""The promise of each tool that has one. `missing_promises` tells of the others."""


def missing_promises(service: Service) -> str:
    """Return in one sentence what a service has still to promise, or nothing."""
    name = service.metadata.name
    file = f"tests/services/{name}/promises.py"
    if name not in PROMISES:
        return f"{file} is missing: write PROMISES = ServicePromises(...) there, with a Promise for each tool."
    promised, offered = set(PROMISES[name].tools), {tool.name for tool in service.tools}
    if offered - promised:
        return f"{file} needs a Promise for {', '.join(sorted(offered - promised))}."
    if promised - offered:
        return f"{file} has a Promise for {', '.join(sorted(promised - offered))}, which the service does not offer."
    return ""


async def prepare(asker: Asker, tool: str) -> Arguments:
    """Make what a tool's example works on, and return the example."""
    ids = await PROMISES[SERVICE_OF[tool]].prepare(asker)
    return PROMISED[tool].example_arguments(ids)
