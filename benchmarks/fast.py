"""Madang's own tools, served by FastMCP over HTTP: `python -m benchmarks.fast DATA_FOLDER`, where FastMCP is installed.

Each tool has the same name, description, parameters and work as in Madang; all that differs is who serves it.
"""

from __future__ import annotations

import asyncio
import inspect
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import uvicorn
from fastmcp import FastMCP  # type: ignore[import-not-found]  # it is in an environment of its own
from fastmcp.tools import ToolResult  # type: ignore[import-not-found]  # as above
from pydantic.alias_generators import to_camel

from madang.app import Madang, open_madang
from madang.core.tools import MethodTool
from madang.settings import Settings


def function_of(madang: Madang, tool: MethodTool) -> Callable[..., Any]:
    """Return the tool as one would write it for FastMCP: an async function whose signature is the schema."""

    async def run(**arguments: Any) -> Any:
        sent = {name: value for name, value in arguments.items() if value is not None}
        reply = await madang.provider.execute_tool(madang.call("python"), tool.name, sent)
        return ToolResult(reply.text, reply.data, is_error=reply.is_error)

    signature = inspect.signature(tool.handler)
    hints = get_type_hints(tool.handler, include_extras=True)
    parameters = [
        part.replace(name=to_camel(name), kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, part in signature.parameters.items()
        if name != "call"
    ]
    run.__name__, run.__doc__ = tool.name, tool.description
    run.__signature__ = inspect.Signature(parameters, return_annotation=tool.output_model)  # type: ignore[attr-defined]  # how the inspect module has it
    run.__annotations__ = {part.name: part.annotation for part in parameters} | {"return": tool.output_model}
    return run


async def main(folder: Path) -> None:
    async with open_madang(Settings(folder)) as madang:
        server = FastMCP("fast")
        for tool in await madang.provider.available_tools(madang.call("python")):
            assert isinstance(tool, MethodTool)
            server.tool(function_of(madang, tool))
        app = server.http_app(json_response=True)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as uvicorn's own sockets have it
            print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
            config = uvicorn.Config(app, log_level="error", access_log=False, ws="none")
            await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
