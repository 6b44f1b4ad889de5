"""What a model writes into its text beside its answer: thoughts between tags, and calls. Pure.

Servers that know a model's template part these from the text themselves; those that do not leave it to us. What may
still become a call is held back, so that nobody is shown one as an answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal, TypeAlias

from madang.llm.text_calls import HEAD_CHARS, MAX_CALL_CHARS, may_be_call

Piece: TypeAlias = tuple[Literal["text", "thinking"], str]

THOUGHT_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
}
MAX_BLANK_CHARS = 1000
_CLOSED_ONLY = re.compile(r"\A(?!.*<think>)(.*?)\n?^[ \t]*</think>[ \t]*$(?!.*</think>)", re.DOTALL | re.MULTILINE)


def split_thought(text: str) -> tuple[str, str] | None:
    """Return thought and answer of a text with the end of a thought but not its beginning; None if it is not such.

    Templates that begin the thought in the prompt leave the tag out of the answer.
    """
    if "</think>" not in text or not (match := _CLOSED_ONLY.match(text)):
        return None
    return match.group(1).strip(), text[match.end() :].lstrip()


class TextReader:
    """Parts a text that is still coming into thoughts, what may be a call, and the rest."""

    def __init__(self, offered: Collection[str]) -> None:
        self._offered = offered
        self._held = ""
        self._more: list[str] = []
        """What has come to a text that begins like a call: only its end tells whether it is one."""
        self._size = 0
        self._closing = ""
        """What ends the thought that is coming; empty if none is."""
        self._is_begun = False
        """The answer has begun: all that comes now is text."""
        self._had_thought = False

    def feed(self, text: str) -> list[Piece]:
        """Return what is known of the text so far, in order."""
        if self._is_begun:
            return [("text", text)]
        self._size += len(text)
        if self._more:
            self._more.append(text)
            return self.release() if self._size > MAX_CALL_CHARS else []
        self._held += text
        return list(self._read())

    def release(self) -> list[Piece]:
        """Return what is held as text, since it is no call; blanks alone are no answer."""
        held = self._take()
        if self._closing:
            self._closing = ""
            return [("thinking", held)] if held else []
        if not held.strip():
            return []
        self._is_begun = True
        return [("text", held)]

    def end(self) -> tuple[list[Piece], str]:
        """Return the last pieces, and the text that was held because it may be a call."""
        if self._closing or not self._held.strip():
            return self.release(), ""
        return [], self._take()

    def _take(self) -> str:
        held = "".join((self._held, *self._more))
        self._held, self._more = "", []
        return held

    def _read(self) -> Iterator[Piece]:
        while not self._is_begun:
            if self._closing:
                thought, closing, rest = self._held.partition(self._closing)
                if not closing:
                    kept = _overlap(self._held, self._closing)
                    thought, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
                    if thought:
                        yield "thinking", thought
                    return
                if thought:
                    yield "thinking", thought
                self._held, self._closing, self._had_thought = rest, "", True
            text = self._held.lstrip()
            opening = next((tag for tag in THOUGHT_TAGS if text.startswith(tag)), "")
            if opening:
                self._held, self._closing = text[len(opening) :], THOUGHT_TAGS[opening]
            elif self._is_open(text):
                return
            else:
                self._is_begun = True
                held, self._held = text if self._had_thought else self._held, ""
                yield "text", held

    def _is_open(self, text: str) -> bool:
        """Tell whether it is not known yet what a text is that has begun so."""
        if not text:
            return len(self._held) <= MAX_BLANK_CHARS
        if any(tag.startswith(text) for tag in THOUGHT_TAGS):
            return True
        if not self._offered or len(text) > MAX_CALL_CHARS or not may_be_call(text):
            return False
        if len(text) > HEAD_CHARS:
            self._more = [""]
        return True


def _overlap(text: str, tag: str) -> int:
    """Return how much of the end of a text may be the beginning of a tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
