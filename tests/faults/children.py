"""Processes to be disturbed: `python -m tests.faults.children WHAT FOLDER [MORE]`, answering a line at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from madang.app import open_madang
from madang.core.ids import AssistantId, SessionId
from madang.settings import Settings
from madang.storage import audit
from tests.asking import CALL, Asker
from tests.faults.story import STORY, tell

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60
MOST_TRIES = 20


def command(what: str, folder: Path, *more: object) -> list[str]:
    return [sys.executable, "-m", "tests.faults.children", what, str(folder), *map(str, more)]


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
            for _ in range(MOST_TRIES):
                reply = await tell(asker, step)
                if not reply.is_error:
                    break
                say(f"fail {number} {reply.error_code} {' '.join(reply.text.split())}")
            say(f"ack {number}")


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    children: dict[str, Callable[..., Awaitable[None]]] = {"story": story}
    anyio.run(children[what], *arguments)
