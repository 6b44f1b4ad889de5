"""Another MCP server behind our chat: its tools as a service, its pages as they are.

The connection that tests have until there is one for people. It is handed to `open_web_host` by `services`, which no
setting and no command does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client import advertise
from mcp.server import MCPServer

from madang.core.calls import Call
from madang.core.phrases import Block, layout
from madang.core.results import ForeignPage, ToolResult
from madang.core.schema_tools import SchemaTool
from madang.core.service import Service, ServiceMetadata
from madang.server.mapping import APP_MIME_TYPE, UI_EXTENSION

UI = "ui://"


class ForeignService(Service):
    """The tools of another server, each under the server's name."""

    def __init__(self, name: str, client: Client, listed: Sequence[Mapping[str, Any]]) -> None:
        self.metadata = ServiceMetadata(name, layout(name), layout(name), "1")
        self._client = client
        self._pages = tuple({page for tool in listed if (page := _page(tool))})
        self.tools = [self._tool(tool) for tool in listed]

    def _tool(self, tool: Mapping[str, Any]) -> SchemaTool:
        visibility = tool.get("_meta", {}).get("ui", {}).get("visibility", ["model", "app"])

        async def call(call: Call, arguments: Mapping[str, Any]) -> ToolResult[Any]:
            return await self._call(tool, arguments)

        return SchemaTool(
            name=f"{self.metadata.name}__{tool['name']}",
            description=tool.get("description", ""),
            effect="read",
            audience="model" if "model" in visibility else "person",
            buttons_on=self._pages if "app" in visibility else (),
            arguments=tool["inputSchema"],
            handler=call,
        )

    async def _call(self, tool: Mapping[str, Any], arguments: Mapping[str, Any]) -> ToolResult[Any]:
        result = await self._client.call_tool(tool["name"], dict(arguments))
        raw = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        text = "\n".join(part.get("text", "") for part in raw["content"] if part["type"] == "text")
        page = await self._template(tool) or _embedded(raw)
        return ToolResult([Block(text or "-")], raw.get("structuredContent", {}), foreign_page=page, raw=raw)

    async def _template(self, tool: Mapping[str, Any]) -> ForeignPage | None:
        """Return the fixed page of a tool, as its server has it."""
        if not (name := _page(tool)):
            return None
        read = await self._client.read_resource(f"{UI}{name}")
        (contents,) = read.model_dump(mode="json", by_alias=True, exclude_none=True)["contents"]
        assert contents["mimeType"] == APP_MIME_TYPE
        csp = contents.get("_meta", {}).get("ui", {}).get("csp", {})
        connect, resources = (tuple(csp.get(name, ())) for name in ("connectDomains", "resourceDomains"))
        return ForeignPage(name, contents["text"], connect, resources)


def _page(tool: Mapping[str, Any]) -> str:
    uri: str = tool.get("_meta", {}).get("ui", {}).get("resourceUri", "")
    return uri.removeprefix(UI)


def _embedded(raw: Mapping[str, Any]) -> ForeignPage | None:
    """Return the page that came with a result, as before MCP Apps: nobody knows who wrote it."""
    for part in raw["content"]:
        resource = part.get("resource", {}) if part["type"] == "resource" else {}
        if resource.get("mimeType") == "text/html":
            return ForeignPage(resource["uri"].removeprefix(UI), resource["text"], is_fixed=False)
    return None


@asynccontextmanager
async def connected(name: str, server: MCPServer | Sequence[str]) -> AsyncIterator[ForeignService]:
    """Connect to a server in this process, or to the program that a command starts."""
    target = server if isinstance(server, MCPServer) else StdioServerParameters(command=server[0], args=[*server[1:]])
    ui = advertise(UI_EXTENSION, {"mimeTypes": [APP_MIME_TYPE]})
    async with Client(target, extensions=[ui]) as client:
        listed = (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]
        yield ForeignService(name, client, listed)
