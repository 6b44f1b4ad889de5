"""How long a model thought before it spoke: measured while its answer streams, and kept with the answer."""

from __future__ import annotations

import time
from dataclasses import replace

from madang.llm.base import ModelAnswer, ModelDelta
from madang.llm.messages import Part, ThinkingPart


class ThinkingTimer:
    """Times the thinking parts of one answer: from the first piece of each to the next thing that comes after it."""

    def __init__(self) -> None:
        self._spans: dict[int, tuple[float, float]] = {}
        self._current: int | None = None

    def hear(self, delta: ModelDelta) -> None:
        """Take a piece of the answer, in the moment in which it came."""
        self._end()
        if delta.kind == "thinking":
            now = time.monotonic()
            self._spans.setdefault(delta.index, (now, now))
            self._current = delta.index

    def timed(self, answer: ModelAnswer) -> ModelAnswer:
        """Return a whole answer, with how long each of its thoughts took."""
        self._end()
        return replace(answer, parts=tuple(self._timed(index, part) for index, part in enumerate(answer.parts)))

    def _end(self) -> None:
        if self._current is not None:
            start, _ = self._spans[self._current]
            self._spans[self._current] = start, time.monotonic()
            self._current = None

    def _timed(self, index: int, part: Part) -> Part:
        if not isinstance(part, ThinkingPart) or index not in self._spans:
            return part
        start, end = self._spans[index]
        return replace(part, took_ms=round((end - start) * 1000))
