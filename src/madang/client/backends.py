"""The two backends of a proxy: a provider in this process, and the MCP SDK's client. The proxy knows neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from madang.client.reading import request_error
from madang.core.calls import Call
from madang.core.results import Reply
from madang.core.tools import Tool

if TYPE_CHECKING:
    from mcp import Client, ClientSession

MAX_LIST_PAGES = 1000
"""Of a tool list: a server whose cursor never ends must not hang the client."""


class ListedTool(Protocol):
    """A tool as a server lists it: one of ours, or the MCP SDK's."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def input_schema(self) -> dict[str, Any]: ...
    @property
    def output_schema(self) -> dict[str, Any] | None: ...


class Backend(Protocol):
    """A connection to a server. `call` returns a response for `unwrap` and raises only for bad requests."""

    async def tools(self) -> Sequence[ListedTool]: ...

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any: ...


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

    async def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        return await self._provider.execute_tool(self._call, tool, arguments)


class McpBackend:
    """An open client or session of the MCP SDK; `meta` is sent with each request."""

    def __init__(self, client: Client | ClientSession, meta: Mapping[str, str] | None = None) -> None:
        self._client = client
        self._meta: Any = dict(meta) if meta else None

    async def tools(self) -> Sequence[ListedTool]:
        from mcp import MCPError

        tools: list[ListedTool] = []
        cursor: str | None = None
        try:
            for _ in range(MAX_LIST_PAGES):
                page = await self._list(cursor)
                tools += page.tools
                cursor = page.next_cursor
                if not cursor:
                    break
        except MCPError as error:
            raise request_error(error.code, error.message, error.data) from error
        return tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        from mcp import MCPError

        try:
            return await self._client.call_tool(tool, arguments, meta=self._meta)
        except MCPError as error:
            raise request_error(error.code, error.message, error.data) from error

    async def _list(self, cursor: str | None) -> Any:
        import mcp_types as types
        from mcp import Client

        if isinstance(self._client, Client):
            # Past the client's cache: a program lists tools again to see what changed.
            return await self._client.list_tools(cursor=cursor, meta=self._meta, cache_mode="refresh")
        params = types.PaginatedRequestParams(cursor=cursor, _meta=self._meta)
        return await self._client.list_tools(params=params)
