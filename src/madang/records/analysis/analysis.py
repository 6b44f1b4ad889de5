"""Tokenizing without holding up the event loop: little inline, more in a thread, much and all Korean in a child."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from madang.core.executor import Executor, HasOwner, StopSignal
from madang.text.search.queries import Query, Tokens
from madang.text.search.tokens import Tokenizer

if TYPE_CHECKING:
    from madang.records.analysis.queue import AnalysisQueue

MAX_INLINE_CHARS = 1_000
"""A fraction of a millisecond: a thread would not take less."""
MAX_THREAD_CHARS = 64_000
"""Some 20 ms of Python, in turns with the event loop. A child would take longer to start."""
IDLE_S = 300.0
"""How long the dictionary's memory is kept after its last use."""

# All that becomes Hangul when it is normalised: syllables, decomposed and half-width ones, and signs such as ㈜.
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\u3200-\u321e\u3260-\u327f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc]")

logger = logging.getLogger(__name__)


class Analysis:
    """Turns texts into tokens, and what is typed into a query.

    The Korean dictionary takes half a second to load, during which no other thread of its process runs, and 220 MiB:
    it is loaded in a child, which also takes long texts. Use it within one event loop, and `close` it there.
    """

    def __init__(self, executor: Executor, tokenizer: Tokenizer | None = None, *, idle_s: float = IDLE_S) -> None:
        self._executor = executor
        self._tokenizer = tokenizer or Tokenizer()
        self._idle_s = idle_s
        self._queue: AnalysisQueue | None = None
        self._has_child = sys.platform != "win32"

    @property
    def name(self) -> str:
        """Names everything that tokens depend on: those made under another name do not match."""
        return self._tokenizer.name

    async def tokenize(self, owner: HasOwner, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text.

        Raises:
            LimitExceeded, Unavailable: too much waits already, or the dictionary cannot be loaded.
        """
        has_hangul = any(map(_has_hangul, texts))
        chars = sum(map(len, texts))
        if not has_hangul and chars <= MAX_INLINE_CHARS:
            return [self._tokenizer.tokens(text) for text in texts]
        if self._takes_child(has_hangul, chars):
            from madang.records.analysis.analyzer import AnalyzerCannotStart

            try:
                return await self._opened_queue().tokenize(owner, texts, has_hangul=has_hangul)
            except AnalyzerCannotStart as error:
                self._do_without_child(error)
        return await self._executor.slow.run_stoppable(owner, lambda stop: self._tokenize(texts, stop))

    async def parse_query(self, owner: HasOwner, text: str) -> Query:
        """Return what to search for.

        Raises:
            LimitExceeded, Unavailable: too much waits already, or the dictionary cannot be loaded.
        """
        has_hangul = _has_hangul(text)
        if not has_hangul and len(text) <= MAX_INLINE_CHARS:
            return self._tokenizer.query(text)
        if self._takes_child(has_hangul, len(text)):
            from madang.records.analysis.analyzer import AnalyzerCannotStart

            try:
                return await self._opened_queue().parse_query(owner, text, has_hangul=has_hangul)
            except AnalyzerCannotStart as error:
                self._do_without_child(error)
        return await self._executor.slow.run(owner, self._tokenizer.query, text)

    async def close(self) -> None:
        """End the child, and what waits for it."""
        if self._queue is not None:
            await self._queue.close()

    def _takes_child(self, has_hangul: bool, chars: int) -> bool:
        is_running = self._queue is not None and self._queue.is_running
        return self._has_child and (has_hangul or is_running or chars > MAX_THREAD_CHARS)

    def _opened_queue(self) -> AnalysisQueue:
        if self._queue is None:
            # On use: most sessions have no text that needs it.
            from madang.records.analysis.queue import AnalysisQueue

            self._queue = AnalysisQueue(self.name, self._executor.slow.stop_signal(), idle_s=self._idle_s)
        return self._queue

    def _do_without_child(self, error: Exception) -> None:
        if self._has_child:
            self._has_child = False
            logger.warning("Texts are analyzed in this process, because no other can be started for it: %s", error)

    def _tokenize(self, texts: Sequence[str], stop: StopSignal) -> list[Tokens]:
        tokens: list[Tokens] = []
        for text in texts:
            stop.checkpoint()
            tokens.append(self._tokenizer.tokens(text))
        return tokens


def _has_hangul(text: str) -> bool:
    return not text.isascii() and _HANGUL.search(text) is not None
