"""Small services for tests of the provider: each does one thing, and does it when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import SetupError
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import ActiveSession, Service, ServiceContext, ServiceMetadata
from madang.core.tools import Tool, tool, tools_of


class Echoed(Document):
    text: str
    session: str


class EchoTools:
    """One tool of each temper."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.cancelled = asyncio.Event()

    @tool(effect="read")
    async def echo(self, call: Call, text: str) -> ToolResult[Echoed]:
        """Say the same again."""
        await asyncio.sleep(0)  # others may run between the question and the answer
        return ToolResult([text], Echoed(text=text, session=call.session))

    @tool(effect="write")
    async def hang(self, call: Call) -> ToolResult[Echoed]:
        """Never answer."""
        self.entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        raise AssertionError

    @tool(effect="write")
    async def crash(self, call: Call) -> ToolResult[Echoed]:
        """Fail in a way nobody thought of."""
        raise RuntimeError("secret detail in /home/somebody/file.py")


class PatientTools:
    """A tool that says itself how long it may take."""

    @tool(effect="write", time_limit_s=0.01)
    async def wait_briefly(self, call: Call) -> ToolResult[Echoed]:
        """Never answer."""
        await asyncio.Event().wait()
        raise AssertionError


class Plain(Service):
    """A service with metadata and tools and nothing else."""

    def __init__(self, name: str = "plain", tools: tuple[Tool, ...] = ()) -> None:
        self.metadata = ServiceMetadata(name, say("Plain"), say("Does little."), "1")
        self.tools = tools


class Echo(Plain):
    def __init__(self, name: str = "echo") -> None:
        self.holder = EchoTools()
        super().__init__(name, tools_of(self.holder))


class Loading(Plain):
    """Writes down when it is opened and closed; opening fails as often as it is told to."""

    def __init__(self, name: str, diary: list[str], failures: int = 0) -> None:
        super().__init__(name)
        self.diary = diary
        self.failures = failures

    async def load(self) -> None:
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise SetupError(say("The moon is in the wrong place."), hint=say("Wait for it."))
        self.diary.append(f"load {self.metadata.name}")

    async def unload(self) -> None:
        self.diary.append(f"unload {self.metadata.name}")


class EchoLoading(Loading):
    def __init__(self, diary: list[str], failures: int = 0) -> None:
        super().__init__("echo", diary, failures)
        self.tools = tools_of(EchoTools())


class Switching(Plain):
    """Writes down where the person went."""

    def __init__(self, name: str, *, fails: bool = False) -> None:
        super().__init__(name)
        self.fails = fails
        self.seen: list[ActiveSession | None] = []

    async def switch_context(self, active: ActiveSession | None) -> None:
        self.seen.append(active)
        if self.fails:
            raise RuntimeError("no")


class Telling(Plain):
    """Tells whatever it is given as its context."""

    def __init__(self, name: str, tells: Callable[[Call], ServiceContext | str]) -> None:
        super().__init__(name)
        self.tells = tells

    async def get_service_context(self, call: Call) -> ServiceContext | str:
        return self.tells(call)


class Changing(Telling):
    """Its changes are what the test says, until it says that there are no more."""

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda _: f"{name}: {self.count}")
        self.count = 0
        self.has_changed: asyncio.Queue[bool] = asyncio.Queue()

    def change(self) -> None:
        self.count += 1
        self.has_changed.put_nowait(True)

    async def changes(self, call: Call) -> AsyncIterator[object]:
        yield None
        while await self.has_changed.get():
            yield None


class FailingToWatch(Telling):
    """Cannot say when it changes."""

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda _: f"{name}: here")

    async def changes(self, call: Call) -> AsyncIterator[object]:
        raise RuntimeError("no")
        yield
