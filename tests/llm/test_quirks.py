"""What servers of chat completions do with ends, letters, names and numbers, one quirk each."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from madang.llm import errors
from madang.llm.base import ModelAnswer, OfferedTool, retrying
from madang.llm.chat_request import GEMINI_DIALECT
from madang.llm.compatible import CompatibleModel
from madang.llm.connection import Connection
from madang.llm.mending import mend_arguments
from madang.llm.messages import CallPart, Message, ResultPart
from tests.llm.adapters import ADAPTERS, QUESTION, QUICK, collect
from tests.model_server import Exchange, ModelServer, Play, answers, refuses, stream
from tests.model_wires import Ask, Say, chunk, event, fragment

DONE = event("[DONE]")
STOP = event(chunk({}, "stop"))
CALLS = event(chunk({}, "tool_calls"))


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[CompatibleModel]:
    model = CompatibleModel("stub", Connection(server.url, limits=QUICK))
    yield model
    await model.close()


def said(text: str) -> bytes:
    """Return a chunk of text; what is no Unicode in it is escaped, as servers do."""
    return event(json.dumps(chunk({"content": text})))


def called(*fragments: dict[str, object]) -> bytes:
    return event(chunk({"tool_calls": list(fragments)}))


async def played(server: ModelServer, model: CompatibleModel, *events: bytes) -> ModelAnswer:
    server.plays(stream(events))
    deltas, answer = await collect(model)
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == answer.text
    return answer


async def test_the_mark_of_the_end_is_an_end_without_a_reason(server: ModelServer, model: CompatibleModel) -> None:
    answer = await played(server, model, said("Whole text."), event(chunk({})), DONE)

    assert (answer.text, answer.finish) == ("Whole text.", "stop")


async def test_the_mark_of_the_end_is_an_end_of_whole_calls(server: ModelServer, model: CompatibleModel) -> None:
    answer = await played(server, model, called(fragment(0, "add_todo", '{"name": "a"}')), DONE)

    assert [call.tool for call in answer.runnable_calls] == ["add_todo"]


@pytest.mark.parametrize(
    "begun",
    [[], [called(fragment(0, "add_todo", '{"name": "a'))], [said("Hm"), called(fragment(0, "add_todo", ""))]],
    ids=["nothing", "half a call", "a call without arguments"],
)
async def test_the_mark_of_the_end_makes_no_answer_of_half_a_one(
    server: ModelServer, model: CompatibleModel, begun: list[bytes]
) -> None:
    server.plays(stream([*begun, DONE]))

    with pytest.raises(errors.CutShort):
        await collect(model)


@pytest.mark.parametrize("is_apart", [True, False])
async def test_a_byte_order_mark_loses_nothing(server: ModelServer, model: CompatibleModel, is_apart: bool) -> None:
    first = [b"\xef\xbb\xbf", said("First.")] if is_apart else [b"\xef\xbb\xbf" + said("First.")]

    answer = await played(server, model, *first, STOP, DONE)

    assert answer.text == "First."


async def test_a_byte_order_mark_before_plain_json(server: ModelServer, model: CompatibleModel) -> None:
    choice = {"message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}

    async def play(exchange: Exchange) -> None:
        await exchange.whole(200, b"\xef\xbb\xbf" + json.dumps({"choices": [choice]}).encode())

    server.plays(play)

    _, answer = await collect(model)

    assert answer.text == "Whole."


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["Look \ud83d", "\ude00!"], "Look 😀!"),
        (["\ud83d", "\ude00", "\ud83d\ude01"], "😀😁"),
        (["a \ud83d b"], "a � b"),
        (["\ude00 b"], "� b"),
        (["a \ud83d"], "a �"),
        (["a \ud83d", "b"], "a �b"),
    ],
)
async def test_halves_of_a_letter_are_joined_and_one_alone_is_replaced(
    server: ModelServer, model: CompatibleModel, pieces: list[str], text: str
) -> None:
    answer = await played(server, model, *map(said, pieces), STOP, DONE)

    assert answer.text == text


async def test_halves_of_a_letter_in_arguments_and_thoughts(server: ModelServer, model: CompatibleModel) -> None:
    thoughts = [event(json.dumps(chunk({"reasoning_content": half}))) for half in ("hm \ud83d", "\ude00")]
    halves = [
        event(json.dumps(chunk({"tool_calls": [fragment(0, name, piece)]})))
        for name, piece in (("add_todo", '{"name": "\ud83d'), (None, '\ude00"}'))
    ]

    answer = await played(server, model, *thoughts, *halves, CALLS, DONE)

    assert answer.parts[0].text == "hm 😀"  # type: ignore[union-attr]
    assert answer.calls[0].arguments == '{"name": "😀"}'


async def test_bytes_that_are_no_utf_8_cost_a_letter_not_the_answer(
    server: ModelServer, model: CompatibleModel
) -> None:
    answer = await played(server, model, said("x").replace(b"x", b"a\xff b"), STOP, DONE)

    assert answer.text == "a� b"


async def test_two_whole_calls_with_one_id_and_one_number_are_two(server: ModelServer, model: CompatibleModel) -> None:
    pieces = [fragment(0, "add_todo", '{"name": "a"}', "same"), fragment(0, "add_todo", '{"name": "b"}', "same")]

    for events in ([called(*pieces)], [called(piece) for piece in pieces]):
        answer = await played(server, model, *events, CALLS, DONE)

        assert [call.arguments for call in answer.runnable_calls] == ['{"name": "a"}', '{"name": "b"}']
        assert len({call.id for call in answer.calls}) == 2


async def test_a_call_that_is_repeated_at_the_end_is_one(server: ModelServer, model: CompatibleModel) -> None:
    pieces = [fragment(0, "add_todo", '{"name":', "x"), fragment(0, None, ' "a"}', None)]
    whole = fragment(0, "add_todo", '{"name": "a"}', "x")

    answer = await played(server, model, *map(called, [*pieces, whole, fragment(0, "add_todo", "", "x")]), CALLS, DONE)

    assert [call.arguments for call in answer.runnable_calls] == ['{"name": "a"}']


@pytest.mark.parametrize(
    "names", [["add_", "add_todo"], ["add_", "todo"], ["a", "ad", "add_todo", "add_todo"], ["add_todo", "add_todo"]]
)
async def test_names_come_whole_in_pieces_or_grow(
    server: ModelServer, model: CompatibleModel, names: list[str]
) -> None:
    pieces = [fragment(0, name, "", "x") for name in names]

    answer = await played(server, model, *map(called, [*pieces, fragment(0, None, "{}", None)]), CALLS, DONE)

    assert [call.tool for call in answer.calls] == ["add_todo"]


@pytest.mark.parametrize(
    ("arguments", "mended"),
    [
        ('{"name": "a",}', {"name": "a"}),
        ('{"name": "a", "tags": ["b, ]", ], }', {"name": "a", "tags": ["b, ]"]}),
        ('```json\n{"name": "a"}\n```', {"name": "a"}),
        ('"{\\"name\\": \\"a\\"}"', {"name": "a"}),
        ('{"name": "a\nb"}', {"name": "a\nb"}),
        ("null", {}),
    ],
)
async def test_arguments_that_can_be_read_in_one_way_only_are_mended(
    server: ModelServer, model: CompatibleModel, arguments: str, mended: dict[str, object]
) -> None:
    answer = await played(server, model, called(fragment(0, "add_todo", arguments)), CALLS, DONE)

    assert json.loads(answer.calls[0].arguments) == mended


@pytest.mark.parametrize("name", ["anthropic", "openai-responses"])
async def test_arguments_are_mended_on_every_wire_that_has_them_as_text(name: str, server: ModelServer) -> None:
    model = ADAPTERS[name].make(server.url, "stub", QUICK)
    server.plays(answers(Ask("add_todo", '{"name": "a",}')))

    _, answer = await collect(model)

    assert json.loads(answer.calls[0].arguments) == {"name": "a"}
    await model.close()


@pytest.mark.parametrize("arguments", ['{"name": "a"', "{'name': 'a'}", '{"a": 1}{"a": 2}', "[1]", "3", "add milk", ""])
def test_arguments_that_can_be_read_in_several_ways_stay_as_they_came(arguments: str) -> None:
    assert mend_arguments(arguments) == arguments


def _gemini_says_later(delay: object) -> Play:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    error = {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED", "details": [info]}

    async def play(exchange: Exchange) -> None:
        body: object = {"error": error}
        await exchange.whole(429, json.dumps([body] if exchange.wire == "chat" else body).encode())

    return play


@pytest.mark.parametrize("name", ["compatible", "google-gemini"])
@pytest.mark.parametrize(("delay", "seconds"), [("3s", 3.0), ("0.5s", 0.5), ("soon", None), (7, None)])
async def test_how_long_to_wait_may_stand_in_the_body(
    server: ModelServer, name: str, delay: object, seconds: float | None
) -> None:
    model = ADAPTERS[name].make(server.url, "stub", QUICK)
    server.plays(_gemini_says_later(delay))

    with pytest.raises(errors.RateLimited) as caught:
        await collect(model)

    assert caught.value.retry_after_s == seconds
    await model.close()


@pytest.mark.parametrize(
    ("seconds", "hint"),
    [("600", "in 10 minutes"), ("130", "in 2 minutes"), ("86400", "in 24 hours")],
)
async def test_a_long_wait_fails_at_once_and_says_when(
    server: ModelServer, model: CompatibleModel, seconds: str, hint: str
) -> None:
    server.plays(refuses(429, "slow down", headers={"retry-after": seconds}))

    with pytest.raises(errors.RateLimited) as caught:
        await anext(retrying(model, QUESTION))

    assert hint in str(caught.value.hint)
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["compatible", "anthropic"])
async def test_a_redirect_is_told_as_what_it_is(server: ModelServer, name: str) -> None:
    model = ADAPTERS[name].make(server.url, "stub", QUICK)
    server.plays(refuses(307, headers={"location": "https://elsewhere.example/v1?token=secret"}))

    with pytest.raises(errors.RequestRefused, match=r"another address \(307\)") as caught:
        await collect(model)

    assert "https://elsewhere.example/v1" in str(caught.value.hint)
    assert "token" not in str(caught.value.hint)
    await model.close()


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (404, "This model is only supported in v1/responses and not in v1/chat/completions."),
        (400, "Function tools with reasoning_effort are not supported here. Please use /v1/responses instead."),
    ],
)
async def test_a_model_of_responses_alone_says_how_to_name_it(
    server: ModelServer, model: CompatibleModel, status: int, text: str
) -> None:
    server.plays(refuses(status, text, "invalid_request_error"))

    with pytest.raises(errors.RequestRefused) as caught:
        await collect(model)

    assert "openai-responses:" in str(caught.value.hint)


async def test_words_of_a_schema_that_a_server_does_not_know_are_left_out_from_then_on(
    server: ModelServer, model: CompatibleModel
) -> None:
    def unknown(word: str) -> str:
        place = "tools[0].function_declarations[0].parameters.properties[0].value"
        return f"Invalid JSON payload received. Unknown name \"{word}\" at '{place}': Cannot find field."

    server.plays(
        refuses(400, f"{unknown('additionalProperties')}\n{unknown('$schema')}", "INVALID_ARGUMENT"),
        refuses(400, unknown("title"), "INVALID_ARGUMENT"),
        answers(Say("Yes.")),
    )
    inner = {"type": "object", "title": "Inner", "additionalProperties": False, "properties": {"title": {}}}
    schema = {"$schema": "x", "type": "object", "properties": {"title": {"type": "string"}, "list": {"items": inner}}}
    request = replace(QUESTION, tools=[OfferedTool("draw", "Draw.", schema)])

    await collect(model, request)
    await collect(model, request)

    _, _, *sent = (seen.body["tools"][0]["function"]["parameters"] for seen in server.requests)
    kept = {"type": "object", "properties": {"title": {}}}
    assert sent == [{"type": "object", "properties": {"title": {"type": "string"}, "list": {"items": kept}}}] * 2


async def test_what_gemini_signs_goes_back_to_the_same_model(server: ModelServer) -> None:
    """Calls of another model get the word that its address takes in place of a signature."""
    model = CompatibleModel("gemini", Connection(server.url, limits=QUICK), provider="google", dialect=GEMINI_DIALECT)
    signed = {"google": {"thought_signature": "SIGNED"}}
    first = {**fragment(0, "add_todo", "{}", "a"), "extra_content": signed}
    server.plays(stream([called(first, fragment(1, "add_todo", "{}", "b")), CALLS, DONE]), answers(Say("Done.")))
    foreign = Message("assistant", (CallPart("z", "add_todo", "{}"),))
    result = Message("tool", (ResultPart("z", "add_todo", "Ok."),))

    _, answer = await collect(model)
    results = Message("tool", (ResultPart("a", "add_todo", "Ok."), ResultPart("b", "add_todo", "Ok.")))
    messages = [*QUESTION.messages, foreign, result, *QUESTION.messages, answer.message, results]
    await collect(model, replace(QUESTION, messages=messages))

    calls = [
        call.get("extra_content")
        for message in server.requests[1].body["messages"]
        for call in message.get("tool_calls", ())
    ]
    assert calls == [{"google": {"thought_signature": "skip_thought_signature_validator"}}, signed, None]
    await model.close()
