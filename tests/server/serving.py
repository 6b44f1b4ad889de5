"""A server over one service, whose tools are what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp import Client

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.schema_tools import SchemaHandler, SchemaTool
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import Tool
from madang.database.sqlite.database import SqliteDatabase
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.server.http import http_app, listening_socket, local_policy
from madang.server.http_server import HttpServer
from madang.server.mcp import McpServer
from tests.doors import TOKEN

CALL = Call(AssistantId("default"), SessionId("default"), actor="foreign", door="mcp-stdio")


class Offering(Service):
    """A service that offers these tools, and others when a test replaces them."""

    def __init__(self, *tools: Tool, name: str = "offering") -> None:
        self.metadata = ServiceMetadata(name, say("Offering"), say("Offers."), "1")
        self.tools = tools


@dataclass(frozen=True)
class Served:
    """A provider of one service, and the server in front of it."""

    provider: Provider
    service: Service
    server: McpServer

    def client(self, era: Any, *, name: str = "a-client", **options: Any) -> Client:
        info = types.Implementation(name=name, version="7")
        return Client(self.server.server, mode=era, client_info=info, read_timeout_seconds=60, **options)


@asynccontextmanager
async def serving(service: Service, call: Call = CALL, **options: Any) -> AsyncIterator[Served]:
    """Serve one service from memory; it is open before the first request."""
    database = SqliteDatabase(None)
    provider = Provider(AuditLog(database), hook_limit_s=60)
    provider.register(service)
    await provider.open_all()
    try:
        yield Served(provider, service, McpServer(provider, call, **options))
    finally:
        await provider.close()
        await database.close()


@asynccontextmanager
async def serving_http(server: McpServer) -> AsyncIterator[str]:
    """Serve over HTTP on a free port; the address to which the token gives access."""
    with listening_socket("127.0.0.1", 0) as socket:
        port = socket.getsockname()[1]
        web = HttpServer(http_app(server.server, local_policy(TOKEN, "127.0.0.1", port)))
        running = asyncio.create_task(web.serve(sockets=[socket]))
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            web.should_exit = True
            await running


def answering(result: ToolResult[Any]) -> SchemaHandler:
    async def answer(call: Call, arguments: Mapping[str, Any]) -> ToolResult[Any]:
        return result

    return answer


def schema_tool(
    name: str, handler: SchemaHandler | ToolResult[Any] | None = None, arguments: Any = None, **traits: Any
) -> SchemaTool:
    """Return a tool that has a JSON Schema alone."""
    if not callable(handler):
        handler = answering(handler or ToolResult(["Done"], {}))
    schema = {"type": "object"} if arguments is None else arguments
    return SchemaTool(name=name, description="Do it.", effect="read", arguments=schema, handler=handler, **traits)
