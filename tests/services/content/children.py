"""Processes that share one folder: `python -m tests.services.content.children NAME FOLDER ARGUMENTS`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from madang.services.content.domain.contents import Limits
from madang.services.content.engine import following
from madang.services.content.engine.following import IndexFollower
from madang.services.content.engine.index import OlderIndex, StoreIndex
from madang.services.content.store import IndexQueue
from madang.text.search import tokens
from tests.asking import Asker
from tests.services.content.contents import add, open_content, search

LIMITS = Limits(contents=100_000)


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def killed_later(*_: object) -> None:
    killed()


POINTS: dict[str, tuple[type, str, Callable[..., object]]] = {
    "before the index follows": (IndexFollower, "_step", killed_later),
    "before the index is created": (StoreIndex, "create", killed),
    "before the index is marked as usable": (StoreIndex, "write_version", killed),
    "before the text is put into the index": (StoreIndex, "replace", killed),
    "before the index commits": (StoreIndex, "commit", killed),
    "before the change leaves the queue": (IndexQueue, "remove_changes", killed_later),
}
"""Points between the answer to an addition and the end of the index update, and how a process is killed there."""


REBUILD_POINTS: dict[str, tuple[type, str, Callable[..., object]]] = {
    "before the older index is set aside": (StoreIndex, "set_aside", killed),
    "after the older index is set aside": (StoreIndex, "create", killed),
    "before the contents are queued": (IndexQueue, "queue_backlog", killed_later),
    "before the new index is marked as usable": (StoreIndex, "write_version", killed),
    "before a part of the contents is committed": (StoreIndex, "commit", killed),
    "before a part of the contents leaves the queue": (IndexQueue, "remove_changes", killed_later),
    "before the older index is removed": (OlderIndex, "remove", killed),
}
"""Points while the index of another version is made anew."""

NEW_VERSION = 999


async def load(folder: Path, round: str) -> None:
    """Add and delete for ever: every third text is deleted again."""

    async def client(asker: Asker, number: str) -> None:
        for count in range(1_000):
            key = f"key{round}x{number}x{count}"
            say(f"try add {key}")
            id = await add(asker, f"{key} common 낱말\n" + f"filler {key}\n" * 100)
            say(f"ack add {key}")
            if count % 3 == 0:
                say(f"try delete {key}")
                await asker.done("delete_content", contentId=id)
                say(f"ack delete {key}")
            if count % 5 == 0:
                say(f"try delete_store {key}")
                store = (await asker.done("create_store")).data["storeId"]
                await add(asker, "common", storeId=store)
                await asker.done("delete_store", storeId=store)
                say(f"ack delete_store {key}")

    async with open_content(folder, limits=LIMITS) as asker, anyio.create_task_group() as clients:
        for number in range(3):
            clients.start_soon(client, asker, str(number))


async def die(folder: Path, point: str, tool: str, text_or_id: str) -> None:
    """Add a text or delete one, answer, and be killed at `point`."""
    place, method, death = POINTS[point]
    setattr(place, method, death)
    async with open_content(folder) as asker:
        name = "content" if tool == "add_content" else "contentId"
        await asker.done(tool, **{name: text_or_id})
        say("answered")
        await anyio.sleep(30)
        say("alive")


async def rebuild(folder: Path, point: str) -> None:
    """Search as another version, which makes the index anew a content at a time, and be killed at `point`."""
    place, method, death = REBUILD_POINTS[point]
    setattr(place, method, death)
    tokens.TOKENIZER_VERSION = NEW_VERSION
    following.MAX_CONTENTS_PER_STEP = 1
    async with open_content(folder) as asker:
        await search(asker, "needle")
        await anyio.sleep(30)
        say("alive")


async def work(folder: Path, name: str, count: str) -> None:
    """Add texts, find each at once, and delete every fourth; say what is kept."""
    async with open_content(folder, limits=LIMITS) as asker:
        for number in range(int(count)):
            key = f"word{name}x{number}"
            id = await add(asker, f"{key} shared\n")
            assert await search(asker, key) == [id], key
            if number % 4 == 0:
                await asker.done("delete_content", contentId=id)
                assert await search(asker, key) == [], key
            else:
                say(f"{key} {id}")


CHILDREN: dict[str, Callable[..., Awaitable[None]]] = {"load": load, "die": die, "rebuild": rebuild, "work": work}

if __name__ == "__main__":
    anyio.run(lambda: CHILDREN[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:]))
