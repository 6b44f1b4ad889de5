"""The analyzer's process as the server has it: started, asked, killed. Which question is next is not decided here."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from madang.records.analysis import frames
from madang.system.child_process import kill_group, start_python

MEMORY_BYTES = 512 << 20
"""On top of the dictionary."""
POLL_S = 0.005

_START = (
    "import os, sys; sys.path[:] = sys.argv.pop(1).split(os.pathsep); "
    "from madang.records.analysis.analyzer_child import main; main()"
)


class AnalyzerCannotStart(Exception):
    """No such process runs here: the platform does not let it, or what it needs is not where it looks."""


class AnalyzerFailed(Exception):
    """There is no answer: the process died or was late."""


class TextRefused(AnalyzerFailed):
    """The process could not take the text, and is as good as before."""


class Analyzer:
    """A process that turns texts into tokens. It is asked one question at a time.

    The thread that starts it has to live as long as the process should: that of the event loop.
    """

    def __init__(self, *, has_dictionary: bool) -> None:
        """Start the process.

        Raises:
            AnalyzerCannotStart: the operating system does not.
        """
        self.has_dictionary = has_dictionary
        # Where we found the packages: an isolated interpreter would not look into all of these folders.
        folders = os.pathsep.join(filter(None, sys.path))
        try:
            self._process = start_python(_START, folders, os.getpid(), MEMORY_BYTES, int(has_dictionary))
        except OSError as error:
            raise AnalyzerCannotStart(str(error)) from error
        self._answers = asyncio.StreamReader()
        self._pipes: list[asyncio.BaseTransport] = []
        self._questions: asyncio.WriteTransport | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    async def load(self, name: str, limit_s: float) -> None:
        """Wait until it can be asked.

        Raises:
            AnalyzerCannotStart: it does not run here, or its tokens have another name.
            AnalyzerFailed: it ran, and died or was late while it loaded the dictionary.
        """
        has_started = False
        try:
            async with asyncio.timeout(limit_s):
                await self._connect()
                await self._receive(frames.STARTED)
                has_started = True
                of_child = (await self._receive(frames.READY)).decode()
        except (AnalyzerFailed, TimeoutError) as error:
            if has_started:
                raise AnalyzerFailed(f"it could not load: {error or 'too late'}") from error
            raise AnalyzerCannotStart("it ended at once") from error
        if of_child != name:
            raise AnalyzerCannotStart(f"its tokens are {of_child} instead of {name}")

    async def ask(self, kind: bytes, payload: bytes, limit_s: float) -> bytes:
        """Return the answer to a question.

        Raises:
            TextRefused: there is none, and the next question may be asked.
            AnalyzerFailed: there is none, and will be none.
        """
        assert self._questions is not None
        self._questions.write(frames.frame(kind, payload))
        try:
            async with asyncio.timeout(limit_s):
                return await self._receive(frames.ANSWER)
        except TimeoutError:
            raise AnalyzerFailed("it took too long") from None

    def kill(self) -> None:
        """Stop it at once. Does not wait."""
        kill_group(self._process)

    async def end(self) -> None:
        """Stop it and wait until it is gone."""
        self.kill()
        for pipe in self._pipes:
            pipe.close()
        # Not `wait`: giving back the memory of the dictionary takes the kernel some milliseconds.
        while self._process.poll() is None:  # noqa: ASYNC110 - there is no event for it without a thread
            await asyncio.sleep(POLL_S)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._answers), self._process.stdout
        )
        self._pipes.append(reading)
        self._questions, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        self._pipes.append(self._questions)

    async def _receive(self, expected: bytes) -> bytes:
        try:
            kind, size = frames.HEAD.unpack(await self._answers.readexactly(frames.HEAD.size))
            if size > frames.MAX_FRAME_BYTES:
                raise AnalyzerFailed("its answer is too long")
            payload = await self._answers.readexactly(size)
        except (EOFError, OSError) as error:
            raise AnalyzerFailed(f"it ended with {self._process.poll()}") from error
        if kind == frames.FAILED:
            raise TextRefused(payload[:100].decode(errors="replace"))
        if kind != expected:
            raise AnalyzerFailed(f"its answer is of kind {kind!r}")
        return payload
