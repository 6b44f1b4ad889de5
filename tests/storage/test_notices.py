"""Publishing changes of what is not in the database."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from anyio import fail_after

from madang.core.ids import UserId
from madang.storage.database import Database
from madang.storage.notices import Notices
from madang.storage.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

USER = UserId("local")


async def test_a_published_change_reaches_the_subscribers_of_its_topic(database: Database) -> None:
    notices = Notices(database)
    await notices.open()

    changes = cast("AsyncGenerator[frozenset[str], None]", notices.changes("files/"))
    async with aclosing(changes):
        with fail_after(60):
            assert await anext(changes) == frozenset()
            await notices.publish("other/", user_id=USER)
            await notices.publish("files/a/", user_id=USER)
            assert await anext(changes) == {"files/a/"}


async def test_a_database_that_is_away_does_not_make_the_change_fail(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "madang.db")
    notices = Notices(database)
    await notices.open()
    await database.close()

    await notices.publish("files/a/", user_id=USER)
