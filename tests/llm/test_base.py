"""The port: answers that are whole, and retries that can be seen."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import pytest

from madang.core.phrases import say
from madang.llm.base import (
    Model,
    ModelAnswer,
    ModelDelta,
    ModelRequest,
    Retry,
    RetryPolicy,
    complete,
    finish_of,
    retrying,
)
from madang.llm.errors import (
    BadCredentials,
    ModelError,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    ServerFailed,
    parse_retry_after,
    shorten,
    stream_error,
)
from madang.llm.messages import CallPart, TextPart, user_message

REQUEST = ModelRequest("", [user_message("Hi")])
CALLS = (TextPart("ok"), CallPart("one", "add_todo", "{}"))


class Failing(Model):
    """Says half a word and fails, once for each error; then it answers."""

    provider = name = label = "failing"

    def __init__(self, *errors: ModelError) -> None:
        self._errors = list(errors)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelAnswer, None]:
        yield ModelDelta("text", "He")
        if self._errors:
            raise self._errors.pop(0)
        yield ModelDelta("text", "llo")
        yield ModelAnswer((TextPart("Hello"),), "stop")


def test_there_is_no_answer_without_a_reason_for_its_end() -> None:
    with pytest.raises(ValueError, match="not known to be whole"):
        ModelAnswer(CALLS, "")


@pytest.mark.parametrize(
    ("raw", "is_runnable"),
    [
        ("stop", True),
        ("tool_calls", True),
        ("end_turn", True),
        ("tool_use", True),
        ("STOP", True),
        ("completed", True),
        ("length", False),
        ("max_tokens", False),
        ("MAX_TOKENS", False),
        ("content_filter", False),
        ("tool_call", True),
        ("insufficient_system_resource", True),
        ("something new", True),
    ],
)
def test_a_whole_call_is_made_unless_a_limit_may_have_cut_it_or_the_answer_was_withheld(
    raw: str, is_runnable: bool
) -> None:
    answer = ModelAnswer(CALLS, raw)

    assert bool(answer.runnable_calls) == is_runnable
    assert answer.calls == (CALLS[1],)
    assert finish_of(raw) == answer.finish


@pytest.mark.parametrize(
    ("arguments", "is_whole"), [("{}", True), ('{"a": 1}', True), ("", False), ('{"a', False), ("[]", False)]
)
def test_of_an_end_that_is_not_known_only_calls_with_whole_arguments_are_made(arguments: str, is_whole: bool) -> None:
    answer = ModelAnswer((CallPart("one", "add_todo", arguments),), "abort")

    assert bool(answer.runnable_calls) == is_whole


def test_of_an_answer_that_was_cut_the_calls_before_its_last_part_are_made() -> None:
    first, second = CallPart("one", "add_todo", "{}"), CallPart("two", "add_todo", "{}")

    assert ModelAnswer((first, second), "length").runnable_calls == (first,)
    assert ModelAnswer((first, second, TextPart("")), "length").runnable_calls == (first,)
    assert ModelAnswer((first, second, TextPart("So")), "length").runnable_calls == (first, second)


async def test_each_retry_is_told_and_its_waits_double() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    failures = [ServerFailed(say("one")), Overloaded(say("two")), ServerFailed(say("three"))]
    items = [item async for item in retrying(Failing(*failures), REQUEST, sleep=sleep, jitter=lambda: 1.0)]

    retries = [item for item in items if isinstance(item, Retry)]
    assert [(retry.attempt, retry.wait_s, str(retry.error)) for retry in retries] == [
        (1, 1.0, "one"),
        (2, 2.0, "two"),
        (3, 4.0, "three"),
    ]
    assert waits == [1.0, 2.0, 4.0]
    assert isinstance(items[-1], ModelAnswer)
    kinds = [type(item).__name__ for item in items]
    failed = ["ModelDelta", "Retry"]
    assert kinds == [*failed, *failed, *failed, "ModelDelta", "ModelDelta", "ModelAnswer"]


async def test_a_server_that_says_how_long_is_waited_for_as_long() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    model = Failing(RateLimited(say("slow"), retry_after_s=17))
    async for _ in retrying(model, REQUEST, sleep=sleep):
        pass

    assert waits == [17]


@pytest.mark.parametrize(
    "errors",
    [
        [BadCredentials(say("no"))],
        [QuotaExceeded(say("no"))],
        [RateLimited(say("no"), retry_after_s=3600)],
        [ServerFailed(say("no"))] * 3,
    ],
    ids=["credentials", "quota", "an hour", "too often"],
)
async def test_what_no_retry_mends_is_raised(errors: list[ModelError]) -> None:
    async def sleep(seconds: float) -> None:
        return

    with pytest.raises(type(errors[0])):
        async for _ in retrying(Failing(*errors), REQUEST, RetryPolicy(max_attempts=3), sleep=sleep):
            pass


async def test_the_answer_alone() -> None:
    assert (await complete(Failing(), REQUEST)).text == "Hello"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 16 Nov 2026 01:01:00 GMT"}, 60),
        ({"retry-after": "Mon, 16 Nov 2026 00:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2026, 11, 16, 1, 0, tzinfo=UTC)

    assert parse_retry_after(headers, now) == seconds


@pytest.mark.parametrize(
    ("kind", "code", "reason", "expected"),
    [
        ("overloaded_error", None, "Overloaded", "overloaded"),
        ("", 502, "bad gateway", "server_failed"),
        ("", "429", "slow", "rate_limited"),
        ("rate_limit_exceeded", None, "slow", "rate_limited"),
        ("insufficient_quota", None, "pay", "quota_exceeded"),
        ("context_length_exceeded", None, "long", "context_too_long"),
        ("invalid_request_error", None, "wrong", "request_refused"),
        ("", None, "who knows", "server_failed"),
    ],
)
def test_an_error_inside_a_stream_is_known_by_its_code_or_its_words(
    kind: str, code: object, reason: str, expected: str
) -> None:
    assert stream_error(reason, kind=kind, code=code).code == expected


def test_a_servers_words_are_bounded_and_repeat_no_secret() -> None:
    assert shorten("  wrong key sk-1234. ", ["sk-1234", ""]) == "wrong key ***"
    assert len(shorten("x" * 100_000)) == 500
