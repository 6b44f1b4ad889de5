"""Whether the process answers, and whether it can work: two addresses for programs that watch it, without a secret.

They tell a state and nothing else: no version, no name, no reason. Who may see those has the token, or the log.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from madang.core.errors import MadangError
from madang.database.port import Database, MigrationSet
from madang.provider.provider import Provider
from madang.server.gate import PolicyRoute, RoutePolicy

HEALTH = RoutePolicy(kind="api", methods=frozenset({"GET", "HEAD"}), needs_token=False, max_answer_s=10.0)
DATABASE_S = 3.0
CACHE_S = 1.0
"""How long an answer holds. Anybody on this machine may ask, as often as they like."""

_NO_TABLES = MigrationSet("health", sqlite=())
"""Opens the database and makes nothing."""

State = Literal["ok", "ready", "not ready"]


class Readiness:
    """Whether the database answers and no service has failed to open. Those who ask at once are told the same."""

    def __init__(self, database: Database, provider: Provider) -> None:
        self._database = database
        self._provider = provider
        self._asking = asyncio.Lock()
        self._is_ready = False
        self._until = 0.0

    async def is_ready(self) -> bool:
        loop = asyncio.get_running_loop()
        async with self._asking:
            if loop.time() >= self._until:
                self._is_ready = not self._has_failed_service() and await self._answers()
                self._until = loop.time() + CACHE_S
            return self._is_ready

    def _has_failed_service(self) -> bool:
        return any(status.state == "error" for status in self._provider.status.values())

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(DATABASE_S):
                await self._database.prepare(_NO_TABLES)
                await self._database.find("SELECT 1")
        except (MadangError, TimeoutError):
            return False
        return True


def health_routes(readiness: Readiness, hosts: frozenset[str] | None = None) -> list[PolicyRoute]:
    """Return the routes of both addresses. `hosts` are the names under which they are served, if not all."""

    async def tell_health(request: Request) -> Response:
        return _answer("ok")

    async def tell_readiness(request: Request) -> Response:
        return _answer("ready" if await readiness.is_ready() else "not ready")

    policy = replace(HEALTH, hosts=hosts)
    return [
        PolicyRoute("/healthz", tell_health, policy=policy),
        PolicyRoute("/readyz", tell_readiness, policy=policy),
    ]


def _answer(state: State) -> Response:
    return JSONResponse({"state": state}, 503 if state == "not ready" else 200)
