"""The web host that benchmarks open: in this process or in one of its own, with a model that speaks at a given pace.

`python -m benchmarks.web_host FOLDER` serves it until it is ended, and prints its port.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from madang.host_app import WebHost, open_web_host
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.messages import TextPart
from madang.llm.opening import OpenedModel
from madang.server.http import loopback_sockets
from madang.server.http_server import HttpServer
from madang.settings import Settings

BROWSER_TOKEN = "a-browser-token-for-benchmarks"
CLIENT_TOKEN = "a-client-token-for-benchmarks"
FLOOD_PIECE = "flood " * 2_700
"""16 KB, the size of what a server sends at once when it has more than its client reads."""


class SpokenModel(Model):
    """Says a text piece by piece; asked for `flood N`, so many megabytes as fast as it can."""

    provider = name = label = "spoken"

    def __init__(self, text: str = "Done.", pieces: int = 1, seconds: float = 0) -> None:
        size = -(-len(text) // pieces)
        self._pieces = [text[start : start + size] for start in range(0, len(text), size)]
        self._seconds = seconds

    async def stream(self, request: ModelRequest) -> Streamed:
        flood = re.search(r"flood (\d+)", request.messages[-1].text)
        if flood:
            for _ in range(int(flood[1]) * 2**20 // len(FLOOD_PIECE)):
                yield ModelDelta("text", FLOOD_PIECE)
                await asyncio.sleep(0)
            yield ModelAnswer((TextPart("Flooded."),), "stop")
            return
        for piece in self._pieces:
            yield ModelDelta("text", piece)
            await asyncio.sleep(self._seconds / len(self._pieces))
        yield ModelAnswer((TextPart("".join(self._pieces)),), "stop")


@dataclass(frozen=True, slots=True)
class HostClient:
    """What a benchmark does past the browser."""

    http: httpx2.AsyncClient

    @property
    def origin(self) -> str:
        return str(self.http.base_url).rstrip("/")

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        answer = await self.http.post(path, json=dict(body or {}))
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def new_session(self, title: str = "", locale: str = "en") -> str:
        id: str = (await self.post("/api/sessions", {"title": title, "locale": locale}))["id"]
        return id

    async def launch_url(self) -> str:
        code = (await self.post("/api/launch-codes"))["code"]
        return f"{self.origin}/#launch={code}"


@asynccontextmanager
async def client_of(port: int) -> AsyncIterator[HostClient]:
    headers = {"authorization": f"Bearer {BROWSER_TOKEN}"}
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as http:
        yield HostClient(http)


@asynccontextmanager
async def served_host(folder: Path, model: Model) -> AsyncIterator[tuple[WebHost, HostClient]]:
    """Serve a host from this process, on a free port."""
    sockets = loopback_sockets(0)
    port = sockets[0].getsockname()[1]
    async with open_web_host(
        Settings(data_dir=folder, model=model.name),
        lambda name: OpenedModel(model),
        port,
        client_token=CLIENT_TOKEN,
        browser_token=BROWSER_TOKEN,
    ) as host:
        server = HttpServer(host.app)
        serving = asyncio.create_task(server.serve(sockets=sockets))
        try:
            async with client_of(port) as client:
                yield host, client
        finally:
            host.readers.end()
            server.should_exit = True
            await serving
            for one in sockets:
                one.close()


@asynccontextmanager
async def host_process(folder: Path) -> AsyncIterator[tuple[int, HostClient]]:
    """Serve a host from a process of its own, so that what it takes is its own; its process id, and a client."""
    words = (sys.executable, "-m", "benchmarks.web_host", str(folder))
    process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        async with client_of(port) as client:
            yield process.pid, client
    finally:
        process.kill()
        await process.wait()


async def _serve(folder: Path) -> None:
    async with served_host(folder, SpokenModel()) as (host, _):
        print(host.address.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
