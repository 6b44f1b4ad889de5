"""What every adapter promises, over the real wires of a server that also misbehaves."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anyio
import pytest

from madang.llm import errors
from madang.llm.base import Model, ModelOptions, ModelRequest, Usage
from madang.llm.connection import StreamLimits
from madang.llm.errors import ModelError
from madang.llm.messages import CallPart, ImagePart, Message, ResultPart, TextPart, ThinkingPart, user_message
from tests.llm.adapters import ADAPTERS, ADD, KEY, QUESTION, Adapter, collect
from tests.model_server import Exchange, ModelServer, answers, refuses, story, stream
from tests.model_wires import END_EVENTS, Ask, Say, Think, error_event, keep_alive, render, with_keep_alives

PNG = b"\x89PNG\r\n\x1a\n-not-really"
HALF = '{"name": "never run on half of this"}'


async def test_a_whole_answer(adapter: Adapter, server: ModelServer, model: Model) -> None:
    server.plays(answers(Say("Hello there, you")))

    deltas, answer = await collect(model)

    assert [delta.text for delta in deltas] == ["Hello ", "there, ", "you"]
    assert {(delta.kind, delta.index) for delta in deltas} == {("text", 0)}
    assert (answer.text, answer.finish, answer.usage) == ("Hello there, you", "stop", Usage(100, 40, 20, None))
    assert answer.raw_finish


async def test_what_was_written_to_a_cache_is_told(server: ModelServer, opened: Callable[..., Model]) -> None:
    """Anthropic asks more for it than for other input."""
    read, both = b'"cache_read_input_tokens": 40', b'"cache_read_input_tokens": 40, "cache_creation_input_tokens": 30'
    server.plays(stream([event.replace(read, both) for event in render("anthropic", [Say("Hello")])]))

    _, answer = await collect(opened(ADAPTERS["anthropic"]))

    assert answer.usage == Usage(130, 40, 20, cache_write_tokens=30)


async def test_a_text_and_two_calls(adapter: Adapter, server: ModelServer, model: Model) -> None:
    first, second = Ask("add_todo", '{"name": "a"}', "one"), Ask("add_todo", '{"name": "b"}', "two")
    server.plays(answers(Say("Both now."), first, second))

    deltas, answer = await collect(model)

    calls = [(call.id, call.tool, json.loads(call.arguments)) for call in answer.runnable_calls]
    assert calls == [("one", "add_todo", {"name": "a"}), ("two", "add_todo", {"name": "b"})]
    assert answer.text == "Both now."
    started = [(delta.call_id, delta.tool) for delta in deltas if delta.kind == "call"]
    assert started == [("one", "add_todo"), ("two", "add_todo")]
    for place, part in enumerate(answer.parts):
        if isinstance(part, CallPart):
            pieces = [delta.text for delta in deltas if delta.kind == "arguments" and delta.index == place]
            assert json.loads("".join(pieces)) == json.loads(part.arguments)


@pytest.mark.parametrize("step", [1, 3, 50])
async def test_arguments_may_be_split_anywhere(adapter: Adapter, server: ModelServer, model: Model, step: int) -> None:
    arguments = json.dumps({"name": '한글 "quoted" \\ \n 😀'}, ensure_ascii=False)
    server.plays(answers(Ask("add_todo", arguments, step=step)))

    _, answer = await collect(model)

    (call,) = answer.runnable_calls
    assert json.loads(call.arguments) == json.loads(arguments)


async def test_a_stream_may_be_split_anywhere(adapter: Adapter, server: ModelServer, model: Model) -> None:
    whole = b"".join(render(adapter.wire, [Say("한글 text"), Ask("add_todo", '{"name": "한"}')]))
    server.plays(stream([whole[start : start + 11] for start in range(0, len(whole), 11)]))

    _, answer = await collect(model)

    assert answer.text == "한글 text"
    assert json.loads(answer.runnable_calls[0].arguments) == {"name": "한"}


@pytest.mark.parametrize("cut", ["inside the arguments", "after the arguments"])
async def test_a_clean_end_without_a_reason_is_no_answer(
    adapter: Adapter, server: ModelServer, model: Model, cut: str
) -> None:
    events = render(adapter.wire, [Say("Let me"), Ask("add_todo", HALF)])
    kept = events[: -END_EVENTS[adapter.wire]]
    server.plays(stream(kept if cut == "after the arguments" else kept[:-2]))

    with pytest.raises(ModelError) as caught:
        await collect(model)

    assert caught.value.code in ("cut_short", "bad_reply")
    assert caught.value.retry_helps


async def test_a_reset_inside_the_arguments_is_no_answer(adapter: Adapter, server: ModelServer, model: Model) -> None:
    events = render(adapter.wire, [Say("Let me"), Ask("add_todo", HALF)])
    server.plays(stream(events[: -END_EVENTS[adapter.wire] - 1], reset=True))

    with pytest.raises(ModelError) as caught:
        await collect(model)

    assert caught.value.retry_helps


async def test_calls_of_an_answer_that_hit_its_limit_are_not_made(
    adapter: Adapter, server: ModelServer, model: Model
) -> None:
    server.plays(answers(Ask("add_todo", '{"name": "whole"}'), finish="length"))

    _, answer = await collect(model)

    assert answer.finish == "length"
    assert len(answer.calls) == 1
    assert answer.runnable_calls == ()


async def test_calls_of_an_answer_that_was_withheld_are_not_made(
    adapter: Adapter, server: ModelServer, model: Model
) -> None:
    server.plays(answers(Say("Well"), Ask("add_todo", "{}"), finish="refused"))

    try:
        _, answer = await collect(model)
    except ModelError:
        return
    assert answer.runnable_calls == ()


async def test_an_error_inside_the_stream_is_raised(adapter: Adapter, server: ModelServer, model: Model) -> None:
    begun = render(adapter.wire, [Say("Let me"), Ask("add_todo", HALF)])[:4]
    server.plays(stream([*begun, error_event(adapter.wire, "Overloaded, come back", "overloaded_error")]))

    with pytest.raises(ModelError, match="Overloaded, come back") as caught:
        await collect(model)

    assert caught.value.retry_helps


async def test_what_keeps_a_connection_alive_is_no_part_of_the_answer(
    adapter: Adapter, server: ModelServer, model: Model
) -> None:
    events = with_keep_alives(adapter.wire, render(adapter.wire, [Say("Hello there"), Ask("add_todo")]))
    server.plays(stream(events))

    _, answer = await collect(model)

    assert (answer.text, len(answer.runnable_calls)) == ("Hello there", 1)


async def test_what_the_model_thought_goes_back_to_the_same_model_only(
    adapter: Adapter, server: ModelServer, opened: Callable[..., Model]
) -> None:
    # Only of models that are known to think does pydantic-ai send OpenAI's thoughts back.
    model, other = opened(adapter, "gpt-5"), opened(adapter, "gpt-5-mini")
    server.plays(answers(Think("Hm, let me see"), Say("Ok."), Ask("add_todo", "{}", "one")))

    deltas, answer = await collect(model)
    results = Message("tool", (ResultPart("one", "add_todo", "Added."),))
    followed = replace(QUESTION, messages=[*QUESTION.messages, answer.message, results])
    await collect(model, followed)
    await collect(other, followed)

    assert "".join(delta.text for delta in deltas if delta.kind == "thinking") == "Hm, let me see"
    (thought,) = [part for part in answer.parts if isinstance(part, ThinkingPart)]
    assert thought.text == "Hm, let me see"
    proof = {"chat": "Hm, let me see", "anthropic": "signed", "responses": "signed", "google": "c2lnbmVk"}[adapter.wire]
    _, same, changed = server.requests
    assert proof in same.raw.decode()
    assert proof not in changed.raw.decode()
    assert "Hm, let me see" not in changed.raw.decode()


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected", "helps"),
    [
        (401, "authentication_error", f"bad key {KEY}", errors.BadCredentials, False),
        (403, "permission_error", "not yours", errors.BadCredentials, False),
        (402, "billing_error", "no money", errors.QuotaExceeded, False),
        (404, "not_found_error", "no such model", errors.UnknownModel, False),
        (408, "timeout", "slow", errors.Stalled, True),
        (422, "invalid_request_error", "wrong", errors.RequestRefused, False),
        (429, "rate_limit_error", "slow down", errors.RateLimited, True),
        (429, "insufficient_quota", "You exceeded your current quota", errors.QuotaExceeded, False),
        (500, "api_error", "broken", errors.ServerFailed, True),
        (502, "api_error", "broken", errors.ServerFailed, True),
        (503, "unavailable", "later", errors.Overloaded, True),
        (529, "overloaded_error", "Overloaded", errors.Overloaded, True),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", errors.ContextTooLong, False),
        (400, "context_length_exceeded", "This model's maximum context length is 8", errors.ContextTooLong, False),
        (
            400,
            "exceed_context_size_error",
            "the request exceeds the available context size",
            errors.ContextTooLong,
            False,
        ),
    ],
)
async def test_a_status_says_what_can_be_done(
    adapter: Adapter,
    server: ModelServer,
    model: Model,
    status: int,
    kind: str,
    message: str,
    expected: type[ModelError],
    helps: bool,
) -> None:
    server.plays(refuses(status, message, kind))

    with pytest.raises(ModelError) as caught:
        await collect(model)

    assert type(caught.value) is expected
    assert (caught.value.retry_helps, caught.value.status) == (helps, status)
    assert KEY not in f"{caught.value} {caught.value!r} {caught.value.hint}"
    assert len(server.requests) == 1, "retries are not hidden"


async def test_how_long_to_wait_is_told(adapter: Adapter, server: ModelServer, model: Model) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(minutes=5), usegmt=True)
    server.plays(refuses(429, headers={"retry-after": "7"}), refuses(529, headers={"retry-after": later}))

    with pytest.raises(ModelError) as in_seconds:
        await collect(model)
    with pytest.raises(ModelError) as by_date:
        await collect(model)

    assert in_seconds.value.retry_after_s == 7
    assert by_date.value.retry_after_s == pytest.approx(300, abs=60)


async def test_a_server_that_is_not_there_is_unreachable(adapter: Adapter) -> None:
    async with ModelServer() as server:
        url = server.url
    model = adapter.make(url, "stub", StreamLimits())

    with pytest.raises(errors.Unreachable) as caught:
        await collect(model)

    assert caught.value.retry_helps
    await model.close()


async def test_ten_thousand_deltas(adapter: Adapter, server: ModelServer, model: Model) -> None:
    text = " ".join(f"word{number}" for number in range(10_000))
    events = render(adapter.wire, [Say(text)])
    server.plays(stream([b"".join(events[start : start + 100]) for start in range(0, len(events), 100)]))

    deltas, answer = await collect(model)

    assert answer.text == text == "".join(delta.text for delta in deltas)


async def test_arguments_of_64_kib(adapter: Adapter, server: ModelServer, model: Model) -> None:
    arguments = json.dumps({"name": "가나다" * 10_000 + "x" * 40_000}, ensure_ascii=False)
    server.plays(answers(Ask("add_todo", arguments, step=97)))

    _, answer = await collect(model)

    assert json.loads(answer.runnable_calls[0].arguments) == json.loads(arguments)


async def test_an_endless_stream_ends_when_it_is_cancelled(adapter: Adapter, server: ModelServer, model: Model) -> None:
    server.plays(_endless)
    seen = anyio.Event()

    async def read() -> None:
        async with aclosing(model.stream(QUESTION)) as deltas:
            async for _ in deltas:
                seen.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await seen.wait()
            tasks.cancel_scope.cancel()
        await server.dropped.wait()


async def test_an_endless_stream_ends_when_nobody_reads_on(adapter: Adapter, server: ModelServer, model: Model) -> None:
    server.plays(_endless)

    with anyio.fail_after(20):
        async with aclosing(model.stream(QUESTION)) as deltas:
            await anext(deltas)
        await server.dropped.wait()


async def test_a_request_can_be_cancelled_before_its_answer_begins(
    adapter: Adapter, server: ModelServer, model: Model
) -> None:
    server.plays(_silent)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect, model)
            await server.asked.wait()
            tasks.cancel_scope.cancel()
        await server.dropped.wait()


@pytest.mark.parametrize("silence", ["before the head", "after the head", "in the middle", "but for comments"])
async def test_a_server_that_falls_silent_has_a_limit(
    adapter: Adapter, server: ModelServer, opened: Callable[..., Model], silence: str
) -> None:
    await _warm(adapter, server, opened)
    model = opened(adapter, limits=StreamLimits(first_event_s=0.5, idle_s=0.5))
    begun = render(adapter.wire, [Say("Hello there"), Say("x")])[:3] if silence == "in the middle" else []

    async def play(exchange: Exchange) -> None:
        if silence != "before the head":
            await exchange.head()
        for event in begun:
            await exchange.send(event)
        while True:
            await anyio.sleep(0.1)
            if silence == "but for comments" and keep_alive(adapter.wire):
                await exchange.send(keep_alive(adapter.wire))

    server.plays(play)

    with anyio.fail_after(20), pytest.raises(errors.Stalled) as caught:
        await collect(model)

    assert caught.value.retry_helps
    with anyio.fail_after(20):
        await server.dropped.wait()


async def test_an_answer_without_end_has_a_size(
    adapter: Adapter, server: ModelServer, opened: Callable[..., Model]
) -> None:
    model = opened(adapter, limits=StreamLimits(max_stream_bytes=2_000))
    server.plays(answers(Say("word " * 2_000)))

    with pytest.raises(errors.AnswerTooLarge) as caught:
        await collect(model)

    assert not caught.value.retry_helps


async def test_an_answer_has_so_many_calls_at_most(
    adapter: Adapter, server: ModelServer, opened: Callable[..., Model]
) -> None:
    model = opened(adapter, limits=StreamLimits(max_calls=5))
    server.plays(answers(*(Ask("add_todo", "{}", f"id{number}") for number in range(6))))

    with pytest.raises(errors.AnswerTooLarge):
        await collect(model)


async def test_an_id_that_an_earlier_call_has_is_not_taken_again(
    adapter: Adapter, server: ModelServer, model: Model
) -> None:
    server.plays(answers(Ask("add_todo", "{}", "one")))
    earlier = Message("assistant", (CallPart("one", "add_todo", "{}"),))
    results = Message("tool", (ResultPart("one", "add_todo", "Added."),))

    _, answer = await collect(model, replace(QUESTION, messages=[*QUESTION.messages, earlier, results]))

    assert answer.calls[0].id not in ("", "one")


async def test_of_two_calls_with_one_id_the_second_gets_another(
    adapter: Adapter, server: ModelServer, model: Model
) -> None:
    server.plays(answers(Ask("add_todo", '{"name": "a"}', "same"), Ask("add_todo", '{"name": "b"}', "same")))

    deltas, answer = await collect(model)

    first, second = answer.runnable_calls
    assert first.id == "same"
    assert second.id not in ("", "same")
    assert [delta.call_id for delta in deltas if delta.kind == "call"] == [first.id, second.id]


@pytest.mark.parametrize("name", ["compatible", "google-gemini"])
async def test_a_call_without_an_id_gets_one(server: ModelServer, opened: Callable[..., Model], name: str) -> None:
    server.plays(answers(Ask("add_todo", '{"name": "a"}', None), Ask("add_todo", '{"name": "b"}', None)))

    _, answer = await collect(opened(ADAPTERS[name]))

    first, second = (call.id for call in answer.runnable_calls)
    assert first.startswith("call_")
    assert second.startswith("call_")
    assert first != second


async def test_images_of_a_result_reach_the_server(adapter: Adapter, server: ModelServer, model: Model) -> None:
    server.plays(answers(Say("Nice.")))
    picture = ImagePart(PNG, "image/png", "a dot")
    called = Message("assistant", (CallPart("one", "draw", "{}"),))
    results = Message("tool", (ResultPart("one", "draw", "Drawn.", images=(picture,)),))

    await collect(model, replace(QUESTION, messages=[*QUESTION.messages, called, results], state="All well."))

    sent = server.requests[0].raw.decode()
    assert base64.b64encode(PNG).decode() in sent
    assert sent.index("Drawn.") < sent.index("All well.")


async def test_history_state_and_tools_reach_the_server(adapter: Adapter, server: ModelServer, model: Model) -> None:
    server.plays(answers(Say("Fine.")))
    request = replace(
        QUESTION,
        messages=[
            Message("summary", (TextPart("Earlier we planned."),)),
            user_message("Look at this", ImagePart(PNG, "image/png", "a dot")),
            Message("assistant", (TextPart("I add it."), CallPart("one", "add_todo", '{"name": "a"}'))),
            Message("tool", (ResultPart("one", "add_todo", "No room.", is_error=True),)),
        ],
        state="Three things are open.",
        options=ModelOptions(temperature=0.5, max_output_tokens=77),
    )

    await collect(model, request)

    (seen,) = server.requests
    sent = seen.raw.decode()
    image = base64.b64encode(PNG).decode()
    for text in ("Be brief.", "Earlier we planned.", "Look at this", image, "I add it.", "add_todo"):
        assert text in sent
    assert sent.index("No room.") < sent.index("Three things are open.")
    assert "77" in sent
    assert seen.headers.get("authorization", seen.headers.get("x-api-key", seen.headers.get("x-goog-api-key"))) in (
        KEY,
        f"Bearer {KEY}",
    )


async def test_two_requests_of_a_session_begin_with_the_same_bytes(
    adapter: Adapter, server: ModelServer, model: Model
) -> None:
    """What servers cache: instructions, tools and history, up to the last stored message."""
    server.plays(answers(Say("Fine.")))
    called = Message("assistant", (TextPart("I add it."), CallPart("one", "add_todo", '{"name": "a"}')))
    results = Message("tool", (ResultPart("one", "add_todo", "Added it."),))
    stored = [*QUESTION.messages, called, results]

    await collect(model, replace(QUESTION, messages=stored, state="One is open."))
    await collect(model, replace(QUESTION, messages=[*stored, user_message("Go on.")], state="Two are open."))

    first, second = (_prefix(request.body) for request in server.requests)
    assert second.startswith(first[: first.index("Added it.") + len("Added it.")])


async def test_anthropic_caches_up_to_the_last_stored_message(
    server: ModelServer, opened: Callable[..., Model]
) -> None:
    server.plays(answers(Say("Fine.")))
    called = Message("assistant", (CallPart("one", "add_todo", "{}"),))
    results = Message("tool", (ResultPart("one", "add_todo", "Added it."),))
    stored = [*QUESTION.messages, called, results]

    await collect(opened(ADAPTERS["anthropic"]), replace(QUESTION, messages=stored, state="One is open."))

    body = server.requests[0].body
    *_, last = body["messages"]
    stored_block, state_block = last["content"]
    assert "cache_control" in stored_block
    assert "cache_control" not in state_block
    assert state_block["text"] == "One is open."
    assert "cache_control" in body["tools"][-1]
    assert json.dumps(body).count('"cache_control"') <= 4, "more are refused"


async def test_arguments_that_are_no_json_do_not_spoil_later_requests(
    adapter: Adapter, server: ModelServer, model: Model
) -> None:
    server.plays(answers(Say("Sorry.")))
    broken = Message("assistant", (CallPart("one", "add_todo", '{"name": "x"'), CallPart("two", "add_todo", "")))
    results = Message("tool", (ResultPart("one", "add_todo", "Not JSON."), ResultPart("two", "add_todo", "Ok.")))

    _, answer = await collect(model, replace(QUESTION, messages=[*QUESTION.messages, broken, results]))

    assert answer.text == "Sorry."


async def test_half_a_surrogate_pair_spoils_no_request(adapter: Adapter, server: ModelServer, model: Model) -> None:
    """As in the name of a file that is no UTF-8: kept in the history, it would fail every later request."""
    server.plays(answers(Say("Yes.")))
    bad = "file \udc80.txt"
    called = Message("assistant", (TextPart(bad), CallPart("one", "add_todo", json.dumps({"name": bad}))))
    broken = Message("assistant", (CallPart("two", "add_todo", bad),))
    results = (ResultPart("one", "add_todo", bad), ResultPart("two", "add_todo", bad))
    history = [user_message(bad), called, Message("tool", results[:1]), broken, Message("tool", results[1:])]

    _, answer = await collect(model, ModelRequest(bad, history, [replace(ADD, description=bad)], state=bad))

    assert answer.text == "Yes."
    assert "file ?.txt" in server.requests[0].raw.decode()


async def test_a_story_goes_on_by_its_history(adapter: Adapter, server: ModelServer, model: Model) -> None:
    """What flows over this server rely on."""
    server.plays(
        story([Think("Hm."), Say("One."), Ask("add_todo", "{}", "a")], [Ask("add_todo", "{}", "b")], [Say("End.")])
    )
    messages = list(QUESTION.messages)
    texts = []
    for _ in range(4):
        _, answer = await collect(model, replace(QUESTION, messages=messages))
        texts.append((answer.text, [call.id for call in answer.runnable_calls]))
        results = tuple(ResultPart(call.id, call.tool, "Added.") for call in answer.calls)
        messages += [answer.message, Message("tool", results) if results else user_message("Go on.")]

    assert texts == [("One.", ["a"]), ("", ["b"]), ("End.", []), ("End.", [])]


async def test_connections_are_used_again(adapter: Adapter, server: ModelServer, model: Model) -> None:
    server.plays(answers(Say("Hello")))

    for _ in range(3):
        await collect(model)

    assert server.connections == 1


async def test_no_redirect_is_followed(adapter: Adapter, server: ModelServer, model: Model) -> None:
    async with ModelServer() as elsewhere:
        server.plays(refuses(307, headers={"location": f"{elsewhere.url}/v1/chat/completions"}))

        with pytest.raises(ModelError):
            await collect(model)

        assert elsewhere.requests == []


@pytest.mark.parametrize("name", list(ADAPTERS))
def test_no_key_shows_in_a_repr(name: str) -> None:
    model = ADAPTERS[name].make("http://127.0.0.1:9", "stub", StreamLimits())

    assert KEY not in f"{model!r} {vars(model)}"


async def test_no_key_is_logged(
    adapter: Adapter, server: ModelServer, model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the packages below write when somebody turns their logs on."""
    caplog.set_level(logging.DEBUG)
    server.plays(answers(Say("Yes.")), refuses(401, f"bad key {KEY}"))

    with caplog.at_level(logging.DEBUG, "openai"), caplog.at_level(logging.DEBUG, "anthropic"):
        await collect(model)
        with pytest.raises(errors.BadCredentials):
            await collect(model)

    ours = [record.getMessage() for record in caplog.records if record.name.startswith("madang")]
    sent = [record.getMessage() for record in caplog.records if "bad key" not in record.getMessage()]
    assert not any(KEY in text for text in (*ours, *sent))


def _prefix(body: dict[str, object]) -> str:
    """Return a request's body with the history last and without marks of caching, as text."""
    history = {"messages", "input", "contents"}
    ordered = [(name, body[name]) for name in sorted(body, key=lambda name: (name in history, name))]
    text = json.dumps(dict(ordered), ensure_ascii=False)
    return text.replace(', "cache_control": {"type": "ephemeral", "ttl": "5m"}', "").replace(
        ', "cache_control": {"type": "ephemeral"}', ""
    )


async def _endless(exchange: Exchange) -> None:
    events = render(exchange.wire, [Say("tick tock " * 3)])
    await exchange.head()
    begun = events[: -END_EVENTS[exchange.wire] - 1]
    for event in begun:
        await exchange.send(event)
    while True:
        await exchange.send(begun[3])
        await anyio.sleep(0.02)


async def _silent(_: Exchange) -> None:
    await anyio.sleep_forever()


async def _warm(adapter: Adapter, server: ModelServer, opened: Callable[..., Model]) -> None:
    """Let the first import of a vendor's package pass, so that it counts towards no limit."""
    server.plays(answers(Say("Hello")))
    await collect(opened(adapter))
