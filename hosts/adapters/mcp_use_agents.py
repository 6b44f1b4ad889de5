"""mcp-use: its client with its LangChain tools, which fill in null for what a call leaves out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp_use import MCPClient
from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter

from hosts.adapters.playing import CallTool, play
from hosts.script import SERVER, Arguments


@asynccontextmanager
async def connect(command: str, arguments: list[str]) -> AsyncIterator[CallTool]:
    client = MCPClient({"mcpServers": {SERVER: {"command": command, "args": arguments}}})
    try:
        adapter = LangChainAdapter()
        await adapter.create_all(client)
        tools = {tool.name: tool for tool in adapter.tools}

        async def call_tool(name: str, arguments: Arguments) -> Any:
            message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
            return message.content

        yield call_tool
    finally:
        await client.close_all_sessions()


if __name__ == "__main__":
    play(connect)
