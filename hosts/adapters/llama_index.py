"""LlamaIndex: the tools of McpToolSpec, whose `ToolOutput.content` is what an agent puts into its chat history."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

from hosts.adapters.playing import START_S, CallTool, play
from hosts.script import Arguments


@asynccontextmanager
async def connect(command: str, arguments: list[str]) -> AsyncIterator[CallTool]:
    client = BasicMCPClient(command, args=arguments, timeout=START_S)
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client).to_tool_list_async()}

    async def call_tool(name: str, arguments: Arguments) -> Any:
        return (await tools[name].acall(**arguments)).content

    yield call_tool


if __name__ == "__main__":
    play(connect)
