"""Servers of strangers: what they list and answer can neither hang a program nor fill its memory."""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from madang.client import connect, http, unwrap
from madang.core.errors import RequestError, SetupError

Schema = dict[str, Any]


def server_of(
    *tools: types.Tool, data: Any = None, cursors: Callable[[str], str | None] = lambda _: None
) -> Server[Any]:
    """A server that lists these tools on each page, and answers every call with `data`."""

    async def listed(
        _: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        cursor = params.cursor if params and params.cursor else ""
        return types.ListToolsResult(tools=list(tools), next_cursor=cursors(cursor))

    async def called(_: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content=data)

    return Server("hostile", on_list_tools=listed, on_call_tool=called)


def tool(output: Schema | None = None, **properties: Any) -> types.Tool:
    schema = {"type": "object", "properties": properties}
    return types.Tool(name="look", input_schema=schema, output_schema=output)


def nested(depth: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


HOSTILE_OUTPUTS: dict[str, Schema] = {
    "backtracking": {"type": "object", "properties": {"value": {"type": "string", "pattern": "^(a+)+$"}}},
    "cycle": {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "doubling": {
        "type": "object",
        "$ref": "#/$defs/d0",
        "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {"d40": {}},
    },
    "many options": {"type": "object", "oneOf": [{"required": [f"field{n}"]} for n in range(10_000)]},
    "elsewhere": {"type": "object", "$ref": "http://127.0.0.1:9/schema.json"},
    "no schema": {"type": "object", "properties": {"value": 7}},
}


@pytest.mark.parametrize("kind", HOSTILE_OUTPUTS)
async def test_an_output_schema_is_never_evaluated(kind: str) -> None:
    data = {"value": "a" * 40 + "!"}
    with anyio.fail_after(30):
        async with connect(server_of(tool(HOSTILE_OUTPUTS[kind]), data=data)) as server:
            answer = await server.look()

    assert unwrap(answer) == data


async def test_arguments_are_spelt_by_a_schema_that_leads_in_a_circle() -> None:
    """A recursive schema is an honest thing: a tree of comments has one."""
    node: Schema = {"type": "object", "properties": {"nodeName": {}, "children": {"items": {"$ref": "#/$defs/N"}}}}
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/N"}, "endless": {"$ref": "#/$defs/E"}}}
    looking = types.Tool(name="look", input_schema={**schema, "$defs": {"N": node, "E": {"$ref": "#/$defs/E"}}})
    async with connect(server_of(looking, data={})) as server:
        await server.look(root={"node_name": "a", "children": [{"node_name": "b"}]}, endless={"node_name": "c"})


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ([tool(deep=nested(150))], "a schema of 'look' is more than 100 levels deep"),
        ([tool(long={"description": "x" * 2_000_000})], "its entry for 'look' is longer than 1000000 characters"),
        ([tool(**{f"property{n}": {} for n in range(120_000)})], "its entry for 'look' is longer than"),
        ([tool(long={"enum": ["x" * 900_000]})] * 20, "it is longer than 16000000 characters"),
        ([tool()] * 10_001, "it has more than 10000 tools"),
    ],
    ids=["depth", "text", "properties", "list", "count"],
)
async def test_a_list_beyond_all_bounds_is_one_error(tools: list[types.Tool], reason: str) -> None:
    with anyio.fail_after(60), pytest.raises(SetupError, match="The server's tool list cannot be used: ") as raised:
        async with connect(server_of(*tools)):
            pass

    assert reason in str(raised.value)
    assert "the server's" in str(raised.value.hint)


async def test_a_list_whose_pages_do_not_end_is_one_error() -> None:
    for cursors in (lambda _: "again", lambda cursor: cursor + "x"):
        with anyio.fail_after(60), pytest.raises(SetupError, match="its pages do not end"):
            async with connect(server_of(tool(), cursors=cursors)):
                pass


async def test_a_list_that_comes_too_slowly_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madang.client.backends.MAX_LIST_S", 0.2)

    async def listed(*_: object) -> types.ListToolsResult:
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.fail_after(60), pytest.raises(SetupError, match=r"it takes longer than 0\.2 s"):
        async with connect(Server("slow", on_list_tools=listed)):
            pass


async def test_an_answer_over_http_without_end_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_MESSAGE_BYTES", 100_000)
    bomb = gzip.compress(b'{"jsonrpc": "2.0", "id": 1, "result": "' + b" " * 5_000_000 + b'"}')

    async with answering(b"content-encoding: gzip\r\n", bomb) as address:
        with anyio.fail_after(60), pytest.raises(SetupError, match="The answer is larger than"):
            async with connect(address):
                pass


async def test_a_list_that_is_no_mcp_is_one_error() -> None:
    program = """if True:
        import json, sys

        for line in sys.stdin:
            request = json.loads(line)
            answers = {
                "initialize": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "wrong", "version": "1"},
                },
                "tools/list": {"tools": [{"name": 7}]},
            }
            outcome = {"error": {"code": -32601, "message": "Method not found"}}
            if request["method"] in answers:
                outcome = {"result": answers[request["method"]]}
            if "id" in request:
                print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)
    """
    with anyio.fail_after(60), pytest.raises(RequestError, match="The server's answer is not valid MCP: "):
        async with connect([sys.executable, "-c", program]):
            pass


@asynccontextmanager
async def answering(headers: bytes, body: bytes) -> AsyncIterator[str]:
    """An HTTP server that gives the same JSON answer to everything: its address."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        length = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
        writer.write(b"HTTP/1.1 200 OK\r\n" + length.encode() + headers + b"\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
