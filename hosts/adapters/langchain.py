"""LangChain: langchain-mcp-adapters, whose tools make the `ToolMessage` that an agent appends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from hosts.adapters.playing import CallTool, play
from hosts.script import SERVER, Arguments


@asynccontextmanager
async def connect(command: str, arguments: list[str]) -> AsyncIterator[CallTool]:
    client = MultiServerMCPClient({SERVER: {"transport": "stdio", "command": command, "args": arguments}})
    async with client.session(SERVER) as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call_tool(name: str, arguments: Arguments) -> Any:
            message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
            return message.content

        yield call_tool


if __name__ == "__main__":
    play(connect)
