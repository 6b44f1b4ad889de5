"""A service with what no service of ours has yet: tools that reach out, bring things in, and erase for good."""

from __future__ import annotations

from pathlib import Path

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import tool, tools_of


class Done(Document):
    text: str


class OutsideTools:
    def __init__(self, log: Path | None = None) -> None:
        self._log = log
        self.sent: list[str] = []
        self.erased: list[str] = []
        self.page = "Nothing new."

    @tool(effect="write", open_world=True)
    async def send(self, call: Call, text: str) -> ToolResult[Done]:
        """Send a text to somebody."""
        self.sent.append(text)
        return ToolResult([say("Sent.")], Done(text=text))

    @tool(effect="destroy", reach="assistant", trusted=True)
    async def erase(self, call: Call, name: str) -> ToolResult[Done]:
        """Erase something that every session has, for good."""
        self.erased.append(name)
        if self._log is not None:
            with self._log.open("a") as file:
                file.write(f"{call.session_id}\n")
        return ToolResult([say("Erased.")], Done(text=name))

    @tool(effect="read")
    async def fetch(self, call: Call) -> ToolResult[Done]:
        """Read what somebody else wrote."""
        return ToolResult([self.page], Done(text=self.page))


class Outside(Service):
    """Keeps what was sent and erased, so that a test can look; the sessions that erase also in a file."""

    def __init__(self, log: Path | None = None) -> None:
        self.holder = OutsideTools(log)
        self.metadata = ServiceMetadata("outside", say("Outside"), say("Reaches out."), "1")
        self.tools = tools_of(self.holder)
