"""Tokenizing without holding up the event loop."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.executor import Executor, HasOwner, StopSignal
from madang.storage.search.queries import Query, Tokens
from madang.storage.search.tokens import Tokenizer

MAX_INLINE_CHARS = 200


class Analysis:
    """Turns texts into tokens, and what is typed into a query, in threads."""

    def __init__(self, executor: Executor, tokenizer: Tokenizer | None = None) -> None:
        self._executor = executor
        self._tokenizer = tokenizer or Tokenizer()

    @property
    def name(self) -> str:
        """Names everything that tokens depend on: those made under another name do not match."""
        return self._tokenizer.name

    async def tokenize(self, owner: HasOwner, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text."""
        # Loading the dictionary takes half a second and a large text longer, which the event loop does not have.
        return await self._executor.slow.run_stoppable(owner, lambda stop: self._tokenize(texts, stop))

    async def parse_query(self, owner: HasOwner, text: str) -> Query:
        """Return what to search for."""
        if len(text) < MAX_INLINE_CHARS and text.isascii():
            return self._tokenizer.query(text)
        return await self._executor.slow.run(owner, self._tokenizer.query, text)

    async def close(self) -> None:
        """Nothing to close: the threads belong to the executor."""

    def _tokenize(self, texts: Sequence[str], stop: StopSignal) -> list[Tokens]:
        tokens: list[Tokens] = []
        for text in texts:
            stop.check()
            tokens.append(self._tokenizer.tokens(text))
        return tokens
