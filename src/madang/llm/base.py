"""The port to language models: `Model.stream` takes a request and gives deltas, at the end one whole answer.

An answer cannot be made without the reason that the server gave for its end, so nothing acts on half of one. Retries
are no part of a model: `retrying` makes them, and each is an event.
"""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import anyio

from madang.core.phrases import Phrase
from madang.llm.connection import RequestListener
from madang.llm.errors import ModelError
from madang.llm.messages import CallPart, Message, Part, TextPart

Finish = Literal["stop", "calls", "length", "refused", "other"]
"""Why an answer ended: it was done, it calls tools, it ran into a limit on tokens, it was withheld, or else."""

_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "completed": "stop",
    "complete": "stop",
    "done": "stop",
    "end": "stop",
    "tool_calls": "calls",
    "tool_call": "calls",
    "tool_use": "calls",
    "function_call": "calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refused",
    "content_filtered": "refused",
    "guardrail_intervened": "refused",
    "refusal": "refused",
    "safety": "refused",
    "blocklist": "refused",
    "prohibited_content": "refused",
    "recitation": "refused",
    "spii": "refused",
    "image_safety": "refused",
}


def finish_of(raw: str) -> Finish:
    """Return what a server's word for the end of an answer means. A word that is not known is `other`."""
    return _FINISHES.get(raw.lower(), "other")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as a model is told of it. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What an assistant sets for its model; None leaves it to the server."""

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    thinking: Literal["off", "low", "medium", "high"] | None = None
    parallel_calls: bool | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, as the server's own API has them."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked. Instructions, tools and messages are the prefix that servers cache.

    `state` is what services tell this turn. It changes all the time and belongs to no message: `parted` gives it its
    place.
    """

    instructions: str
    messages: Sequence[Message]
    tools: Sequence[OfferedTool] = ()
    state: str = ""
    options: ModelOptions = ModelOptions()

    def parted(self) -> tuple[Sequence[Message], Sequence[Message]]:
        """Return the messages that later requests repeat, and what ends this one alone: the state is in that.

        It stands before a message of the person's, so that their words are the last, and after results.
        """
        if not self.state:
            return self.messages, ()
        state = TextPart(self.state)
        if self.messages and self.messages[-1].role == "user":
            *history, last = self.messages
            return history, [Message("user", (state, *last.parts))]
        return self.messages, [Message("user", (state,))]


@dataclass(slots=True)
class ModelDelta:
    """A piece of an answer that is still coming. `index` is the place of its part in the answer to come.

    `call` begins a call (`call_id`, `tool`), `arguments` goes on with it; `image` says that one has come.
    """

    kind: Literal["text", "thinking", "call", "arguments", "image"]
    text: str = ""
    index: int = 0
    call_id: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took. None is what the server did not tell."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    cache_write_tokens: int | None = None
    """Of the input, those that were written into a cache, where the server has a price for that."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A whole answer. `raw_finish` is the server's own word for why it ended.

    Raises:
        ValueError: there is no such word, so it is not known to be whole.
    """

    parts: tuple[Part, ...]
    raw_finish: str
    usage: Usage = Usage()
    model: str = ""
    """The model as the server names it."""
    malformed_call: Phrase | None = None
    """Why the text, which looks like a call that the model wrote down, is none: for the model, which may try again."""
    finish: Finish = field(init=False)

    def __post_init__(self) -> None:
        if not self.raw_finish:
            raise ValueError("an answer without a reason for its end is not known to be whole")
        object.__setattr__(self, "finish", finish_of(self.raw_finish))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> tuple[CallPart, ...]:
        """All calls, also those that must not be made."""
        return tuple(part for part in self.parts if isinstance(part, CallPart))

    @property
    def runnable_calls(self) -> tuple[CallPart, ...]:
        """The calls that are whole, and may be made.

        All of an answer that is whole, and none of one that was withheld. Where it ran into a limit, those before its
        last part: that may be half of one, and still be valid JSON where a server mends it. Where it ended in a way
        that is not known, those whose arguments are a JSON object: no part of one is an object itself.
        """
        if self.finish == "length":
            parts = [part for part in self.parts if not isinstance(part, TextPart) or part.text]
            return tuple(part for part in parts[:-1] if isinstance(part, CallPart))
        if self.finish == "other":
            return tuple(call for call in self.calls if call.tool and _is_object(call.arguments))
        return self.calls if self.finish != "refused" else ()

    @property
    def message(self) -> Message:
        return Message("assistant", self.parts)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


Streamed: TypeAlias = AsyncGenerator[ModelDelta | ModelAnswer, None]


class Model(ABC):
    """A language model. One object serves many requests at once, and keeps its connections until it is closed."""

    provider: str
    """Who serves it: what an `Extra` belongs to."""
    name: str
    """The model as its server knows it."""
    label: str
    """The model as a person names it, such as `anthropic:claude` or `http://127.0.0.1:11434/v1#qwen3`."""

    @abstractmethod
    def stream(self, request: ModelRequest) -> Streamed:
        """Yield deltas as they come, then one `ModelAnswer`, and end. Closing or cancelling it ends the request.

        Raises:
            ModelError: there is no whole answer; deltas that came before mean nothing.
        """

    async def find_window(self) -> int | None:
        """Return how many tokens it reads at once, as its server tells; None if that is not told.

        Raises:
            ModelError: the server cannot be reached.
        """
        return None

    def watch_requests(self, listener: RequestListener) -> None:
        """Have a listener told of each request that leaves this computer. A model that makes none ignores it."""
        return

    async def close(self) -> None:
        """Close the connections."""
        return


async def complete(model: Model, request: ModelRequest) -> ModelAnswer:
    """Return the answer alone, for short questions such as a title or a summary.

    Raises:
        ModelError: there is none.
    """
    answer: ModelAnswer | None = None
    async with aclosing(model.stream(request)) as stream:
        async for item in stream:
            if isinstance(item, ModelAnswer):
                answer = item
    assert answer is not None, "a stream ends in an answer or an error"
    return answer


@dataclass(frozen=True, slots=True)
class Retry:
    """The request is made again in `wait_s` seconds. The deltas before it mean nothing now."""

    attempt: int
    """The number of the attempt that failed, from 1."""
    wait_s: float
    error: ModelError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is made again, and after how long."""

    max_attempts: int = 5
    first_wait_s: float = 1.0
    max_wait_s: float = 30.0
    """Of our own waits, which double."""
    max_retry_after_s: float = 120.0
    """A server that asks for a longer wait is not waited for."""


DEFAULT_RETRIES = RetryPolicy()


async def retrying(
    model: Model,
    request: ModelRequest,
    policy: RetryPolicy = DEFAULT_RETRIES,
    *,
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    jitter: Callable[[], float] = random.random,
) -> AsyncGenerator[ModelDelta | Retry | ModelAnswer, None]:
    """Yield what `model` yields, and before each further attempt a `Retry`.

    Raises:
        ModelError: that of the last attempt, or one that no retry mends.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            async with aclosing(model.stream(request)) as stream:
                async for item in stream:
                    yield item
            return
        except ModelError as error:
            wait_s = _wait(error, attempt, policy, jitter)
            if wait_s is None:
                raise error.told_when() from None
            retry = Retry(attempt, wait_s, error)
        yield retry
        await sleep(retry.wait_s)


def _wait(error: ModelError, attempt: int, policy: RetryPolicy, jitter: Callable[[], float]) -> float | None:
    """Return how long to wait before the next attempt; None if there is none."""
    if not error.retry_helps or attempt >= policy.max_attempts:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= policy.max_retry_after_s else None
    # Many runs that failed at once come back at different times.
    return min(policy.max_wait_s, policy.first_wait_s * 2.0 ** (attempt - 1)) * (0.5 + jitter() / 2)
