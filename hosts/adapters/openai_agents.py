"""openai-agents: an agent with a scripted model, which gets its input in the form of OpenAI's responses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from hosts.adapters.playing import START_S, CallTool, play
from hosts.script import Arguments


class OneCall(Model):
    """Calls one tool, then reads its output and stops."""

    def __init__(self, name: str, arguments: Arguments) -> None:
        self._call = ResponseFunctionToolCall(
            type="function_call", call_id="1", name=name, arguments=json.dumps(arguments)
        )
        self.given: Any = None

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> ModelResponse:
        outputs = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        item: Any = self._call
        if outputs:
            self.given = outputs[-1]["output"]
            text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            item = ResponseOutputMessage(type="message", id="1", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **more: Any) -> Any:
        raise NotImplementedError


@asynccontextmanager
async def connect(command: str, arguments: list[str]) -> AsyncIterator[CallTool]:
    set_tracing_disabled(True)
    server = MCPServerStdio({"command": command, "args": arguments}, client_session_timeout_seconds=START_S)
    async with server:

        async def call_tool(name: str, arguments: Arguments) -> Any:
            model = OneCall(name, arguments)
            await Runner.run(Agent("script", model=model, mcp_servers=[server]), "Play the script.")
            return model.given

        yield call_tool


if __name__ == "__main__":
    play(connect)
