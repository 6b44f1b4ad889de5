"""pydantic-ai: a toolset in an agent whose model is a function, which reads the request as any model would."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hosts.adapters.playing import START_S, CallTool, play
from hosts.script import Arguments


@asynccontextmanager
async def connect(command: str, arguments: list[str]) -> AsyncIterator[CallTool]:
    toolset = MCPToolset(StdioTransport(command, arguments), init_timeout=START_S)
    async with toolset:

        async def call_tool(name: str, arguments: Arguments) -> Any:
            given: list[str] = []

            def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
                parts = [part for part in messages[-1].parts if getattr(part, "tool_name", None) == name]
                if not parts:
                    return ModelResponse(parts=[ToolCallPart(name, arguments)])
                part: Any = parts[-1]
                is_return = hasattr(part, "model_response_str")
                given.append(part.model_response_str() if is_return else part.model_response())
                return ModelResponse(parts=[TextPart("Done.")])

            await Agent(FunctionModel(model), toolsets=[toolset], retries=3).run("Play the script.")
            return given[-1]

        yield call_tool


if __name__ == "__main__":
    play(connect)
