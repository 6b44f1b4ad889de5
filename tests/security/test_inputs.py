"""Hostile arguments for every tool of every built-in service (T36, T37).

Whatever comes in, a tool answers: with a result, or with an error that names the field. It never breaks, never writes
half of something, and never takes a wrong page size for "everything".
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.results import Reply
from madang.core.tools import Tool
from madang.database.port import Row, Transaction
from madang.database.sqlite.database import SqliteDatabase
from madang.files.folders import Folders
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.services import builtin_services
from tests.asking import NO_FOLDERS

CALL = Call(AssistantId("default"), SessionId("default"))
TOOLS = {tool.name: tool for service in builtin_services(SqliteDatabase(None), NO_FOLDERS) for tool in service.tools}
PAGED = [name for name, tool in TOOLS.items() if "page" in tool.input_schema["properties"]]
MAX_ERROR_CHARS = 4_000

WRONG_NUMBERS: list[Any] = [
    0, -2, 10**30, -(10**30), 1.0, 1.5, "5.0", "-1", True, False, float("nan"), float("inf"), float("-inf"),
    [1], {"a": 1}, "abc", "", b"1", 2**63, 1001.0,
]  # fmt: skip


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: dict[str, Callable[[], Any]] = {
    "null": lambda: None,
    "true": lambda: True,
    "integer": lambda: 5,
    "zero": lambda: 0,
    "huge": lambda: 10**30,
    "longer than Python prints": lambda: 10**5000,
    "float": lambda: 1.5,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "empty": lambda: "",
    "blank": lambda: " \u3000\n",
    "digits": lambda: "5",
    "nul": lambda: "a\x00b",
    "half a pair": lambda: "\ud800",
    "other half": lambda: ["\udfff"],
    "sql": lambda: "'; DROP TABLE playbook; --",
    "braces": lambda: "{0} {goal} %s {{}}",
    "markup": lambda: "</script><img src=x onerror=alert(1)>",
    "10 MB": lambda: "x" * 10_000_000,
    "list": lambda: [1, "a", None],
    "list of lists": lambda: [[[]]],
    "object": lambda: {"a": 1},
    "bytes": lambda: b"\xff",
    "200k deep": lambda: nested(200_000),
    "1M keys": lambda: dict.fromkeys(map(str, range(1_000_000)), 0),
    "1M items": lambda: [0] * 1_000_000,
    "yaml bool": lambda: "!!bool nonsense",
    "yaml int": lambda: "!!int ''",
    "yaml time": lambda: "!!timestamp nonsense",
    "yaml object": lambda: "!!python/object/apply:os.system ['true']",
    "yaml bomb": lambda: "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
    "yaml keys": lambda: "? [a, b]\n: 1\n1: 2\nnull: 3\n2024-13-45: 4",
    "yaml deep": lambda: "[" * 100_000,
    "json deep": lambda: '{"a":' * 100_000,
    "json huge": lambda: '{"madangPlaybooks": ' + "1" * 5000 + "}",
    "json nan": lambda: '{"madangPlaybooks": NaN, "playbooks": [Infinity]}',
}


class House:
    """The built-in services on a database in memory, with something in it to lose."""

    def __init__(self) -> None:
        self.database = SqliteDatabase(None)
        self.provider = Provider(AuditLog(self.database))
        self.folder = TemporaryDirectory(prefix="madang-")
        for service in builtin_services(self.database, Folders(Path(self.folder.name))):
            self.provider.register(service)

    async def call(self, name: str, arguments: Any) -> Reply:
        return await self.provider.execute_tool(CALL, name, arguments)

    async def contents(self) -> dict[str, list[Row]]:
        """Return every row of every table, but those of the trail, the notices, the steps and the index's queue.

        That queue is worked off in the background, and so is the trail, which also keeps the users.
        """

        async def work(tx: Transaction) -> dict[str, list[Row]]:
            tables = await tx.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
            left_out = ("account", "audit", "migration", "notice", "content_change")
            kept = [name for (name,) in tables if name not in left_out]
            return {name: await tx.all(f"SELECT * FROM {name}") for name in kept}

        return await self.database.read(work)


@asynccontextmanager
async def open_house() -> AsyncIterator[House]:
    house = House()
    await house.provider.available_tools(CALL)  # every service is open, so that no first call makes a table
    for number in range(1, 13):
        step = {"description": "look"}
        await house.call("create_playbook", {"goal": f"goal {number}", "workflow": [step]})
        await house.call("add_todo", {"name": f"todo {number}"})
        await house.call("prompt_user", {"prompt": f"prompt {number}", "type": "text"})
        await house.call("add_content", {"content": f"content {number}"})
    yield house
    await house.provider.close()
    await house.database.close()
    house.folder.cleanup()


@pytest.fixture(scope="module")
async def house() -> AsyncIterator[House]:
    """For tests that leave it nearly as it was."""
    async with open_house() as house:
        yield house


@pytest.fixture
async def new_house() -> AsyncIterator[House]:
    """For tests that keep much in it, all of which is read for each check whether anything has changed."""
    async with open_house() as house:
        yield house


def check_answer(reply: Reply) -> None:
    """An answer is for a model to read: no insides of ours, no bug, and it can be sent."""
    assert reply.error_code != "internal", reply.text
    assert "Traceback" not in reply.text
    json.dumps(reply.data, allow_nan=False).encode()
    reply.text.encode()
    if reply.is_error:
        assert reply.text.startswith(f"[{reply.tool}] Error: ")
        assert len(reply.text) < MAX_ERROR_CHARS
        assert reply.data["error"]["code"] == reply.error_code


async def check_refused(house: House, name: str, arguments: Any, field: str) -> None:
    before = await house.contents()
    reply = await house.call(name, arguments)
    check_answer(reply)
    assert reply.error_code in ("invalid_arguments", "limit_exceeded"), reply.text
    assert await house.contents() == before
    if reply.error_code == "invalid_arguments" and "A text holds" not in reply.text:
        assert field in reply.text


def a_valid(tool: Tool) -> dict[str, Any]:
    """Return arguments that fit, so that only what a test puts among them is wrong."""
    return {name: a_value(tool.input_schema["properties"][name]) for name in tool.input_schema.get("required", [])}


def a_value(schema: dict[str, Any]) -> Any:
    """Return a small value that fits a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return a_value(schema["anyOf"][0])
    match schema["type"]:
        case "string":
            return "x" * schema.get("minLength", 1)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "array":
            return [a_value(schema["items"])] * schema.get("minItems", 0)
        case _:
            return {name: a_value(schema["properties"][name]) for name in schema.get("required", [])}


# Arguments are drawn before the test begins: Hypothesis stops a draw by an exception that the event loop cannot take.
FITTING = st.one_of([st.tuples(st.just(name), from_schema(tool.input_schema)) for name, tool in TOOLS.items()])


@given(case=FITTING)
@settings(max_examples=8 * len(TOOLS), deadline=None, suppress_health_check=list(HealthCheck))
async def test_t37_arguments_that_fit_the_schema_are_never_a_bug(new_house: House, case: tuple[str, Any]) -> None:
    name, arguments = case
    before = await new_house.contents()

    reply = await new_house.call(name, arguments)

    check_answer(reply)
    if reply.is_error or TOOLS[name].effect == "read":
        after = await new_house.contents()
        assert after == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


MUTATED = st.one_of(
    [
        st.tuples(
            st.just(name),
            st.dictionaries(st.sampled_from([*tool.input_schema["properties"], "unknown"]), JSON, min_size=1),
        )
        for name, tool in TOOLS.items()
    ]
)


@given(case=MUTATED)
@settings(max_examples=8 * len(TOOLS), deadline=None, suppress_health_check=list(HealthCheck))
async def test_t37_any_value_in_any_field_is_answered(new_house: House, case: tuple[str, dict[str, Any]]) -> None:
    name, wrong = case
    before = await new_house.contents()

    reply = await new_house.call(name, {**a_valid(TOOLS[name]), **wrong})

    check_answer(reply)
    if reply.is_error:
        assert await new_house.contents() == before


def fits(schema: dict[str, Any], value: Any, *, is_optional: bool = False) -> bool:
    """Tell whether the hostile value happens to be a good one for this field."""
    if value is None:
        return is_optional
    if "anyOf" in schema:
        return any(fits(option, value) for option in schema["anyOf"])
    if schema.get("type") == "integer" and isinstance(value, str) and value.isdecimal():
        return fits(schema, int(value))
    if isinstance(value, str):
        fine = schema.get("type") == "string" and "enum" not in schema
        return fine and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9)
    if isinstance(value, bool):
        return schema.get("type") == "boolean"
    if isinstance(value, int):
        return schema.get("type") == "integer" and schema["minimum"] <= value <= schema["maximum"]
    return False


@pytest.mark.parametrize("kind", HOSTILE)
async def test_t37_a_hostile_value_in_each_field_of_each_tool_is_refused_by_name(new_house: House, kind: str) -> None:
    value = HOSTILE[kind]()
    for name, tool in TOOLS.items():
        for field, schema in {**tool.input_schema["properties"], "unknown": {}}.items():
            arguments = {**a_valid(tool), field: value}
            is_optional = field != "unknown" and field not in tool.input_schema.get("required", ())
            if fits(schema, value, is_optional=is_optional):
                check_answer(await new_house.call(name, arguments))
            else:
                await check_refused(new_house, name, arguments, field)


@pytest.mark.parametrize("name", TOOLS)
async def test_t37_arguments_that_are_no_object_or_too_much_are_refused(house: House, name: str) -> None:
    for arguments in (
        None,
        [],
        [1],
        "text",
        5,
        {"k" * 100_000: 1},
        {"\ud800": 1},
        {1: 2},
        {f"k{n}": n for n in range(999)},
    ):
        reply = await house.call(name, arguments)
        check_answer(reply)
        assert reply.error_code == "invalid_arguments"


@pytest.mark.parametrize("name", PAGED)
async def test_t36_wrong_pages_and_page_sizes_are_refused_by_name(house: House, name: str) -> None:
    for field in ("page", "pageSize", "page_size"):
        for value in [*WRONG_NUMBERS, -1 if field == "page" else 1001]:
            arguments = {**a_valid(TOOLS[name]), field: value}
            reply = await house.call(name, arguments)
            check_answer(reply)
            assert reply.error_code == "invalid_arguments", (field, value)
            assert "page" in reply.data["error"]["message"], (field, value)
            assert "items" not in json.dumps(reply.data), "never all rows"


@pytest.mark.parametrize(
    ("name", "field", "least", "most"),
    [("prompt_user", "timeoutS", 1, 30 * 24 * 60 * 60), ("get_prompt", "waitS", 0, 25)],
)
async def test_t36_wrong_times_are_refused_by_name(house: House, name: str, field: str, least: int, most: int) -> None:
    wrong = [value for value in WRONG_NUMBERS if type(value) is not int or not least <= value <= most]
    for value in [*wrong, least - 1, most + 1]:
        await check_refused(house, name, {**a_valid(TOOLS[name]), field: value}, field)


@pytest.mark.parametrize("name", PAGED)
async def test_t36_a_page_past_the_end_is_not_everything(house: House, name: str) -> None:
    for page in (100, 10**9):
        reply = await house.call(name, {"page": page, "pageSize": 5})
        check_answer(reply)
        if name == "get_playbook_page":
            assert reply.data["page"]["page"] == reply.data["page"]["totalPages"]
            assert len(reply.data["page"]["items"]) <= 5
        elif name == "list_playbook_runs":  # there are none: the empty page, whatever its number
            assert reply.data["page"]["items"] == []
        else:
            assert reply.error_code == "out_of_range"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_playbook", {}),
        ("select_playbook", {}),
        ("update_playbook", {"playbook": {"goal": "mine"}}),
        ("delete_playbook", {}),
    ],
)
async def test_t31_the_playbook_of_another_assistant_cannot_be_touched(
    house: House, name: str, arguments: dict[str, Any]
) -> None:
    other = Call(AssistantId("other"), SessionId("default"))
    made = await house.provider.execute_tool(other, "create_playbook", {"goal": "theirs", "workflow": []})
    theirs = made.data["playbook"]["id"]
    before = await house.contents()

    reply = await house.call(name, {**arguments, "id": theirs})

    assert reply.error_code == "denied"
    assert "theirs" not in reply.text
    assert await house.contents() == before


@pytest.mark.parametrize("field", ["id", "agentId", "agent_id", "tenantId", "userId", "createdAt", "version", "seq"])
async def test_t31_fields_that_are_kept_by_the_store_cannot_be_patched(house: House, field: str) -> None:
    made = await house.call("create_playbook", {"goal": "mine", "workflow": []})
    arguments = {"id": made.data["playbook"]["id"], "playbook": {field: "other"}}

    await check_refused(house, "update_playbook", arguments, f"playbook.{field}")
