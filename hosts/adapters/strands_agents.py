"""strands: its MCP client, whose tool results go into the agent's messages; models are sent their `content`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import StdioServerParameters, stdio_client
from strands.tools.mcp import MCPClient

from hosts.adapters.playing import START_S, CallTool, play
from hosts.script import Arguments


@asynccontextmanager
async def connect(command: str, arguments: list[str]) -> AsyncIterator[CallTool]:
    server = StdioServerParameters(command=command, args=arguments)
    with MCPClient(lambda: stdio_client(server), startup_timeout=START_S) as client:
        client.list_tools_sync()

        async def call_tool(name: str, arguments: Arguments) -> Any:
            return (await client.call_tool_async("1", name, arguments))["content"]

        yield call_tool


if __name__ == "__main__":
    play(connect)
