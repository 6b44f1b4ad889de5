"""The part of a session's messages that a model is sent: the newest summary, and all that it does not stand for. Pure.

Tokens are estimated when a message is written, and multiplied by what the model's own counts taught (`Budget`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from madang.core.phrases import Translate, say
from madang.llm.base import ModelOptions, ModelRequest, OfferedTool
from madang.llm.messages import Message as ModelMessage
from madang.llm.messages import Part, ResultPart, dump_parts, parse_parts
from madang.llm.messages import Role as ModelRole
from madang.records.runs.journal import Message
from madang.records.runs.usage import Calibration

ASCII_CHARS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 1_500
TOKENS_PER_MESSAGE = 8
"""What a message costs beside its text."""
MIN_FACTOR, MAX_FACTOR = 0.25, 4.0
"""Of a calibration: a server that counts wrongly must not let a history grow without end, or vanish."""
NEWEST_WEIGHT = 0.3
"""Of what the last answer told, against all before it."""
MIN_CALIBRATED_TOKENS = 200
"""A shorter request tells more of a model's template than of how it counts."""
DEFAULT_ANSWER_TOKENS = 4_096
MIN_WINDOW_TOKENS = 1_000
SPARE = 0.95
"""Of what is left, as much is used: an estimate is one."""
REFUSED_WINDOW = 0.75
"""Of a request that was too long for the model, as much counts as what it takes."""
SEEN_REACH = 2
"""Times the budget, that is read of a history to see whether it fits."""
COMPACTED_REACH = 40
"""Times the budget, that is read of one to compact it: the model before may have had a far larger window."""
RESULT_CHARS = (64_000, 16_000, 4_000, 1_000)
"""To how much results of tools are shortened where the newest turn alone does not fit; steps, so that what is sent
changes seldom."""


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


def count_frame(request: ModelRequest) -> int:
    """Return about how many tokens a request has beside its messages: instructions, tools and state."""
    tools = sum(map(count_tool, request.tools))
    return estimate_tokens(request.instructions) + tools + estimate_tokens(request.state)


def count_tool(tool: OfferedTool) -> int:
    """Return about how many tokens a tool has."""
    return estimate_tokens(tool.name + tool.description + json.dumps(tool.schema, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a history a model can be sent, in estimated tokens."""

    window_tokens: int
    """All that the model takes, answer included, in its own tokens."""
    calibration: Calibration
    options: ModelOptions

    @property
    def known_tokens(self) -> int:
        """The window, or less if the model has refused that much."""
        return min(self.window_tokens, self.calibration.window_tokens or self.window_tokens)

    def history_tokens(self, frame_tokens: int) -> int:
        """Return how many estimated tokens the messages may have beside a frame of `frame_tokens`."""
        window = self.known_tokens
        answer = min(self.options.max_output_tokens or DEFAULT_ANSWER_TOKENS, window // 4)
        return max(int((window - answer) * SPARE / self.calibration.factor) - frame_tokens, 0)


def calibrate(known: Calibration, estimated_tokens: int, input_tokens: int | None) -> Calibration | None:
    """Return what is known of a model after an answer that told how many tokens its request had; None if nothing new.

    The first answer decides alone, later ones move it slowly.
    """
    if not input_tokens or estimated_tokens < MIN_CALIBRATED_TOKENS:
        return None
    ratio = min(max(input_tokens / estimated_tokens, MIN_FACTOR), MAX_FACTOR)
    factor = ratio if known.factor == 1.0 else known.factor * (1 - NEWEST_WEIGHT) + ratio * NEWEST_WEIGHT
    factor = round(factor, 3)
    return None if factor == known.factor else replace(known, factor=factor)


def learn_window(known: Calibration, estimated_tokens: int) -> Calibration:
    """Return what is known of a model after it refused a request as too long."""
    refused = int(estimated_tokens * known.factor * REFUSED_WINDOW)
    smallest = min(known.window_tokens or refused, refused)
    return replace(known, window_tokens=max(smallest, MIN_WINDOW_TOKENS))


class Window:
    """How far back a history is read: to the end of what the newest summary stands for, or some times a budget.

    It is for one reading: what was counted is not counted again when more has been read.
    """

    def __init__(self, budget_tokens: int, reach: int = SEEN_REACH) -> None:
        self._max_tokens = reach * budget_tokens
        self._count = self._tokens = self._covered = 0

    def is_full(self, newest_first: Sequence[Message]) -> bool:
        for message in newest_first[self._count :]:
            self._count += 1
            if self._covered and message.seq <= self._covered:
                return True
            if message.role == "summary" and not self._covered:
                self._covered = message.covers_seq
            self._tokens += message.tokens
            if self._tokens > self._max_tokens:
                return True
        return False


def visible(messages: Sequence[Message]) -> list[Message]:
    """Return what a model is to see of messages that are oldest first: the newest summary, then what follows it.

    It begins where a model can begin to read: never between a call and its result.
    """
    summaries = [message for message in messages if message.role == "summary"]
    covered = summaries[-1].covers_seq if summaries else 0
    rest = [message for message in messages if message.role != "summary" and message.seq > covered]
    start = next((place for place, message in enumerate(rest) if message.role != "tool"), len(rest))
    return [*summaries[-1:], *rest[start:]]


def total_tokens(messages: Sequence[Message]) -> int:
    return sum(message.tokens for message in messages)


def to_model(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return stored messages as they are sent."""
    return [ModelMessage(_role(message), parse_parts(list(message.parts))) for message in messages]


def shorten_results(messages: Sequence[ModelMessage], budget_tokens: int, translate: Translate) -> list[ModelMessage]:
    """Return messages whose results are shortened as far as they must be to fit, which is said in them."""
    shortened = list(messages)
    for max_chars in RESULT_CHARS:
        if sum(count_tokens(message.parts) for message in shortened) <= budget_tokens:
            break
        shortened = [
            replace(message, parts=tuple(_shorten(part, max_chars, translate) for part in message.parts))
            for message in messages
        ]
    return shortened


def _shorten(part: Part, max_chars: int, translate: Translate) -> Part:
    if not isinstance(part, ResultPart) or len(part.text) <= max_chars:
        return part
    half = max_chars // 2
    note = say(
        "[… {count} characters are left out here: the model's window is too small …]", count=len(part.text) - 2 * half
    )
    text = f"{part.text[:half]}\n{note.render(translate)}\n{part.text[-half:]}"
    return replace(part, text=text, images=())


def _role(message: Message) -> ModelRole:
    return message.role
