"""Processes on one store of a database server: `python -m tests.services.content.part_children ROLE URL`.

Each does its work until it is killed, and says the numbers of the chunks that are committed or deleted.
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import Awaitable, Callable

from madang.core.errors import NotFound, Unavailable
from madang.core.ids import UserId
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.services.content.domain.contents import Limits
from madang.services.content.store import ContentStore, parts
from madang.services.content.store.parts import Parts
from madang.services.content.store.ranking import ServerRanking
from tests.services.content.parts import ANN, CHUNKS, NAME, House, NamedAnalysis

USER = UserId("ann")


def say(word: str, numbers: list[int]) -> None:
    os.write(1, f"{word} {' '.join(map(str, numbers))}\n".encode())


async def add(house: House) -> None:
    id = await house.add(*(f"tea {uuid.uuid4().hex}" for _ in range(3)))
    say("added", await numbers(house, id))
    await asyncio.sleep(0.05)


async def delete(house: House) -> None:
    rows = await house.database.find("SELECT id FROM content ORDER BY random() LIMIT 1", user_id=USER)
    for (id,) in rows:
        its_numbers = await numbers(house, id)
        try:
            await house.delete(id)
        except NotFound:
            continue
        say("deleted", its_numbers)
    await asyncio.sleep(0.02)


async def fold(house: House) -> None:
    try:
        if await house.fold():
            say("folded", [])
        await house.rebuild()
    except Unavailable:
        await asyncio.sleep(0.01)


async def numbers(house: House, id: str) -> list[int]:
    rows = await house.database.find(
        "SELECT k.no FROM content c JOIN content_chunk k ON k.user_id = c.user_id AND k.content_no = c.no "
        "WHERE c.user_id = ?1 AND c.id = ?2",
        USER,
        id,
        user_id=USER,
    )
    return [no for (no,) in rows]


ROLES: dict[str, Callable[[House], Awaitable[None]]] = {"add": add, "delete": delete, "fold": fold}


async def main(role: str, url: str) -> None:
    parts.PART_CHUNKS = CHUNKS
    database = PostgresDatabase(parse_database_url(url))
    contents = ContentStore(database, Limits())
    await contents.open()
    [store] = await contents.list_stores(ANN)
    house = House(database, contents, ServerRanking(database, NamedAnalysis(NAME)), Parts(database), store.key)
    say("ready", [])
    while True:
        await ROLES[role](house)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
