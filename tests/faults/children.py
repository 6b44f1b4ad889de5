"""Processes to be disturbed: `python -m tests.faults.children WHAT FOLDER [MORE]`, answering a line at a time."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from madang.app import open_madang
from madang.core.ids import AssistantId, SessionId
from madang.database.port import MigrationSet
from madang.database.sqlite.database import SqliteDatabase
from madang.records import audit
from madang.services.content.engine.index import StoreIndex
from madang.settings import Settings
from madang.system.locks import try_lock
from tests.asking import CALL, Asker
from tests.faults.story import STORY, state, tell
from tests.stores.children import Child

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60
MAX_TRIES = 20

OLD_TABLES = MigrationSet("set", sqlite=("CREATE TABLE value (text)",))
NEW_TABLES = MigrationSet("set", sqlite=(*OLD_TABLES.sqlite, "DROP TABLE value"))


def command(what: str, folder: Path, *more: object) -> list[str]:
    return [sys.executable, "-m", "tests.faults.children", what, str(folder), *map(str, more)]


@asynccontextmanager
async def child(what: str, folder: Path, *more: object) -> AsyncIterator[Child]:
    """Start one; it is gone when the block ends, whatever happens there."""
    async with await anyio.open_process(command(what, folder, *more), cwd=ROOT, stderr=None) as process:
        try:
            yield Child(process)
        finally:
            if process.returncode is None:
                process.kill()


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # in one piece, and not kept back when the process is killed


@asynccontextmanager
async def asking(folder: str, name: str = "") -> AsyncIterator[Asker]:
    async with open_madang(Settings(Path(folder))) as madang:
        call = replace(CALL, assistant_id=AssistantId(name), session_id=SessionId(name)) if name else CALL
        yield Asker(madang.provider, madang.database, call)


async def story(folder: str) -> None:
    """Tell the story; a call that could not be done is made again.

    The audit trail is written at the end, so that every flush before belongs to a call.
    """
    audit.FLUSH_S = 3600
    async with asking(folder) as asker:
        for number, step in enumerate(STORY, start=1):
            for _ in range(MAX_TRIES):
                reply = await tell(asker, step)
                if not reply.is_error:
                    break
                say(f"fail {number} {reply.error_code} {' '.join(reply.text.split())}")
            say(f"ack {number}")


async def update(folder: str, id: str, clients: str, times: str) -> None:
    """Let clients update one playbook, each so many times from the version it has seen; say how many got through."""
    acknowledged = conflicts = 0
    async with asking(folder) as asker:

        async def client(number: int) -> None:
            nonlocal acknowledged, conflicts
            for count in range(int(times)):
                while True:
                    version = (await asker.done("get_playbook", id=id)).data["playbook"]["version"]
                    patch = {"initialCommand": f"{os.getpid()} {number} {count}"}
                    reply = await asker.ask("update_playbook", id=id, playbook=patch, expectedVersion=version)
                    if not reply.is_error:
                        break
                    assert reply.error_code == "conflict", reply.text
                    conflicts += 1
                acknowledged += 1

        await asker.done("get_playbook", id=id)
        await wait()
        async with anyio.create_task_group() as group:
            for number in range(int(clients)):
                group.start_soon(client, number)
        say(f"{acknowledged} {conflicts}")


async def mixed(folder: str, name: str, shared_id: str, rounds: str) -> None:
    """Work on things of one's own and on shared ones; then, when all have done so, say what is seen."""
    async with asking(folder) as asker:
        await wait()
        for round in range(int(rounds)):
            mine = (await asker.done("create_playbook", goal=f"{name}-{round}", workflow=[])).data["playbook"]
            await asker.done("add_todo", name=f"{name}-{round}")
            await asker.done("update_playbook", id=mine["id"], playbook={"initialCommand": "go"}, expectedVersion=1)
            # Without a version: the last one wins, and each is counted.
            await asker.done("update_playbook", id=shared_id, playbook={"initialCommand": f"{name}-{round}"})
            await asker.done("select_playbook", id=shared_id)
            await asker.done("list_playbooks", query=name, sortBy="updatedAt")
            if round % 3 == 0:
                await asker.done("delete_playbook", id=mine["id"])
        say("done")
        await wait()
        say(json.dumps(await state(asker)))


async def migrate(folder: str) -> None:
    """Bring old tables up to date, which begins with a backup."""
    database = SqliteDatabase(Path(folder) / "madang.db")
    await database.prepare(NEW_TABLES)
    await database.close()


async def hold(folder: str, what: str, *more: str) -> None:
    """Hold the lock of a file, or of a search index in the middle of adding a text to it, until told to go."""
    if what == "file":
        with open(more[0], "rb+") as file:
            assert try_lock(file.fileno())
            say("held")
            await anyio.to_thread.run_sync(sys.stdin.readline)
        return
    text, *store = more
    commit = StoreIndex.commit

    def commit_later(index: StoreIndex) -> None:
        say("held")
        time.sleep(0.5)  # it is stopped here
        commit(index)

    setattr(StoreIndex, "commit", commit_later)  # noqa: B010
    async with asking(folder) as asker:
        where = {"storeId": store[0]} if store else {}
        await asker.done("add_content", content=text, **where)
        await asker.done("keyword_similarity_search", query=text, **where)


async def wait() -> None:
    say("ready")
    await anyio.to_thread.run_sync(sys.stdin.readline)


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    children: dict[str, Callable[..., Awaitable[None]]] = {
        "story": story,
        "update": update,
        "mixed": mixed,
        "migrate": migrate,
        "hold": hold,
    }
    anyio.run(children[what], *arguments)
