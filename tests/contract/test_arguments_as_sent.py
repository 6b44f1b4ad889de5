"""Every tool takes its arguments as models and frameworks send them: null, empty, and numbers in quotes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from copy import deepcopy
from typing import Any

import jsonschema
import pytest

from madang.core.tools import MethodTool
from tests.asking import Asker, open_asker
from tests.promises import PROMISED, TOOLS, prepare

every_tool = pytest.mark.parametrize("name", PROMISED)
POINTS = [{"label": "a", "value": 1}]


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with open_asker() as asker:
        yield asker


def with_nulls(value: Any, schema: dict[str, Any], *, takes_null: bool = False) -> Any:
    """Return arguments with a null for every optional field they leave out, at every depth."""
    if isinstance(value, list):
        return [with_nulls(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    properties, required = schema.get("properties", {}), schema.get("required", ())
    nulls = {name: None for name in properties if name not in required and name not in value and not takes_null}
    return {**{name: with_nulls(part, properties.get(name, {})) for name, part in value.items()}, **nulls}


def with_digits(value: Any, schema: dict[str, Any]) -> Any:
    """Return arguments with their integers in quotes."""
    if isinstance(value, list):
        return [with_digits(item, schema.get("items", {})) for item in value]
    if isinstance(value, dict):
        return {name: with_digits(part, schema.get("properties", {}).get(name, {})) for name, part in value.items()}
    is_number = type(value) is int and value >= 0 and schema.get("type") == "integer"
    return str(value) if is_number else value


@every_tool
async def test_null_for_every_optional_argument_is_as_if_it_were_left_out(asker: Asker, name: str) -> None:
    arguments = await prepare(asker, name)
    sent = with_nulls(arguments, TOOLS[name].input_schema)
    if name == "update_playbook":
        # A merge patch is the one place where null says something: remove this field.
        sent["playbook"] = arguments["playbook"]

    await asker.done(name, **sent)


def integers(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the places of all integers in objects of a schema."""
    for name, part in schema.get("properties", {}).items():
        if part.get("type") == "integer":
            yield (*path, name), part
        yield from integers(part, (*path, name))


INTEGERS = [(name, path, part) for name, tool in TOOLS.items() for path, part in integers(tool.input_schema)]


def accepts(tool: MethodTool, arguments: dict[str, Any], path: tuple[str, ...], value: Any) -> bool:
    arguments = deepcopy(arguments)
    place = arguments
    for part in path[:-1]:
        place = place.setdefault(part, {})
    place[path[-1]] = value
    try:
        tool.checked(arguments)
    except Exception:
        return False
    return True


@pytest.mark.parametrize(("name", "path", "schema"), INTEGERS, ids=lambda value: str(value)[:40])
async def test_a_string_of_digits_is_an_integer_and_nothing_else_is(
    asker: Asker, name: str, path: tuple[str, ...], schema: dict[str, Any]
) -> None:
    tool, arguments = TOOLS[name], await prepare(asker, name)
    number = max(schema["minimum"], 1)

    assert accepts(tool, arguments, path, number)
    assert accepts(tool, arguments, path, str(number))
    for wrong in (True, 1.5, "1.5", " 1", "1 ", "one", "", [1], "9" * 4_500):
        assert not accepts(tool, arguments, path, wrong), wrong


@every_tool
async def test_numbers_in_quotes_are_taken_wherever_they_are(asker: Asker, name: str) -> None:
    await asker.done(name, **with_digits(await prepare(asker, name), TOOLS[name].input_schema))


@pytest.mark.parametrize(
    "arguments",
    [
        {"data": POINTS, "series": [], "title": "", "xLabel": "", "yLabel": ""},
        {"data": [], "series": [{"name": "A", "data": POINTS}], "title": "", "xLabel": "", "yLabel": ""},
        {"data": None, "series": [{"name": "A", "data": POINTS}]},
    ],
)
async def test_a_chart_can_be_drawn_where_every_argument_is_required(asker: Asker, arguments: dict[str, Any]) -> None:
    jsonschema.validate(
        {"type": "bar", **{key: value for key, value in arguments.items() if value is not None}},
        TOOLS["visualize_data"].input_schema,
    )
    await asker.done("visualize_data", type="bar", **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "A text", "fileUrl": ""},
        {"content": "", "fileUrl": "data:,A%20text"},
        {"content": "", "file_url": "data:,A%20text"},
        {"content": None, "fileUrl": "data:,A%20text"},
    ],
)
async def test_content_can_be_added_where_every_argument_is_required(asker: Asker, arguments: dict[str, Any]) -> None:
    sent = {**arguments, "storeId": "", "metadata": {"filename": "", "mimeType": ""}}
    await asker.done("add_content", **sent)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("visualize_data", {"type": "bar", "data": [], "series": []}),
        ("visualize_data", {"type": "bar", "data": POINTS, "series": [{"name": "A", "data": POINTS}]}),
        ("add_content", {"content": "", "fileUrl": ""}),
        ("add_content", {"content": "A", "fileUrl": "data:,A"}),
    ],
)
async def test_neither_or_both_of_two_that_exclude_each_other_are_refused(
    asker: Asker, name: str, arguments: dict[str, Any]
) -> None:
    reply = await asker.ask(name, **arguments)

    assert reply.error_code == "invalid_arguments"
    assert "ive either" in reply.text
