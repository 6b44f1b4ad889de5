"""The doors to Madang, each behind the same few words, so that one story can be told through all of them."""

from __future__ import annotations

import asyncio
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client import advertise
from mcp.client.streamable_http import streamable_http_client

from madang.app import Madang, open_madang
from madang.client import ServerProxy, connect
from madang.core.calls import Locale, PageMode
from madang.core.ids import AssistantId, SessionId
from madang.core.results import PAUSE_KEY
from madang.server.http import http_app, listening_socket, local_policy
from madang.server.http_server import HttpServer
from madang.server.mapping import APP_MIME_TYPE, FRAGMENT_KEY, UI_EXTENSION
from madang.server.mcp import McpServer
from madang.settings import Settings, UiChoice

Kind = Literal["provider", "memory", "stdio", "http"]
Era = Literal["auto", "legacy"]
"""How the official client connects: `auto` speaks 2026-07-28 with us, `legacy` 2025-11-25."""

Shows = Literal["linked", "embedded", "off"]
"""What the client can show: MCP Apps, which it declares; pages in results, by the option of the server; or nothing."""

TOKEN = "a-token-for-tests-only"


@dataclass(frozen=True)
class DoorKind:
    """Which way in, and in which era of the protocol."""

    way: Kind
    era: Era = "auto"

    def __str__(self) -> str:
        return self.way if self.way == "provider" else f"{self.way}-{self.era}"


PROVIDER = DoorKind("provider")
MCP_DOORS = tuple(DoorKind(way, era) for way in ("memory", "stdio", "http") for era in ("auto", "legacy"))
EVERY_DOOR = (PROVIDER, *MCP_DOORS)


@dataclass(frozen=True)
class Outcome:
    """What came out of a door, whichever it was."""

    text: str
    data: dict[str, Any]
    is_error: bool = False
    page: str = ""
    """The HTML a person sees: the embedded document, or the fragment for a linked view."""
    pause: str | None = None
    content: tuple[str, ...] = ("text",)
    """The types of the parts of `content`, over MCP."""
    resource: dict[str, Any] = field(default_factory=dict)
    """The embedded resource as it was on the wire."""

    @property
    def code(self) -> str:
        return str(self.data["error"]["code"]) if self.is_error else ""


class Door(ABC):
    """An open door: tools can be called through it."""

    @abstractmethod
    async def send(self, tool: str, arguments: dict[str, Any], meta: dict[str, str] | None = None) -> Outcome:
        """Call a tool, maybe with the request's own context."""

    @abstractmethod
    async def tools(self) -> dict[str, dict[str, Any]]:
        """Return the tools that are listed, by name, as they are on the wire."""

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[ServerProxy]:
        """Return our own client at this door."""

    async def call(self, tool: str, /, **arguments: Any) -> Outcome:
        return await self.send(tool, arguments)

    async def done(self, tool: str, /, **arguments: Any) -> Outcome:
        """Call a tool that has to succeed."""
        outcome = await self.send(tool, arguments)
        assert not outcome.is_error, outcome.text
        return outcome


class ProviderDoor(Door):
    """The provider in this process."""

    def __init__(self, madang: Madang, pages: PageMode) -> None:
        self._madang = madang
        self._pages = pages

    async def send(self, tool: str, arguments: dict[str, Any], meta: dict[str, str] | None = None) -> Outcome:
        assert meta is None, "a call in Python brings its context as a Call"
        reply = await self._madang.provider.execute_tool(self._madang.call("python", self._pages), tool, arguments)
        page = (reply.page.document or reply.page.fragment) if reply.page else ""
        return Outcome(reply.text, reply.data, reply.is_error, page, reply.pause)

    async def tools(self) -> dict[str, dict[str, Any]]:
        tools = await self._madang.provider.available_tools(self._madang.call("python"))
        return {tool.name: {"name": tool.name, "inputSchema": tool.input_schema} for tool in tools}

    def connect(self) -> AbstractAsyncContextManager[ServerProxy]:
        return connect(self._madang.provider, self._madang.call("python", self._pages))


class McpDoor(Door):
    """The official client, connected to whatever serves."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def send(self, tool: str, arguments: dict[str, Any], meta: dict[str, str] | None = None) -> Outcome:
        request_meta: Any = meta
        result = await self.client.call_tool(tool, arguments, meta=request_meta)
        text = result.content[0]
        assert isinstance(text, types.TextContent)
        result_meta = result.meta or {}
        resource: dict[str, Any] = {}
        for part in result.content[1:]:
            if isinstance(part, types.ResourceLink):
                continue
            assert isinstance(part, types.EmbeddedResource)
            resource = part.model_dump(mode="json", by_alias=True, exclude_none=True)
        pause = result_meta.get(PAUSE_KEY)
        return Outcome(
            text=text.text,
            data=result.structured_content or {},
            is_error=result.is_error or False,
            page=result_meta.get(FRAGMENT_KEY) or resource.get("resource", {}).get("text", ""),
            pause=pause["kind"] if pause else None,
            content=tuple(part.type for part in result.content),
            resource=resource,
        )

    async def tools(self) -> dict[str, dict[str, Any]]:
        listed = (await self.client.list_tools()).tools
        return {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed}

    def connect(self) -> AbstractAsyncContextManager[ServerProxy]:
        return connect(self.client)


@dataclass(frozen=True)
class Doors:
    """Opens doors of one kind on one data folder: one after the other for a restart, or several at once."""

    kind: DoorKind
    data_dir: Path

    @asynccontextmanager
    async def open(
        self,
        *,
        assistant: str = "default",
        session: str = "default",
        locale: Locale = "en",
        ui: UiChoice = "auto",
        shows: Shows = "embedded",
        on_message: Any = None,
    ) -> AsyncIterator[Door]:
        if shows == "embedded" and ui == "auto":
            ui = "embedded"
        settings = Settings(
            self.data_dir, AssistantId(assistant), SessionId(session), locale=locale, ui=ui, token=TOKEN
        )
        if self.kind.way == "provider":
            async with open_madang(settings) as madang:
                yield ProviderDoor(madang, settings.page_override or shows)
            return
        opened = {"memory": _in_memory, "stdio": _stdio, "http": _http}[self.kind.way]
        async with opened(settings) as server, self._client(server, shows, on_message) as client:
            yield McpDoor(client)

    def _client(self, server: Any, shows: Shows, on_message: Any) -> Client:
        pages = advertise(UI_EXTENSION, {"mimeTypes": [APP_MIME_TYPE]})
        return Client(
            server,
            mode=self.kind.era,
            extensions=[pages] if shows == "linked" else [],
            client_info=types.Implementation(name="madang-tests", version="1"),
            read_timeout_seconds=60,
            message_handler=on_message,
        )


@asynccontextmanager
async def _in_memory(settings: Settings) -> AsyncIterator[Any]:
    async with open_madang(settings) as madang:
        yield McpServer(madang.provider, madang.call("mcp-stdio"), settings.page_override).server


@asynccontextmanager
async def _stdio(settings: Settings) -> AsyncIterator[Any]:
    """A real process, as a client starts it."""
    options = {
        "--data-dir": str(settings.data_dir),
        "--assistant": settings.assistant,
        "--session": settings.session,
        "--locale": settings.locale,
        "--ui": settings.ui,
    }
    arguments = [part for option in options.items() for part in option]
    yield StdioServerParameters(command=sys.executable, args=["-m", "madang", "mcp", *arguments], env=dict(os.environ))


@asynccontextmanager
async def _http(settings: Settings) -> AsyncIterator[Any]:
    """A server over HTTP, and a client with the token."""
    headers = {"Authorization": f"Bearer {settings.token}"}
    # Loading the certificates that nobody asks for here takes longer than most stories.
    async with (
        serving_http(settings) as address,
        httpx2.AsyncClient(headers=headers, timeout=60, verify=False) as http_client,
    ):
        yield streamable_http_client(address, http_client=http_client)


@asynccontextmanager
async def serving_http(settings: Settings) -> AsyncIterator[str]:
    """The ASGI app behind uvicorn on a free port: its address."""
    with listening_socket("127.0.0.1", 0) as socket:
        port = socket.getsockname()[1]
        async with open_madang(settings, f"http://127.0.0.1:{port}") as madang:
            server = McpServer(madang.provider, madang.call("mcp-http"), settings.page_override)
            app = http_app(server.server, local_policy(settings.token, "127.0.0.1", port), madang.downloads)
            web = HttpServer(app)
            serving = asyncio.create_task(web.serve(sockets=[socket]))
            try:
                yield f"http://127.0.0.1:{port}/mcp"
            finally:
                web.should_exit = True
                await serving
