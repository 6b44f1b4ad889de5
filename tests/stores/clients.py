"""Another process with many clients on one playbook: `python -m tests.stores.clients ID CLIENTS ROUNDS VERSIONED`.

The database's URL is in MADANG_DATABASE. It prints how many of its updates were acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys

from madang.core.calls import Call
from madang.core.errors import Conflict, Unavailable
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.services.playbook.domain import PlaybookPatch
from madang.services.playbook.store import PlaybookStore

CALL = Call(AssistantId("default"), SessionId("default"), UserId("ann"))


async def _client(store: PlaybookStore, id: str, rounds: int, versioned: bool) -> int:
    acknowledged = conflicts = 0
    while acknowledged < rounds:
        expected = (await store.get(CALL, id)).version if versioned else None
        try:
            await store.update(CALL, id, PlaybookPatch(initial_command=f"{os.getpid()}"), expected)
        except Conflict:
            # As a well-behaved client does: whoever lost often waits longer, or all would lose to one another for ever.
            conflicts += 1
            await asyncio.sleep(random.random() * min(0.5, 0.002 * 2 ** min(conflicts, 10)))
            continue
        except Unavailable as error:
            # A hundred wait for one row: on a busy machine some do so for longer than a unit may. They call again, as
            # they are told to; not so where the change may have been saved.
            if "while the change was being saved" in str(error):
                raise
            continue
        acknowledged += 1
        conflicts = 0
    return acknowledged


async def _main(id: str, clients: int, rounds: int, versioned: bool) -> None:
    database = PostgresDatabase(parse_database_url(os.environ["MADANG_DATABASE"]))
    store = PlaybookStore(database)
    await store.open()
    done = await asyncio.gather(*(_client(store, id, rounds, versioned) for _ in range(clients)))
    await database.close()
    sys.stdout.write(f"{sum(done)}\n")


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "versioned"))
