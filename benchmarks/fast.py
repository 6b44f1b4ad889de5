"""Madang's own tools, served by FastMCP over HTTP: `python -m benchmarks.fast DATA_FOLDER`, where FastMCP is installed.

Each tool has the same name, description, schemas and work as in Madang; all that differs is who serves it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastmcp import FastMCP  # type: ignore[import-not-found]  # it is in an environment of its own
from fastmcp.tools import Tool, ToolResult  # type: ignore[import-not-found]  # as above

from madang.app import Madang, open_madang
from madang.settings import Settings


def served(madang: Madang, name: str, description: str, schemas: tuple[dict[str, Any], dict[str, Any]]) -> Tool:
    class Served(Tool):  # type: ignore[misc]  # as above
        async def run(self, arguments: dict[str, Any]) -> ToolResult:
            reply = await madang.provider.execute_tool(madang.call("python"), name, arguments)
            return ToolResult(reply.text, reply.data, is_error=reply.is_error)

    return Served(name=name, description=description, parameters=schemas[0], output_schema=schemas[1])


async def main(folder: Path) -> None:
    async with open_madang(Settings(folder)) as madang:
        server = FastMCP("fast")
        for tool in await madang.provider.available_tools(madang.call("python")):
            server.add_tool(served(madang, tool.name, tool.description, (tool.input_schema, tool.output_schema)))
        app = server.http_app(json_response=True)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as uvicorn's own sockets have it
            print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
            config = uvicorn.Config(app, log_level="error", access_log=False, ws="none")
            await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
