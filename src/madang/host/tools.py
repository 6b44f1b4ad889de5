"""The palette: the tools of a session with their schemas, and the calls that the person makes there."""

from __future__ import annotations

import time
from dataclasses import replace

from madang.core.event_documents import ViewReference
from madang.core.ids import new_id
from madang.core.results import page_uri
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.wire import ToolAnswer, ToolCallAnswer, ToolCallBody, ToolsAnswer
from madang.provider.provider import Provider
from madang.records.views import ViewStore, view_id


class ToolApi:
    """The operations on tools."""

    def __init__(self, calls: HostCalls, provider: Provider, views: ViewStore) -> None:
        self._calls = calls
        self._provider = provider
        self._views = views

    def operations(self) -> list[Operation]:
        tools = "/api/sessions/{id}/tools"
        return [
            Operation("GET", tools, self.list_tools, ToolsAnswer),
            Operation("POST", f"{tools}/{{name}}", self.call, ToolCallAnswer, ToolCallBody),
        ]

    async def list_tools(self, request: ApiRequest) -> ToolsAnswer:
        """Return the tools that the session's assistant may use."""
        provider = self._provider
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        return ToolsAnswer(
            tools=[
                ToolAnswer(
                    name=tool.name,
                    title=tool.title,
                    description=tool.description,
                    service=provider.find_service_name(tool.name),
                    effect=tool.effect,
                    audience=tool.audience,
                    shows_page=bool(tool.page),
                    input_schema=tool.input_schema,
                )
                for tool in await provider.available_tools(call)
            ]
        )

    async def call(self, request: ApiRequest) -> ToolCallAnswer:
        """Call a tool as the person, and return what an agent would read. An error of the tool is an answer too."""
        body: ToolCallBody = request.body
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        # An operation of its own, by which the page of this call is kept and found.
        call = replace(call, operation_id=f"host:{new_id()}", pages="linked")
        started_s = time.perf_counter()
        reply = await self._provider.execute_tool(call, request.path("name"), body.arguments)
        took_ms = round((time.perf_counter() - started_s) * 1000)
        pages = await self._views.find_pages(call.user_id, [view_id(call.operation_id)]) if reply.page else {}
        view = next((ViewReference(id=id, uri=page_uri(page)) for id, page in pages.items()), None)
        return ToolCallAnswer(
            text=reply.text,
            data=reply.data,
            is_error=reply.is_error,
            took_ms=took_ms,
            view=view,
            pause_id=reply.pause_id,
        )
