"""Real hosts on one database with a model over the wire, and an eye on their runs: none may stand still."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from madang.core.ids import UserId
from madang.database.port import Database
from tests.cli.test_web import printed_address
from tests.model_server import Exchange, ModelServer, stream
from tests.model_wires import Ask, Say, render

TODOS = [f"todo {number}" for number in range(8 if os.environ.get("MADANG_TEST_CHAOS") else 3)]
STILL_S = 15.0
"""So long a run may stand still while a host is there that could work on it."""
CEILING_S = 300.0


async def plays(exchange: Exchange) -> None:
    """Add one to-do a turn, a moment after each request, and end."""
    await asyncio.sleep(0.3)
    turn = exchange.request.answers_before
    pieces = [Ask("add_todo", json.dumps({"name": TODOS[turn]}))] if turn < len(TODOS) else [Say("Done.")]
    await stream(render(exchange.wire, pieces))(exchange)


@dataclass
class Host:
    """One `madang web`, and its JSON API."""

    process: asyncio.subprocess.Process
    http: httpx2.AsyncClient

    async def post(self, path: str, body: Any) -> Any:
        answer = await self.http.post(path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def begin(self, title: str) -> str:
        """Start a run in a new session, and return the session's id."""
        id: str = (await self.post("/api/sessions", {"title": title}))["id"]
        await self.post(f"/api/sessions/{id}/messages", {"text": title})
        return id

    async def todos(self, session: str) -> list[str]:
        state = await self.post(f"/api/sessions/{session}/tools/get_current_state", {"arguments": {}})
        return [todo["name"] for todo in state["data"]["todos"]]

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def host(folder: Path, model: ModelServer, url: str = "", user: str = "local") -> AsyncIterator[Host]:
    """Run a host until the end."""
    folder.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MADANG_")}
    environment |= {"MADANG_MODEL": f"{model.url}/v1#m", "MADANG_DATA_DIR": str(folder), "MADANG_LOCALE": "en"}
    environment |= {"MADANG_DATABASE": url} if url else {}
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "madang", "--user", user, "web", "--no-open", "--port", "0"),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(CEILING_S):
            origin, _, code = printed_address((await process.stdout.readline()).decode()).partition("/#launch=")
        async with httpx2.AsyncClient(base_url=origin, timeout=60) as http:
            token = (await http.post("/api/launch", json={"code": code})).json()["token"]
            http.headers["authorization"] = f"Bearer {token}"
            yield Host(process, http)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(CEILING_S):
            await process.wait()


@dataclass
class Watcher:
    """Reads the rows of runs until all of them are over, and notes which of them stood still for too long."""

    database: Database
    still: dict[str, float] = field(default_factory=dict)
    """How long each session has stood still at most, while the database was there."""

    async def until_over(self, sessions: Sequence[str], user: str = "local") -> dict[str, str]:
        """Wait for the end of the last run of each session, and return the states."""
        last: dict[str, tuple[int, float]] = {}
        states: dict[str, str] = {}
        async with asyncio.timeout(CEILING_S):
            while set(states.values()) - {"finished", "failed", "cancelled"} or not states:
                await asyncio.sleep(0.25)
                try:
                    rows = await self._read(user)
                except Exception:  # whatever it is: the database is away, and nobody could work
                    last.clear()
                    continue
                now = time.monotonic()
                for id, state, seq in rows:
                    if id not in sessions:
                        continue
                    states[id] = state
                    if state == "running" and last.get(id, (0, 0.0))[0] == seq:
                        self.still[id] = max(self.still.get(id, 0.0), now - last[id][1])
                    else:
                        last[id] = seq, now
        return states

    async def _read(self, user: str) -> list[Any]:
        return await self.database.find(
            "SELECT session.id, run.state, session.last_seq FROM run "
            "JOIN session ON session.user_id = run.user_id AND session.no = run.session_no WHERE run.user_id = ?1",
            user,
            user_id=UserId(user),
        )
