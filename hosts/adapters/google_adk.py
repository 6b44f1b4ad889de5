"""google-adk: an agent with a scripted model, which gets the function responses of Gemini."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.genai import types
from mcp import StdioServerParameters

from hosts.adapters.playing import START_S, CallTool, play
from hosts.script import Arguments


class OneCall(BaseLlm):
    """Calls one tool, then reads its response and stops."""

    tool: str
    arguments: Arguments
    given: list[Any]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        responses = [part.function_response for part in parts if part.function_response]
        if responses:
            self.given.append(responses[-1].response)
            part = types.Part(text="Done.")
        else:
            part = types.Part(function_call=types.FunctionCall(name=self.tool, args=self.arguments))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


@asynccontextmanager
async def connect(command: str, arguments: list[str]) -> AsyncIterator[CallTool]:
    server = StdioServerParameters(command=command, args=arguments)
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=START_S))

    async def call_tool(name: str, arguments: Arguments) -> Any:
        model = OneCall(model="scripted", tool=name, arguments=arguments, given=[])
        runner = InMemoryRunner(LlmAgent(name="script", model=model, tools=[toolset]), app_name="script")
        session = await runner.session_service.create_session(app_name="script", user_id="person")
        message = types.Content(role="user", parts=[types.Part(text="Play the script.")])
        async for _ in runner.run_async(user_id="person", session_id=session.id, new_message=message):
            pass
        return model.given[-1]

    try:
        yield call_tool
    finally:
        await toolset.close()


if __name__ == "__main__":
    play(connect)
