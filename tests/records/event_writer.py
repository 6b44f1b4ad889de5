"""Another process that writes events of one session: `python -m tests.records.event_writer PATH WRITER COUNT`.

PATH is the file, or the URL of a server. It prints the number of each event once it is written. Each unit writes one to
three events, so that one that is killed can be in the middle of several.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.database.sqlite.database import SqliteDatabase
from madang.records.events import EventLog, NewEvent

CALL = Call(AssistantId("editor"), SessionId("shared"), UserId("ann"))


def open_database(place: str) -> Database:
    if place.startswith("postgresql"):
        return PostgresDatabase(parse_database_url(place))
    return SqliteDatabase(Path(place))


async def main(place: str, writer: str, count: int) -> None:
    database = open_database(place)
    log = EventLog(database)
    await log.open()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    number = 0
    while number < count:
        size = min(1 + number % 3, count - number)
        events = [NewEvent("STEP", {"writer": writer, "number": number + place}) for place in range(size)]
        last = await log.append(CALL, *events)
        number += size
        sys.stdout.write(f"{last}\n")
        sys.stdout.flush()
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
