"""Moments on a database server: the same texts as on a file."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from madang.core.ids import UserId
from madang.database.port import MigrationSet, Transaction
from tests.postgresql import database_in, server, url_in

MOMENTS = MigrationSet(
    "moments",
    sqlite=("CREATE TABLE moment (no INTEGER PRIMARY KEY, at TEXT)",),
    postgresql=("CREATE TABLE moment (no BIGINT PRIMARY KEY, at TIMESTAMPTZ)",),
)
TEXTS = (
    "2026-11-15T21:48:41.123Z",
    "2026-11-15T21:48:41.000Z",
    "2026-11-15T21:48:41.100Z",
    "1999-12-31T23:59:59.999Z",
    "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
    None,
)
ANN = UserId("ann")


async def insert(tx: Transaction) -> None:
    await tx.run("DELETE FROM moment")
    await tx.run_many("INSERT INTO moment VALUES (?1, ?2)", list(enumerate(TEXTS)))


@pytest.mark.parametrize("parameters", [{}, {"statement_cache_size": 0}], ids=["plain", "behind a pooler"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Seoul", "America/St_Johns"])
async def test_a_timestamp_comes_back_as_it_was_written(
    tmp_path: Path, zone: str, parameters: dict[str, object]
) -> None:
    database = database_in(tmp_path, **parameters)
    name = url_in(tmp_path).partition("@/")[2].partition("?")[0]
    server().sql(f"ALTER DATABASE {name} SET timezone = '{zone}'")
    server().sql(f"ALTER DATABASE {name} SET datestyle = 'SQL, DMY'")
    await database.prepare(MOMENTS)

    await database.write(insert, user_id=ANN)
    rows = await database.find("SELECT at FROM moment ORDER BY no", user_id=ANN)
    at = await database.find("SELECT no FROM moment WHERE at = ?1", TEXTS[2], user_id=ANN)
    later = await database.find("SELECT count(*) FROM moment WHERE at > ?1", TEXTS[0], user_id=ANN)
    await database.close()

    assert [row[0] for row in rows] == list(TEXTS)
    assert at == [(2,)]
    assert later == [(1,)]


async def test_microseconds_are_cut_and_a_connection_in_another_zone_is_understood(tmp_path: Path) -> None:
    database = database_in(tmp_path, pool_size=1)
    await database.prepare(MOMENTS)

    async def in_another_zone(tx: Transaction) -> object:
        await tx.run("SET LOCAL timezone = 'Asia/Kolkata'")
        row = await tx.one("SELECT TIMESTAMPTZ '2026-11-15 21:48:41.123999+00', TIMESTAMPTZ '1890-01-01 00:00:00+00'")
        return row

    moments = await database.write(in_another_zone)
    await database.close()

    assert moments == ("2026-11-15T21:48:41.123Z", "1890-01-01T00:00:00.000Z")


@pytest.mark.parametrize("text", ["", "now", "infinity", "2026-11-15T21:48:41"])
async def test_what_is_no_timestamp_is_refused(tmp_path: Path, text: str) -> None:
    database = database_in(tmp_path)
    await database.prepare(MOMENTS)

    with pytest.raises(asyncpg.DataError):
        await database.find("SELECT no FROM moment WHERE at = ?1", text)
    await database.close()
