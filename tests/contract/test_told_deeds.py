"""What somebody does beside a run is told to its model in the first lines of the reply: by name, not by id alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from madang.core.service import ServiceContext
from tests.asking import open_asker
from tests.promises import PROMISED, TOOLS, prepare

NAMES = ("goal", "name", "filename", "prompt", "message")
EFFECTS = [name for name in PROMISED if TOOLS[name].effect != "read"]


@pytest.mark.parametrize("tool", EFFECTS)
async def test_what_a_call_changed_is_named_in_its_first_lines(tool: str) -> None:
    async with open_asker() as asker:
        arguments = await prepare(asker, tool)
        before = await asker.provider.service_contexts(asker.call)
        reply = await asker.done(tool, **arguments)
        after = await asker.provider.service_contexts(asker.call)

    deed = reply.text.partition("\n\n")[0]
    for id in ids_in(arguments):
        names = {*names_of(id, before), *names_of(id, after)}
        assert not names or any(name in deed for name in names), deed


def ids_in(arguments: Any) -> Iterator[object]:
    for key, value in arguments.items():
        if key == "id" or key.endswith("Id"):
            yield value
        elif key == "ids":
            yield from value


def names_of(id: object, contexts: dict[str, ServiceContext]) -> Iterator[str]:
    """Yield what a thing with this id is called in any state."""
    for context in contexts.values():
        for record in records(context.structured_state.model_dump(by_alias=True)):
            if any(value == id and key.lower().endswith("id") for key, value in record.items()):
                yield from (record[key] for key in NAMES if record.get(key))


def records(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from records(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from records(inner)
