"""The wire of one connection: JSON-RPC messages as a client writes them, without a client's own rules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    jsonrpc_message_adapter,
)

from madang.server.mcp import McpServer


def envelope(client: str | None) -> dict[str, Any]:
    """Return the `_meta` of a request of 2026-07-28, with the client's name or without."""
    meta: dict[str, Any] = {PROTOCOL_VERSION_META_KEY: "2026-07-28", CLIENT_CAPABILITIES_META_KEY: {}}
    return meta if client is None else {**meta, CLIENT_INFO_META_KEY: {"name": client, "version": "1"}}


def initialize_params(client: str) -> dict[str, Any]:
    return {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}


class Wire:
    """An open connection."""

    def __init__(self, to_server: Any, from_server: Any) -> None:
        self._to_server = to_server
        self._from_server = from_server
        self._ids = count(1)

    async def write(self, method: str, params: dict[str, Any] | None = None, *, id: int | None = None) -> None:
        """Write a request, or a notification if it has no id."""
        fields = {"jsonrpc": "2.0", "method": method, "params": params, "id": id}
        line = {key: value for key, value in fields.items() if value is not None}
        await self._to_server.send(SessionMessage(jsonrpc_message_adapter.validate_python(line)))

    async def read(self) -> dict[str, Any]:
        """Read one message."""
        with anyio.fail_after(60):
            item = await self._from_server.receive()
        message: dict[str, Any] = item.message.model_dump(by_alias=True, exclude_unset=True)
        return message

    async def exchange(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its answer, which may be an error."""
        id = next(self._ids)
        await self.write(method, params, id=id)
        answer = await self.read()
        assert answer["id"] == id
        return answer

    async def request(self, method: str, params: dict[str, Any], *, client: str | None) -> dict[str, Any]:
        """Send a request of 2026-07-28 and return its result."""
        answer = await self.exchange(method, {**params, "_meta": envelope(client)})
        result: dict[str, Any] = answer["result"]
        return result

    async def discover(self, client: str | None) -> dict[str, Any]:
        return await self.request("server/discover", {}, client=client)

    async def close(self) -> None:
        await self._to_server.aclose()


@asynccontextmanager
async def open_wire(server: McpServer) -> AsyncIterator[Wire]:
    """Serve one connection in this process."""
    to_server, reader = anyio.create_memory_object_stream[Any](16)
    writer, from_server = anyio.create_memory_object_stream[Any](16)
    async with to_server, from_server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve_connection, reader, writer)
        wire = Wire(to_server, from_server)
        yield wire
        await wire.close()
