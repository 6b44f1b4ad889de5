"""Readiness is that the database answers; a process that cannot work says so, and no more."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from madang.database.sqlite.database import SqliteDatabase
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.server import health
from madang.server.gate import AccessPolicy, Gate
from madang.server.health import Readiness, health_routes


async def test_a_database_that_cannot_be_used_is_503_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "CACHE_S", 0.0)
    database = SqliteDatabase(tmp_path / "missing" / "madang.db")
    routes = health_routes(Readiness(database, Provider(AuditLog(database))))
    app = Gate(Starlette(routes=routes), AccessPolicy("t" * 16, frozenset({"here"}), frozenset()), routes)
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"state": "not ready"})
        assert (await client.get("/healthz")).json() == {"state": "ok"}

        (tmp_path / "missing").mkdir()
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()) == (200, {"state": "ready"})
    await database.close()
