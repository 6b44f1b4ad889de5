"""Tools of servers that are not ours, as methods: other spellings, answers without data, and errors of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import MCPServer, Server
from mcp.server.context import ServerRequestContext
from pydantic import BaseModel

from madang.client import ServerProxy, connect, unwrap
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import InvalidArguments, RequestError, SetupError, ToolError
from tests.asking import Asker


class Span(BaseModel):
    """A nested argument in snake_case, as Python servers have them."""

    from_line: int
    to_line: int


class Mark(Document):
    """A value of a program, camelCase on the wire."""

    made_on: date


def foreign_server() -> MCPServer:
    """A server as people write them with the SDK: snake_case, and now and then no structured answer."""
    server = MCPServer("foreign")

    @server.tool()
    def read_lines(file_name: str, span: Span, max_count: int = 3) -> dict[str, Any]:
        """Read lines of a file."""
        return {"file_name": file_name, "lines": [span.from_line, span.to_line], "max_count": max_count}

    @server.tool(structured_output=False)
    def as_json(query_text: str) -> str:
        return f'{{"hits": [{{"hitId": 1, "query": "{query_text}"}}]}}'

    @server.tool(structured_output=False)
    def as_text() -> str:
        return "It rains."

    @server.tool()
    def count_words(words: list[str]) -> int:
        return len(words)

    @server.tool()
    def fails() -> str:
        raise ValueError("the disk is on fire")

    @server.tool("get-weather", structured_output=False)
    def get_weather() -> str:
        return "It rains."

    @server.tool("tools", structured_output=False)
    def tools() -> str:
        return "hammer"

    return server


def spelling_server() -> Server[Any]:
    """A server that answers with the arguments it got, and lists its one tool page by page."""

    async def listed(
        _: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        page = int(params.cursor) if params and params.cursor else 1
        schema = {
            "type": "object",
            "properties": {
                "storeId": {"type": "string"},
                "max_count": {"type": "integer"},
                "lineRange": {"$ref": "#/$defs/Range"},
                "filters": {"type": "array", "items": {"type": "object", "properties": {"fieldName": {}}}},
                "metadata": {"type": "object"},
                "maybe": {"anyOf": [{"$ref": "#/$defs/Range"}, {"type": "null"}]},
            },
            "$defs": {"Range": {"type": "object", "properties": {"fromLine": {}, "toLine": {}}}},
        }
        tools = [types.Tool(name=f"echo{page}", input_schema=schema)]
        return types.ListToolsResult(tools=tools, next_cursor=str(page + 1) if page < 3 else None)

    async def called(_: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content={"got": params.arguments})

    return Server("spelling", on_list_tools=listed, on_call_tool=called)


@pytest.fixture
async def foreign() -> AsyncIterator[ServerProxy]:
    async with connect(foreign_server()) as server:
        yield server


@pytest.fixture
async def spelling() -> AsyncIterator[ServerProxy]:
    async with connect(spelling_server()) as server:
        yield server


async def test_a_server_with_snake_case_gets_its_arguments_as_they_are(foreign: ServerProxy) -> None:
    answer = await foreign.read_lines(file_name="a", span=Span(from_line=1, to_line=2), max_count=5)

    assert answer == {"file_name": "a", "lines": [1, 2], "max_count": 5}
    assert (answer.file_name, answer.maxCount) == ("a", 5)


async def test_json_in_a_text_is_data(foreign: ServerProxy) -> None:
    answer = await foreign.as_json(queryText="rain")

    assert [(hit.hit_id, hit.query) for hit in answer.hits] == [(1, "rain")]
    assert answer.text.startswith('{"hits"')


async def test_a_plain_text_is_a_text(foreign: ServerProxy) -> None:
    answer = await foreign.as_text()

    assert (answer.text, unwrap(answer)) == ("It rains.", "It rains.")


async def test_a_scalar_under_a_name_is_unwrapped_into_its_type(foreign: ServerProxy) -> None:
    answer = await foreign.count_words(words=("a", "b"))

    assert (answer.result, unwrap(answer, int)) == (2, 2)


async def test_an_error_is_raised_by_the_method_and_told_by_the_raw_way(foreign: ServerProxy) -> None:
    with pytest.raises(ToolError, match="fails"):
        await foreign.fails()

    raw = await foreign.call("fails")
    assert raw.is_error
    with pytest.raises(ToolError, match="fails"):
        unwrap(raw)


async def test_a_tool_whose_name_is_no_python_name_has_one_and_is_an_item(foreign: ServerProxy) -> None:
    assert (await foreign.get_weather()).text == "It rains."
    assert (await foreign["get-weather"]()).text == "It rains."
    assert (await foreign["tools"]()).text == "hammer"
    assert "read_lines" in foreign.tools


async def test_a_name_that_is_no_tool_lists_near_ones(foreign: ServerProxy) -> None:
    with pytest.raises(AttributeError, match=r"no tool 'read_line'\. Did you mean 'read_lines'\?"):
        _ = foreign.read_line
    with pytest.raises(AttributeError, match=r"no tool 'xyzzy'\.$"):
        _ = foreign.xyzzy
    assert not hasattr(foreign, "_read_lines")
    assert {"read_lines", "get_weather", "call", "tools"} <= set(dir(foreign))


async def test_a_server_shows_what_it_is(foreign: ServerProxy) -> None:
    names = ", ".join([*foreign.tools][:3])

    assert repr(foreign) == f"<server with {len(foreign.tools)} tools: {names}, …>"


async def test_a_method_shows_what_it_is(foreign: ServerProxy) -> None:
    assert repr(foreign.read_lines) == "<tool read_lines(file_name, span, max_count)>"
    assert foreign.read_lines.__doc__ == "Read lines of a file."


async def test_arguments_get_the_spelling_of_the_schema_at_every_depth(spelling: ServerProxy) -> None:
    answer = await spelling.echo1(
        store_id="s",
        maxCount=1,
        line_range={"from_line": 1, "toLine": 2},
        filters=[{"field_name": "a"}],
        metadata={"made_by": "me"},
        maybe={"from_line": 3},
        not_known=1,
    )

    assert unwrap(answer)["got"] == {
        "storeId": "s",
        "max_count": 1,
        "lineRange": {"fromLine": 1, "toLine": 2},
        "filters": [{"fieldName": "a"}],
        "metadata": {"made_by": "me"},
        "maybe": {"fromLine": 3},
        "not_known": 1,
    }


async def test_values_of_a_program_are_sent_in_their_form_in_json(spelling: ServerProxy) -> None:
    earlier = await spelling.echo1(metadata={"n": 1})

    answer = await spelling.echo1(metadata=earlier.got, marks=[Mark(made_on=date(2026, 1, 2))])

    assert answer.got == {"metadata": {"metadata": {"n": 1}}, "marks": [{"madeOn": "2026-01-02"}]}
    with pytest.raises(TypeError, match="A object cannot be sent"):
        await spelling.echo1(metadata=object())


async def test_one_argument_in_two_spellings_is_refused(spelling: ServerProxy) -> None:
    with pytest.raises(TypeError, match="'storeId' is given twice"):
        await spelling.echo1(store_id="a", storeId="b")


async def test_an_argument_without_its_name_is_refused_with_the_names(foreign: ServerProxy) -> None:
    with pytest.raises(TypeError, match=r"by keyword: <tool read_lines\(file_name, span, max_count\)>"):
        await foreign.read_lines("a")  # type: ignore[arg-type]


async def test_a_server_that_ends_in_a_call_is_one_error() -> None:
    program = """if True:
        import os
        from mcp.server import MCPServer

        server = MCPServer("ends")
        server.tool("end")(lambda: os._exit(1))
        server.run()
    """
    with pytest.raises(RequestError, match="Connection closed"):
        async with connect([sys.executable, "-c", program]) as server:
            await server.end()


async def test_the_tools_of_every_page_of_the_list_are_there(spelling: ServerProxy) -> None:
    assert list(spelling.tools) == ["echo1", "echo2", "echo3"]


async def test_an_open_client_or_session_is_used_and_left_open() -> None:
    async with Client(foreign_server()) as client:
        async with connect(client) as through_client, connect(client.session) as through_session:
            texts = [(await server.as_text()).text for server in (through_client, through_session)]
        still = await client.call_tool("as_text", {})

    assert texts == ["It rains.", "It rains."]
    assert unwrap(still) == "It rains."


async def test_a_provider_in_this_process_needs_no_mcp(asker: Asker) -> None:
    async with connect(asker.provider, asker.call) as server:
        await server.add_todo(name="Write it down")
        state = await server.get_current_state()

    assert [todo.name for todo in state.todos] == ["Write it down"]


async def test_without_a_call_a_provider_asks_for_the_context(asker: Asker) -> None:
    async with connect(asker.provider) as server:
        with pytest.raises(ToolError, match="Assistant ID not set"):
            await server.add_todo(name="Write it down")


async def test_an_argument_of_a_wrong_name_is_answered_by_the_tool(asker: Asker) -> None:
    async with connect(asker.provider, asker.call) as server:
        with pytest.raises(InvalidArguments, match="is not an argument of this tool"):
            await server.add_todo(nam="Write it down")


async def test_what_cannot_be_connected_to_is_refused_with_the_reason(asker: Asker) -> None:
    for target, options, reason in [
        ("madang mcp", {}, "pass a command as a list"),
        (["madang", "mcp"], {"token": "t"}, "over HTTP"),
        (asker.provider, {"session": "s"}, "takes a Call"),
        (foreign_server(), {"call": Call()}, "for a provider in this process"),
    ]:
        with pytest.raises((TypeError, ValueError), match=reason):
            async with connect(target, **options):  # type: ignore[arg-type]
                pass


async def test_a_server_without_tools_says_so() -> None:
    with pytest.raises(RequestError):
        async with connect(Server("empty")):
            pass


def test_reading_answers_does_not_load_the_sdk() -> None:
    """Programs that only read pay for what they use."""
    code = "import sys, madang.client; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("command", [["no-such-command"], [sys.executable, "-c", ""]])
async def test_a_server_that_cannot_be_reached_is_one_error_with_a_hint(command: list[str]) -> None:
    with pytest.raises(SetupError, match="The server cannot be reached: ") as raised:
        async with connect(command):
            pass

    assert "token" in str(raised.value.hint)


async def test_an_error_leaves_the_connection_as_it_is() -> None:
    """The SDK's task groups wrap what passes through them, and no `except` would find it."""
    with pytest.raises(ZeroDivisionError):
        async with connect(foreign_server()):
            _ = 1 / 0


async def test_of_two_errors_the_program_hears_of_the_first() -> None:
    @asynccontextmanager
    async def ends_badly(_: object) -> AsyncIterator[None]:
        yield
        raise ConnectionError("cannot be closed")

    server = MCPServer("foreign", lifespan=ends_badly)
    with pytest.raises(ZeroDivisionError):
        async with connect(server):
            _ = 1 / 0
    with pytest.raises(ConnectionError, match="cannot be closed"):
        async with connect(server):
            pass
