"""A real Madang behind the pages: a host's tool calls go through the official MCP client to it.

Owns how either kind of host comes by a page. What the page looks like in the browser is the embedding host's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
from anyio import Event
from playwright.async_api import Browser

from madang.core.calls import Call, Locale
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folders
from tests.browser.embedding import CallTool, EmbeddingHost
from tests.doors import PROVIDER, Door, DoorKind, Doors, Era, Kind, McpDoor


@dataclass(frozen=True)
class HostKind:
    """A kind of host: the era of MCP it speaks, and whether it links views or takes embedded pages."""

    name: str
    era: Era
    shows: Literal["linked", "embedded"]

    def __str__(self) -> str:
        return self.name


APPS = HostKind("apps", "auto", "linked")
OLD_MCP_UI = HostKind("old-mcp-ui", "legacy", "embedded")


class ServedMadang:
    """A Madang on a data folder of its own, and the host that is its client. `open_served` opens it."""

    def __init__(self, browser: Browser, kind: HostKind, data_dir: Path, door: McpDoor) -> None:
        self._browser = browser
        self._kind = kind
        self._data_dir = data_dir
        self._door = door
        self.hold: Event | None = None
        """As long as this is not set, what the page calls does not reach the server."""

    async def keep(self, **playbook: Any) -> str:
        """Create a playbook and return its id."""
        created = await self._door.done("create_playbook", **{"workflow": [], **playbook})
        return str(created.data["playbook"]["id"])

    async def given(self, goals: Sequence[str]) -> list[str]:
        """Create a playbook for each goal and return their ids."""
        return [await self.keep(goal=goal, initialCommand=goal) for goal in goals]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool for the page, and return the result as it is on the wire."""
        if self.hold:
            await self.hold.wait()
        result = await self._door.client.call_tool(name, arguments)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def listed_tool(self, name: str) -> dict[str, Any]:
        """Return a tool as the host sees it in the list."""
        return (await self._door.tools())[name]

    async def read_resource(self, uri: str) -> dict[str, Any]:
        """Read a resource for the page, and return it as it is on the wire."""
        result = await self._door.client.read_resource(uri)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    def keep_file(self, path: str, content: bytes) -> None:
        """Put a file into the workspace of the session."""
        call = Call(AssistantId("default"), SessionId("default"))
        with Folders(self._data_dir / "workspaces").of(call) as session:
            session.files.write(path, [content])

    async def linked_view(self, tool: str = "show_playbooks") -> str:
        """Return the page a tool is linked to, as a host reads it before the tool is called."""
        uri = (await self._door.tools())[tool]["_meta"]["ui"]["resourceUri"]
        (contents,) = (await self._door.client.read_resource(uri)).contents
        assert isinstance(contents, types.TextResourceContents)
        return contents.text

    def host(self, call_tool: CallTool | None = None, **options: Any) -> EmbeddingHost:
        """Return a host of this kind, with some other options or something in the way of its calls."""
        own = {"legacy": self._kind is OLD_MCP_UI, "read_resource": self.read_resource}
        return EmbeddingHost(call_tool or self.call_tool, **{**own, **options})

    @asynccontextmanager
    async def showing(
        self,
        host: EmbeddingHost | None = None,
        *,
        size: int = 10,
        tool: str = "show_playbooks",
        result: Mapping[str, Any] | None = None,
        **view: Any,
    ) -> AsyncIterator[EmbeddingHost]:
        """Show the playbooks, or `result` of another tool, in Chromium: as a linked view or an embedded page."""
        host = host or self.host()
        if result is None:
            result = await self.call_tool(tool, {"pageSize": size})
        if self._kind.shows == "linked":
            shown = host.showing(self._browser, await self.linked_view(tool), tool_result=result, **view)
        else:
            shown = host.showing(self._browser, result["content"][1]["resource"]["text"], **view)
        async with shown:
            yield host

    def another_door(self, session: str = "default") -> AbstractAsyncContextManager[Door]:
        """Open the provider on the same data folder, past the host and its server."""
        return Doors(PROVIDER, self._data_dir).open(session=session)

    async def kept_goals(self) -> list[str]:
        """Return the goals that are in the store, as another door sees them."""
        async with self.another_door() as door:
            listed = await door.done("list_playbooks")
        return [item["goal"] for item in listed.data["page"]["items"]]

    async def recorded_runs(self) -> list[str]:
        """Return the ids of the playbooks that were selected, newest first, as another door sees them."""
        async with self.another_door() as door:
            listed = await door.done("list_playbook_runs")
        return [run["playbookId"] for run in listed.data["page"]["items"]]


@asynccontextmanager
async def open_served(
    browser: Browser, data_dir: Path, kind: HostKind, *, way: Kind = "memory", locale: Locale = "en"
) -> AsyncIterator[ServedMadang]:
    """Start Madang and connect the host to it, for as long as the block runs."""
    async with Doors(DoorKind(way, kind.era), data_dir).open(locale=locale, shows=kind.shows) as door:
        assert isinstance(door, McpDoor)
        yield ServedMadang(browser, kind, data_dir, door)
