"""The words of messages, by which they are found: made before the unit that stores a message, written in it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from madang.core.calls import Call
from madang.core.errors import ToolError
from madang.records.analysis.analysis import Analysis
from madang.records.runs.journal import NewMessage, Part, Step
from madang.records.runs.word_rows import MessageWords
from madang.text.search.queries import Query, Tokens

MAX_ANALYZED_CHARS = 200_000
"""Of one message. A tool may return megabytes, and what it returned is findable by how it begins."""
MAX_WORDS = 5_000

QUOTING_TOOLS = frozenset({"search_messages"})
"""Tools whose results quote messages. A search that found them would find its own echo, and more with each time."""

logger = logging.getLogger(__name__)


class MessageAnalysis:
    """Turns messages into words."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    @property
    def name(self) -> str:
        return self._analysis.name

    async def add_words(self, call: Call, step: Step) -> Step:
        """Return a step whose messages have their words.

        A message is stored even if it cannot be analyzed now: it has no words then, and the next search makes them.
        """
        if not step.messages:
            return step
        return replace(step, messages=[await self._with_words(call, message) for message in step.messages])

    async def words(self, call: Call, parts: Sequence[Part]) -> MessageWords:
        """Return the words of a message; none, of no analysis, if it cannot be analyzed now."""
        text = searchable_text(parts)[:MAX_ANALYZED_CHARS]
        if not text:
            return MessageWords(self.name)
        try:
            [tokens] = await self._analysis.tokenize(call, [text])
        except ToolError as error:
            logger.warning("A message cannot be found by its words yet: %s", error.message)
            return MessageWords("")
        return MessageWords(self.name, _distinct(tokens))

    async def parse_query(self, call: Call, text: str) -> Query:
        return await self._analysis.parse_query(call, text)

    async def _with_words(self, call: Call, message: NewMessage) -> NewMessage:
        if message.words is not None or message.role == "summary":
            return message
        return replace(message, words=await self.words(call, message.parts))


def searchable_text(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return what people would look for in a message: what was said, and what tools returned that do not quote it."""
    return readable_text([part for part in parts if not _quotes(part)])


def readable_text(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return what was said in a message, and what tools returned."""
    texts = (part.get("text") for part in parts if part.get("type") in ("text", "result"))
    return "\n".join(text for text in texts if isinstance(text, str))


def _quotes(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "result" and str(part.get("tool")).rpartition("__")[2] in QUOTING_TOOLS


def _distinct(tokens: Tokens) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tokens.words, *tokens.weak)))[:MAX_WORDS]
