"""The part of a session's messages that a model is sent: as much as its window holds, whole turns only. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from madang.llm.messages import Message as ModelMessage
from madang.llm.messages import Part, dump_parts, parse_parts
from madang.llm.messages import Role as ModelRole
from madang.storage.runs.journal import Message

ASCII_CHARS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 1_500
TOKENS_PER_MESSAGE = 8
"""What a message costs beside its text."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has: a Hangul syllable is about one, English letters are four to one.

    No tokenizer is asked: each model has its own, and what comes back of a request calibrates this.
    """
    ascii_chars = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return ascii_chars // ASCII_CHARS_PER_TOKEN + (len(text) - ascii_chars)


def count_tokens(parts: Sequence[Part]) -> int:
    """Return about how many tokens the parts of a message have."""
    tokens = TOKENS_PER_MESSAGE
    for part in dump_parts(parts):
        for name in ("text", "arguments"):
            tokens += estimate_tokens(part.get(name, ""))
        tokens += TOKENS_PER_IMAGE * (len(part.get("images", ())) + (part["type"] == "image"))
    return tokens


class Window:
    """How much of a history is enough: a budget in tokens, or the newest summary."""

    def __init__(self, budget_tokens: int) -> None:
        self._budget_tokens = budget_tokens

    def is_full(self, newest_first: Sequence[Message]) -> bool:
        tokens = 0
        for message in newest_first:
            tokens += message.tokens
            if message.role == "summary" or tokens > self._budget_tokens:
                return True
        return False

    def cut(self, messages: Sequence[Message]) -> list[Message]:
        """Return the newest of `messages`, which are oldest first, that fit, beginning where a model can begin to read.

        That is never between a call and its result. The newest turn is there however long it is.
        """
        tokens, start = 0, len(messages)
        for place in range(len(messages) - 1, -1, -1):
            tokens += messages[place].tokens
            if tokens > self._budget_tokens and start < len(messages):
                break
            if messages[place].role in ("user", "summary"):
                start = place
            if messages[place].role == "summary":
                break
        return list(messages[start:] if start < len(messages) else messages)


def to_model(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return stored messages as they are sent."""
    return [ModelMessage(_role(message), parse_parts(list(message.parts))) for message in messages]


def _role(message: Message) -> ModelRole:
    return message.role
