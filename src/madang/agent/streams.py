"""What models of this process are writing: told to listeners at once, and written to the rows ten times a second."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from madang.core.errors import StoreUnavailable
from madang.llm.base import ModelDelta
from madang.records.runs.deltas import DeltaStore
from madang.records.runs.records import Delta, Run

FLUSH_EVERY_S = 0.1
MAX_FLUSH_WAIT_S = 2.0
"""While the database is away."""

StreamListener = Callable[[Run, int, int, ModelDelta | None], None]
"""Takes a delta of text or thinking with its run, the number of its message and the place of its first character in
the message's text, or in its thinking. None: what was told of the message is thrown away, and it is written anew."""

THINKING_BREAK = "\n\n"
"""Between the parts of what a model thought, which are shown as one text."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Stream:
    """What a run's model has sent of a message and is not written yet."""

    run: Run
    message_no: int
    at_char: int = 0
    text: str = ""
    thinking_chars: int = 0
    thinking_index: int = 0

    def add_thinking(self, delta: ModelDelta) -> tuple[int, ModelDelta]:
        """Return the place of a piece of thinking, and the piece: with a blank line before it if a new part begins.

        Nothing of it is written: it is kept with the whole answer.
        """
        place = self.thinking_chars
        if place and delta.index != self.thinking_index:
            delta = replace(delta, text=f"{THINKING_BREAK}{delta.text}")
        self.thinking_chars, self.thinking_index = place + len(delta.text), delta.index
        return place, delta

    def unwritten(self) -> Delta:
        return Delta(self.run, self.message_no, self.at_char, self.text)

    def mark_written(self, delta: Delta) -> None:
        """Take away what is written by now; more may have come meanwhile."""
        self.at_char, self.text = self.at_char + len(delta.text), self.text[len(delta.text) :]


class AnswerStreams:
    """The answers that are being written in this process. `on_lost` is told the ids of runs that it has lost."""

    def __init__(self, deltas: DeltaStore, on_lost: Callable[[str], None]) -> None:
        self._deltas = deltas
        self._on_lost = on_lost
        self._streams: dict[tuple[str, int], _Stream] = {}
        self._listeners: list[StreamListener] = []
        self._flushing: asyncio.Task[None] | None = None
        # Two that write the same text at once would both take it for theirs afterwards.
        self._writing = asyncio.Lock()

    def listen(self, listener: StreamListener) -> Callable[[], None]:
        """Hear every delta at once; call what is returned to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def hear(self, run: Run, message_no: int, delta: ModelDelta | None) -> None:
        """Take a delta of a message; None: it begins anew."""
        if delta is None:
            self._streams.pop((run.id, message_no), None)
            for listener in self._listeners:
                listener(run, message_no, 0, None)
            return
        if delta.kind not in ("text", "thinking") or not delta.text:
            return
        stream = self._streams.get((run.id, message_no))
        if stream is None:
            stream = self._streams[run.id, message_no] = _Stream(run, message_no)
        place = stream.at_char + len(stream.text)
        if delta.kind == "thinking":
            place, delta = stream.add_thinking(delta)
        for listener in self._listeners:
            listener(run, message_no, place, delta)
        if delta.kind == "thinking":
            return
        stream.run = run
        stream.text += delta.text
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())

    async def write(self) -> bool:
        """Write what is not written yet, of all runs in one unit; False if there is nothing.

        What cannot be written stays, and comes with the next write.

        Raises:
            StoreUnavailable: the database is away.
        """
        async with self._writing:
            written = [(stream, stream.unwritten()) for stream in self._streams.values() if stream.text]
            lost = await self._deltas.flush([delta for _, delta in written])
            for stream, delta in written:
                stream.mark_written(delta)
        for run in lost:
            self._on_lost(run.id)
        return bool(written)

    def forget(self, run_id: str) -> None:
        """Drop what a run has streamed that is not worked on any more."""
        for key in [key for key in self._streams if key[0] == run_id]:
            del self._streams[key]

    def close(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()

    async def _flush(self) -> None:
        """Write for as long as any run streams, and while the database is away until it is back."""
        wait_s, is_failing = FLUSH_EVERY_S, False
        try:
            while True:
                await asyncio.sleep(wait_s)
                try:
                    if not await self.write():
                        return
                    wait_s, is_failing = FLUSH_EVERY_S, False
                except Exception as error:
                    if not is_failing:
                        is_expected = isinstance(error, StoreUnavailable)
                        logger.warning("What models write is not written: %s", error, exc_info=not is_expected)
                    wait_s, is_failing = min(2 * wait_s, MAX_FLUSH_WAIT_S), True
        finally:
            self._flushing = None
