"""Other processes on the same database: `python -m tests.stores.children WHAT PATH [MORE]`.

Each says on its standard output how far it got, a line at a time, and waits for its standard input where the test has
to do something first.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import apsw
from anyio.streams.buffered import BufferedByteReceiveStream

from madang.core.calls import Call
from madang.core.errors import Conflict
from madang.core.ids import AssistantId
from madang.database.port import MigrationSet, Transaction
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.database.sqlite.database import SqliteDatabase
from madang.services.playbook.domain import PlaybookPatch
from madang.services.playbook.store import PlaybookStore
from tests.backends import NUMBERS, insert

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60
CALL = Call(assistant_id=AssistantId("default"))

SLOW_STEPS = MigrationSet(
    "slow",
    sqlite=tuple(
        f"CREATE TABLE slow{number} AS WITH RECURSIVE counted(value) AS "
        "(SELECT 1 UNION ALL SELECT value + 1 FROM counted WHERE value < 2000) SELECT value FROM counted"
        for number in range(20)
    ),
)


class Child:
    """A process that answers with lines."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin = process.stdin
        self._lines = BufferedByteReceiveStream(process.stdout)

    async def line(self, within_s: float = TIMEOUT_S) -> str:
        with anyio.fail_after(within_s):
            return (await self._lines.receive_until(b"\n", 65536)).decode()

    async def go(self) -> None:
        await self._stdin.send(b"go\n")

    async def end(self) -> None:
        await self._stdin.aclose()
        with anyio.fail_after(TIMEOUT_S):
            assert await self.process.wait() == 0


@asynccontextmanager
async def child(what: str, path: Path, *more: str) -> AsyncIterator[Child]:
    """Start one; it is gone when the block ends, whatever happens there."""
    command = [sys.executable, "-m", "tests.stores.children", what, str(path), *more]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    async with await anyio.open_process(command, cwd=ROOT, env=environment, stderr=None) as process:
        try:
            yield Child(process)
        finally:
            if process.returncode is None:
                process.kill()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _wait() -> None:
    sys.stdin.readline()


def hold_write_lock(path: str) -> None:
    """Keep others from writing until told to go."""
    connection = apsw.Connection(path)
    connection.execute("BEGIN IMMEDIATE")
    _say("held")
    _wait()
    connection.execute("ROLLBACK")
    connection.close()
    _say("released")


def hold_lock_and_write(path: str, value: str) -> None:
    """Write a number as soon as told, and commit it when told again."""
    connection = apsw.Connection(path)
    connection.execute("BEGIN IMMEDIATE; INSERT INTO number (value) VALUES (?)", (int(value),))
    _say("written")
    _wait()
    connection.execute("COMMIT")
    connection.close()
    _say("committed")


async def notify(path: str, topic: str) -> None:
    """Change something and tell it, when told to go."""
    database = SqliteDatabase(Path(path))
    await database.prepare(NUMBERS)
    _say("ready")
    await asyncio.to_thread(_wait)
    await insert(database, os.getpid(), topic=topic)
    _say("told")
    await database.close()


async def die_while_committing(_path: str, url: str, topic: str) -> None:
    """Be killed, when told to go, after a COMMIT was sent and before it is answered."""
    from madang.database.postgresql.address import parse_database_url
    from madang.database.postgresql.database import PostgresDatabase

    database = PostgresDatabase(parse_database_url(url))
    await database.prepare(NUMBERS)

    async def work(tx: Transaction) -> None:
        await tx.run("INSERT INTO number (value) VALUES (?1)", os.getpid())
        await tx.notify(topic)
        asyncio.get_running_loop().call_later(0.03, os.kill, os.getpid(), signal.SIGKILL)

    _say("ready")
    await asyncio.to_thread(_wait)
    await database.write(work)


async def migrate(path: str) -> None:
    """Bring the slow tables up to date, when told to go."""
    database = SqliteDatabase(Path(path))
    _say("ready")
    await asyncio.to_thread(_wait)
    await database.prepare(SLOW_STEPS)
    await database.close()
    _say("done")


async def be_alive(folder: str, url: str = "") -> None:
    """Say under which id this process is alive, and stay so."""
    database = PostgresDatabase(parse_database_url(url)) if url else SqliteDatabase(Path(folder) / "madang.db")
    liveness = database.new_liveness()
    await liveness.open()
    _say(liveness.me)
    await asyncio.to_thread(_wait)


async def update(path: str, playbook_id: str, times: str) -> None:
    """Update one playbook so many times, each time from the version last seen, and say how many got through."""
    database = SqliteDatabase(Path(path))
    store = PlaybookStore(database)
    await store.open()
    _say("ready")
    await asyncio.to_thread(_wait)
    acknowledged = conflicts = 0
    while acknowledged < int(times):
        version = (await store.get(CALL, playbook_id)).version
        try:
            await store.update(CALL, playbook_id, PlaybookPatch(goal=f"{os.getpid()} {acknowledged}"), version)
            acknowledged += 1
        except Conflict:
            conflicts += 1
    await database.close()
    _say(f"{acknowledged} {conflicts}")


def main() -> None:
    what, *arguments = sys.argv[1:]
    plain: dict[str, Callable[..., None]] = {
        "hold_write_lock": hold_write_lock,
        "hold_lock_and_write": hold_lock_and_write,
    }
    asynchronous: dict[str, Callable[..., Awaitable[None]]] = {
        "notify": notify,
        "die_while_committing": die_while_committing,
        "migrate": migrate,
        "update": update,
        "be_alive": be_alive,
    }
    if what in plain:
        plain[what](*arguments)
    else:
        anyio.run(asynchronous[what], *arguments)


def run(what: str, path: Path, *more: str) -> subprocess.CompletedProcess[bytes]:
    """Run one to its end, for those that wait for nothing."""
    command = [sys.executable, "-m", "tests.stores.children", what, str(path), *more]
    return subprocess.run(command, cwd=ROOT, input=b"go\n", capture_output=True, timeout=TIMEOUT_S, check=False)


if __name__ == "__main__":
    main()
