"""A provider without services."""

from collections.abc import AsyncIterator

import pytest

from madang.database.sqlite.database import SqliteDatabase
from madang.provider.provider import Provider
from madang.records.audit import AuditLog


@pytest.fixture
async def database() -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(None)
    yield database
    await database.close()


@pytest.fixture
async def provider(database: SqliteDatabase) -> AsyncIterator[Provider]:
    provider = Provider(AuditLog(database))
    yield provider
    await provider.close()
