"""Processes that are killed by the dozen: each is a fork of one that has imported everything, and opens its own files.

`python -m tests.crash.workers SOCKET MODULE` listens; each connection is a new process, which obeys it line by line.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.crash.runs import set_clock

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 120


class Worker:
    """A process, from the outside."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def do(self, what: str, *arguments: object) -> Any:
        """Have it do something, and return what came of it; None if it died."""
        await self.begin(what, *arguments)
        return await self.outcome()

    async def begin(self, what: str, *arguments: object) -> None:
        self._writer.write(json.dumps([what, *arguments]).encode() + b"\n")
        await self._writer.drain()

    async def outcome(self) -> Any:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                line = await self._reader.readline()
        except ConnectionResetError:
            line = b""
        if not line:
            return None
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def close(self) -> None:
        """Let it end."""
        self._writer.close()


class Workers:
    """Where processes come from."""

    def __init__(self, address: str, where: str) -> None:
        self._address = address
        self._where = where
        self._workers: list[Worker] = []

    async def start(self) -> Worker:
        """Return a new process. It opens the database while the caller goes on."""
        worker = Worker(*await asyncio.open_unix_connection(self._address))
        self._workers.append(worker)
        await worker.begin("open", self._where)
        return worker

    async def ready(self) -> Worker:
        """Return a new process that has opened everything."""
        worker = await self.start()
        assert await worker.outcome() == "open"
        return worker

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


@asynccontextmanager
async def workers(where: str, kind: str = "tests.crash.runs") -> AsyncIterator[Workers]:
    """Yield a source of processes that share the database at a path or URL; `kind` is the module that opens them."""
    with tempfile.TemporaryDirectory(prefix="madang-") as folder:
        address = f"{folder}/socket"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.crash.workers", address, kind, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        source = Workers(address, where)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                assert await process.stdout.readline() == b"ready\n"
            yield source
        finally:
            source.close()
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def main(address: str, kind: str) -> None:
    module = importlib.import_module(kind)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            asyncio.run(_obey(connection, module.open_process))
            os._exit(0)
        connection.close()


async def _obey(connection: socket.socket, open_process: Callable[[str], AbstractAsyncContextManager[Any]]) -> None:
    reader, writer = await asyncio.open_connection(sock=connection)

    async def next_order() -> list[Any]:
        line = await reader.readline()
        return json.loads(line) if line else []

    def answer(**result: Any) -> None:
        writer.write(json.dumps(result).encode() + b"\n")

    where = (await next_order())[1]
    async with open_process(where) as process:
        answer(result="open")
        while order := await next_order():
            try:
                answer(result=await _do(process, *order))
            except Exception as error:
                answer(error=repr(error))
                raise


async def _do(process: Any, what: str, *arguments: Any) -> Any:
    match what:
        case "play":
            story, session, process.database.dies_at = arguments
            process.database.count = 0
            await process.play(story, session)
            return process.database.count
        case "set_clock":
            return set_clock(days=arguments[0])
        case _:
            return await getattr(process, what)(*arguments)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
