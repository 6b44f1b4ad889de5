"""What every tool of every built-in service promises, whatever it does.

A new tool is picked up by itself: what these tests have to know of it is in `tests/services/NAME/promises.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import jsonschema
import pytest

from madang.client import unwrap
from madang.core.calls import Locale
from madang.core.results import ENVELOPE_FIELDS, Reply
from madang.core.tools import MethodTool
from madang.server.mapping import call_result, listed_tool
from madang.services import prebuilt_schemas
from tests.asking import Asker, open_asker
from tests.promises import PROMISED, PROMISES, SERVICE_OF, TOOLS, prepare

every_tool = pytest.mark.parametrize("name", PROMISED)


@pytest.fixture(params=["en", "ko"])
async def asker(request: pytest.FixtureRequest) -> AsyncIterator[Asker]:
    """Somebody who asks in either language."""
    async with open_asker() as asker:
        yield asker.with_call(locale=request.param)


def test_the_schemas_that_come_with_the_package_are_those_of_the_code() -> None:
    made = {name: {"input": tool.input_schema, "output": tool.output_schema} for name, tool in TOOLS.items()}

    assert prebuilt_schemas() == json.loads(json.dumps(made)), "scripts/generate writes them anew"


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_is_named_and_described_for_a_model(tool: MethodTool) -> None:
    # `grep` is a name that every model knows; two words would not say more.
    assert re.fullmatch(r"[a-z]+(_[a-z]+)+|grep", tool.name)
    assert tool.description.endswith(".")
    assert 15 <= len(tool.description) <= 250
    assert "\n" not in tool.description


@every_tool
def test_schemas_are_flat_and_closed(name: str) -> None:
    tool = TOOLS[name]

    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "properties" in schema
        for keyword in ("$ref", "$defs", "oneOf", "allOf", "title"):
            assert keyword not in set(keywords(schema)), keyword
        # A text or a list of texts can be said in no other way that all clients take.
        unions = PROMISED[name].unions if schema is tool.input_schema else 0
        assert list(keywords(schema)).count("anyOf") == unions
        assert "anyOf" not in schema
        assert {} not in list(parts(schema)), "an empty schema takes anything, and strict clients warn of it"
    assert tool.input_schema["additionalProperties"] is False
    assert all(re.fullmatch(r"[a-z][A-Za-z]*", field) for field in fields(tool.input_schema))
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9]*", field) for field in fields(tool.output_schema))


@every_tool
def test_annotations_follow_from_the_effect(name: str) -> None:
    tool = TOOLS[name]

    assert listed_tool(tool, "off")["annotations"] == {
        "readOnlyHint": tool.effect == "read",
        "destructiveHint": tool.effect == "destroy",
        "idempotentHint": tool.idempotent,
        "openWorldHint": False,
    }
    assert tool.idempotent or tool.effect != "read"
    assert (tool.effect == "destroy") == (name.split("_")[0] in ("delete", "clear"))


@every_tool
def test_effect_audience_and_page_are_those_that_were_promised(name: str) -> None:
    tool, promise = TOOLS[name], PROMISED[name]

    assert (tool.effect, tool.audience) == (promise.effect, promise.audience)
    assert bool(tool.page) == promise.shows_page


@every_tool
async def test_a_good_answer_keeps_the_form(asker: Asker, name: str) -> None:
    reply = await asker.done(name, **await prepare(asker, name))

    jsonschema.validate(reply.data, TOOLS[name].output_schema)
    assert reply.text.startswith(f"[{name}] ")
    assert (reply.pause is not None) == PROMISED[name].pauses
    assert (reply.page is not None) == PROMISED[name].shows_page
    assert_ids_are_in_the_text(reply, PROMISES[SERVICE_OF[name]].internal_ids)
    assert len(reply.text.encode()) < 8.5 * 1024
    assert call_result(reply)["isError"] is False


@every_tool
async def test_a_program_reads_an_answer_back_into_its_type(asker: Asker, name: str) -> None:
    reply = await asker.done(name, **await prepare(asker, name))

    document = unwrap(call_result(reply), TOOLS[name].output_model)
    data = {name: value for name, value in reply.data.items() if name not in ENVELOPE_FIELDS}
    assert document.model_dump(mode="json", by_alias=True) == data


@every_tool
async def test_an_error_keeps_the_form(asker: Asker, name: str) -> None:
    await prepare(asker, name)

    reply = await asker.ask(name, **PROMISED[name].refused)

    error = reply.data["error"]
    assert list(reply.data) == ["error"]
    assert set(error) == {"code", "message", "hint"}
    assert re.fullmatch(r"[a-z_]+", error["code"])
    assert error["message"]
    assert error["hint"]
    first, second = reply.text.split("\n")
    assert first.startswith(f"[{name}] ")
    assert first.endswith(error["message"])
    assert second.endswith(error["hint"])
    assert "Traceback" not in reply.text
    tool = TOOLS[name]
    is_change = tool.effect != "read" and (not tool.page or tool.answers_pause)
    unchanged = (" Nothing was changed.", " 아무것도 바뀌지 않았습니다.")
    assert first.endswith(unchanged) == is_change, "a failed change is not taken for a done one"
    assert (reply.page, reply.pause) == (None, None)
    assert call_result(reply)["isError"] is True


@every_tool
async def test_the_language_changes_words_and_nothing_else(name: str) -> None:
    replies: dict[Locale, Reply] = {}
    for locale in ("en", "ko"):
        async with open_asker() as opened:
            asker = opened.with_call(locale=locale)
            replies[locale] = await asker.done(name, **await prepare(asker, name))

    english, korean = replies["en"], replies["ko"]
    assert names_of_tools(korean.text) == names_of_tools(english.text)
    assert english.text != korean.text
    assert shape(korean.data) == shape(english.data)
    if korean.page and english.page:
        assert 'lang="ko"' in korean.page.document
        hooks = r'class="[^"]*"'
        assert re.findall(hooks, korean.page.fragment) == re.findall(hooks, english.page.fragment)


@every_tool
async def test_hints_name_tools_that_exist(name: str) -> None:
    async with open_asker() as asker:
        reply = await asker.done(name, **await prepare(asker, name))
        error = await asker.ask(name, **PROMISED[name].refused)

    quoted = re.findall(r"'([a-z]+_[a-z_]+)'", reply.text + error.text)
    assert set(quoted) <= set(TOOLS)


@every_tool
async def test_the_largest_answer_is_still_about_eight_kilobytes(name: str) -> None:
    """A model pays for every byte, whatever others have written."""
    async with open_asker() as asker:
        ids = await PROMISES[SERVICE_OF[name]].fill(asker)

        reply = await asker.done(name, **PROMISED[name].largest_arguments(ids))

    assert len(reply.text.encode()) < 9 * 1024


async def test_the_largest_contexts_of_all_services_are_about_a_page_each() -> None:
    async with open_asker() as asker:
        for promises in PROMISES.values():
            await promises.fill(asker)

        prompt = await asker.provider.build_tool_prompt(asker.call)

    assert len(prompt.encode()) < 3 * 9 * 1024


def assert_ids_are_in_the_text(reply: Reply, internal: frozenset[str]) -> None:
    """The data is never the only place of an id."""
    for key, value in pairs(reply.data):
        if key == "ids":
            assert all(str(id) in reply.text for id in value)
        elif key == "id" and isinstance(value, int):
            assert f"ID:{value} " in reply.text
        elif (key == "id" or key.endswith("Id")) and isinstance(value, str) and key not in internal:
            assert value in reply.text, key


def names_of_tools(text: str) -> list[str]:
    return sorted(re.findall("|".join(rf"\b{name}\b" for name in sorted(TOOLS, key=len, reverse=True)), text))


def shape(value: Any) -> Any:
    """Return the data without what differs from run to run."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__


def pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from pairs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from pairs(inner)


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas of all properties and items, at every depth."""
    for part in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield part
        yield from parts(part)


def keywords(schema: Any) -> Iterator[str]:
    """Yield the keywords of a schema: names of properties are data."""
    if isinstance(schema, dict):
        for key, inner in schema.items():
            yield key
            if key == "properties":
                for part in inner.values():
                    yield from keywords(part)
            else:
                yield from keywords(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from keywords(inner)


def fields(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, inner in schema.items():
            if key == "properties":
                yield from inner
                for part in inner.values():
                    yield from fields(part)
            else:
                yield from fields(inner)
