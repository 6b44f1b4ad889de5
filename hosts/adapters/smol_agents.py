"""smolagents: its MCP client, whose tools return what becomes an agent's observation; an error is raised."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import StdioServerParameters
from smolagents import MCPClient

from hosts.adapters.playing import START_S, CallTool, play
from hosts.script import Arguments


@asynccontextmanager
async def connect(command: str, arguments: list[str]) -> AsyncIterator[CallTool]:
    server = StdioServerParameters(command=command, args=arguments)
    with MCPClient(server, adapter_kwargs={"connect_timeout": START_S}, structured_output=False) as adapted:
        tools = {tool.name: tool for tool in adapted}

        async def call_tool(name: str, arguments: Arguments) -> Any:
            return tools[name](**arguments)

        yield call_tool


if __name__ == "__main__":
    play(connect)
