"""A host on a free port with a script for a model, and a tab that talks to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from madang.cli.exports import export_everything
from madang.core.service import Service
from madang.host.static_files import StaticFiles
from madang.host.wire_events import StreamEvent
from madang.host_app import WebHost, open_web_host
from madang.llm.keys import KeyStore
from madang.llm.messages import Part
from madang.llm.opening import OpenedModel, open_model
from madang.server.http import loopback_sockets
from madang.server.http_server import HttpServer
from madang.settings import Settings
from tests.agent.bench import Script

CLIENT_TOKEN = "a-client-token-for-tests"
BROWSER_TOKEN = "a-browser-token-for-tests"


@dataclass
class Tab:
    """What a browser does."""

    host: WebHost
    http: httpx2.AsyncClient
    script: Script
    settings: Settings

    async def get(self, path: str, **options: Any) -> Any:
        return _answer(await self.http.get(path, **options))

    async def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return _answer(await self.http.post(path, json={} if body is None else body, **options))

    async def new_session(self, **fields: Any) -> str:
        id: str = (await self.post("/api/sessions", fields))["id"]
        return id

    async def write(self, session: str, text: str) -> Any:
        return await self.post(f"/api/sessions/{session}/messages", {"text": text})

    async def messages(self, session: str) -> Any:
        return await self.get(f"/api/sessions/{session}/messages")

    async def inbox(self) -> list[Any]:
        items: list[Any] = (await self.get("/api/inbox"))["items"]
        return items

    @asynccontextmanager
    async def events(self, session: str, after: int = 0) -> AsyncIterator[Events]:
        """Read the stream of a session."""
        path = f"/api/sessions/{session}/events"
        async with self.http.stream("GET", path, params={"after": after}) as response:
            assert response.status_code == 200, await response.aread()
            yield Events(response.aiter_lines())


@dataclass
class Events:
    """The events of a stream, in the order in which they came."""

    lines: AsyncIterator[str]
    seen: list[dict[str, Any]] = field(default_factory=list)

    async def next(self) -> dict[str, Any]:
        id = None
        async with asyncio.timeout(60):
            async for line in self.lines:
                if line.startswith("id: "):
                    id = int(line[4:])
                elif line.startswith("data: "):
                    StreamEvent.model_validate_json(line[6:])
                    event = {**json.loads(line[6:]), "_id": id}
                    self.seen.append(event)
                    return event
        raise EOFError

    async def until(self, kind: str, name: str = "") -> dict[str, Any]:
        """Return the next event of a kind, and of a name if it is a CUSTOM one."""
        while True:
            event = await self.next()
            if event["type"] == kind and (not name or event.get("name") == name):
                return event

    def stored(self) -> list[dict[str, Any]]:
        return [event for event in self.seen if event["_id"] is not None]


def _answer(response: httpx2.Response) -> Any:
    assert response.status_code < 300, (response.status_code, response.text)
    return response.json()


@asynccontextmanager
async def hosting(
    folder: Path,
    *answers: Sequence[Part],
    script: Script | None = None,
    static: Path | None = None,
    settings: Settings | None = None,
    environment: dict[str, str] | None = None,
    services: Sequence[Service] = (),
    url: str = "",
) -> AsyncIterator[Tab]:
    """Serve a host until the end; without answers the person is the model."""
    model = script or Script(*answers)
    settings = settings or Settings(data_dir=folder, model="script" if answers or script else "", database=url)
    configs = dict(settings.models)
    keys = KeyStore(folder, environment)
    sockets = loopback_sockets(0)
    port = sockets[0].getsockname()[1]
    files = None
    if static is not None:
        files = StaticFiles(f"http://127.0.0.1:{port}", f"http://localhost:{port}", static)
    async with open_web_host(
        settings,
        lambda name: OpenedModel(model) if name == "script" else open_model(name, configs, keys),
        port,
        configs=configs,
        keys=keys,
        export=export_everything,
        client_token=CLIENT_TOKEN,
        browser_token=BROWSER_TOKEN,
        files=files,
        services=services,
    ) as host:
        server = HttpServer(host.app)
        serving = asyncio.create_task(server.serve(sockets=sockets))
        headers = {"authorization": f"Bearer {BROWSER_TOKEN}"}
        try:
            async with httpx2.AsyncClient(base_url=host.address.origin, headers=headers, timeout=60) as client:
                yield Tab(host, client, model, settings)
        finally:
            host.readers.end()
            server.should_exit = True
            await serving
            for one in sockets:
                one.close()
