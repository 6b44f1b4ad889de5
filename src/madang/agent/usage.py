"""What requests to a model took, so that limits hold: as its server tells, or estimated where it does not. Pure.

An attempt that failed counts too, if the server had begun to answer it: it is paid for like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from madang.agent.history import count_frame, count_tokens, estimate_tokens
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Usage
from madang.llm.errors import CutShort, ModelError, Stalled
from madang.llm.opening import OpenedModel
from madang.records.runs.usage import AnswerUsage

BEGUN = (CutShort, Stalled)
"""Errors of a server that had taken the request, even if no word of an answer came."""


def answer_usage(opened: OpenedModel, answer: ModelAnswer, estimated_tokens: int) -> AnswerUsage:
    """Return what an answer took, with its cost where that is known: by the server, or by the person's prices.

    `estimated_tokens` are those of its request. A server that tells none of either, or zero, tells nothing.
    """
    usage = answer.usage
    input_tokens = usage.input_tokens or estimated_tokens
    output_tokens = usage.output_tokens or (count_tokens(answer.parts) if answer.parts else 0)
    return _priced(
        opened,
        Usage(input_tokens, usage.cached_tokens or 0, output_tokens, usage.cost, usage.cache_write_tokens or 0),
    )


def attempt_usage(
    opened: OpenedModel, estimated_tokens: int, heard: Sequence[str], error: ModelError | None
) -> AnswerUsage | None:
    """Return what an attempt took of which there is no answer; None if the server did not begin one."""
    if not heard and not isinstance(error, BEGUN):
        return None
    return _priced(opened, Usage(estimated_tokens, 0, estimate_tokens("".join(heard))))


def estimate_request(request: ModelRequest) -> int:
    """Return about how many tokens a request has."""
    return count_frame(request) + sum(count_tokens(message.parts) for message in request.messages)


def _priced(opened: OpenedModel, usage: Usage) -> AnswerUsage:
    cost = usage.cost
    if cost is None and opened.prices is not None:
        cost = opened.prices.cost(usage)
    return AnswerUsage(
        opened.model.label, usage.input_tokens or 0, usage.cached_tokens or 0, usage.output_tokens or 0, cost
    )


class HeardAnswer:
    """What came of an answer so far."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        """All that was written, thoughts and arguments of calls included: each of it is paid for."""
        self._text: list[str] = []

    def hear(self, delta: ModelDelta) -> None:
        self.pieces.append(delta.text)
        if delta.kind == "text":
            self._text.append(delta.text)

    @property
    def text(self) -> str:
        """What was said to the person."""
        return "".join(self._text)
