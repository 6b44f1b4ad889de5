"""The two backends of a proxy: a provider in this process, and the MCP SDK's client. The proxy knows neither."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import anyio
from pydantic import ValidationError

from madang.client.listing import MAX_LIST_S, ListedTool, ToolListBudget, unusable_list
from madang.client.reading import request_error
from madang.core.calls import Call, ProgressListener
from madang.core.errors import ConnectionLost, RequestError
from madang.core.phrases import Phrase, say
from madang.core.results import Reply
from madang.core.tools import Tool

if TYPE_CHECKING:
    from mcp import Client, ClientSession, MCPError

ProgressCallback = Callable[[float, float | None, str | None], Awaitable[None]]
"""Takes how much of a call is done, of how much, and in words what: as the MCP SDK's `progress_callback` does."""


class Backend(Protocol):
    """A connection to a server. `call` returns a response for `unwrap` and raises only for bad requests."""

    async def tools(self) -> Sequence[ListedTool]: ...

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: ProgressCallback | None = None) -> Any: ...


@runtime_checkable
class HasTools(Protocol):
    """What the client needs of a provider."""

    async def available_tools(self, call: Call) -> list[Tool]: ...

    async def execute_tool(self, call: Call, name: str, arguments: Mapping[str, Any]) -> Reply: ...


class ProviderBackend:
    """A provider in this process, which the caller opened and closes."""

    def __init__(self, provider: HasTools, call: Call) -> None:
        self._provider = provider
        self._call = call

    async def tools(self) -> Sequence[ListedTool]:
        return await self._provider.available_tools(self._call)

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: ProgressCallback | None = None) -> Reply:
        call = self._call
        if on_progress is not None:
            call = replace(call, progress=_in_words(on_progress, call))
        return await self._provider.execute_tool(call, tool, arguments)


class McpBackend:
    """An open client or session of the MCP SDK; `meta` is sent with each request."""

    def __init__(self, client: Client | ClientSession, meta: Mapping[str, str] | None = None) -> None:
        self._client = client
        self._meta: Any = dict(meta) if meta else None
        # The SDK evaluates the server's output schema on the event loop: one regular expression in it, or one cycle of
        # references, stops the program for ever, and no timeout ends it. What an answer holds is checked by `unwrap`.
        session: Any = getattr(client, "session", client)
        session.validate_tool_result = _accept_any_result

    async def tools(self) -> Sequence[ListedTool]:
        tools: list[ListedTool] = []
        cursor: str | None = None
        budget = ToolListBudget()
        try:
            with anyio.fail_after(MAX_LIST_S):
                while True:
                    page = await _answer(self._list(cursor))
                    budget.add(page.tools, page.next_cursor)
                    tools += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        return tools
        except TimeoutError as error:
            raise unusable_list(say("it takes longer than {max:g} s", max=MAX_LIST_S)) from error

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: ProgressCallback | None = None) -> Any:
        listener: Any = on_progress  # the SDK's type also wants names for the arguments, which it never uses
        return await _answer(self._client.call_tool(tool, arguments, progress_callback=listener, meta=self._meta))

    async def _list(self, cursor: str | None) -> Any:
        import mcp_types as types
        from mcp import Client

        if isinstance(self._client, Client):
            # Past the client's cache: a program lists tools again to see what changed.
            return await self._client.list_tools(cursor=cursor, meta=self._meta, cache_mode="refresh")
        params = types.PaginatedRequestParams(cursor=cursor, _meta=self._meta)
        return await self._client.list_tools(params=params)


def _in_words(on_progress: ProgressCallback, call: Call) -> ProgressListener:
    from madang.rendering.catalogue import translator  # a provider is there, and has loaded it

    async def listen(done: float, total: float | None, message: Phrase | None) -> None:
        await on_progress(done, total, message.render(translator(call.locale)) if message else None)

    return listen


async def _accept_any_result(*_: object) -> None:
    pass


async def _answer(request: Awaitable[Any]) -> Any:
    """Wait for the answer to a request; what the SDK raises becomes one of our errors."""
    from mcp import MCPError

    try:
        return await request
    except MCPError as error:
        if _is_connection_lost(error):
            raise connection_lost(error.message) from error
        raise request_error(error.code, error.message, error.data) from error
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise RequestError(say("The server's answer is not valid MCP: {reason}.", reason=reason)) from error


def connection_lost(reason: str) -> ConnectionLost:
    """Return the error for a server that is gone in the middle of a connection."""
    return ConnectionLost(
        say("The connection to the server was lost: {reason}.", reason=reason.rstrip(".")),
        hint=say("Connect again. A call that was under way may have been done: look before you repeat it."),
    )


def _is_connection_lost(error: MCPError) -> bool:
    from mcp_types import CONNECTION_CLOSED

    if isinstance(error.data, Mapping):
        return error.data.get("code") == ConnectionLost.code
    # Servers use this code for errors of their own, so the SDK's words are compared too.
    return error.code == CONNECTION_CLOSED and error.message.startswith(("Connection closed", "SSE stream "))
