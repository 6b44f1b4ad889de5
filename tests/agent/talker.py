"""A model that talks by a function, writes summaries, and counts tokens in its own way, for tests of history."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from madang.agent.compaction import SUMMARISE
from madang.agent.history import count_frame, count_tokens
from madang.core.phrases import say
from madang.llm.base import ModelAnswer, ModelRequest, Streamed, Usage
from madang.llm.errors import ContextTooLong, ModelError
from madang.llm.messages import CallPart, Part, TextPart
from tests.agent.bench import Script

Reply = Callable[[ModelRequest, int], Sequence[Part]]


class Talker(Script):
    """Answers with what a function returns for a request and its number; a request for a summary is not counted."""

    def __init__(self, reply: Reply, summary: str | ModelError = "The person likes tea.", factor: float = 1.0) -> None:
        super().__init__()
        self._reply = reply
        self.summary = summary
        self.factor = factor
        """How many of its tokens one of our estimated ones is."""
        self.takes_tokens = 0
        """What it takes at most, in its tokens; 0 is everything."""
        self.summaries: list[ModelRequest] = []
        self.refused = 0

    def tokens(self, request: ModelRequest) -> int:
        estimated = count_frame(request) + sum(count_tokens(message.parts) for message in request.messages)
        return int(estimated * self.factor)

    async def stream(self, request: ModelRequest) -> Streamed:
        tokens = self.tokens(request)
        if self.takes_tokens and tokens > self.takes_tokens:
            self.refused += 1
            raise ContextTooLong(say("Too long."))
        if request.instructions == SUMMARISE:
            self.summaries.append(request)
            if isinstance(self.summary, ModelError):
                raise self.summary
            parts: Sequence[Part] = [TextPart(self.summary)]
        else:
            self.requests.append(request)
            parts = self._reply(request, len(self.requests))
        calls = any(isinstance(part, CallPart) for part in parts)
        yield ModelAnswer(tuple(parts), "tool_calls" if calls else "stop", Usage(tokens, 0, 10))
