"""Anthropic's Messages over our own client: what the contract suite does not ask of every wire."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from madang.llm import errors
from madang.llm.anthropic import MessagesModel
from madang.llm.base import ModelOptions, Usage
from madang.llm.connection import Connection
from madang.llm.messages import CallPart, Extra, ImagePart, Message, ResultPart, TextPart, ThinkingPart, user_message
from tests.llm.adapters import KEY, QUESTION, QUICK, collect
from tests.model_server import Exchange, ModelServer, answers, refuses, stream
from tests.model_wires import Ask, Say, Think, anthropic_event, event, render

PNG = b"\x89PNG\r\n\x1a\n-not-really"
RESULT = Message("tool", (ResultPart("one", "add_todo", "Added."),))


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[MessagesModel]:
    model = MessagesModel("claude", Connection(server.url, SecretStr(KEY), limits=QUICK))
    yield model
    await model.close()


def block(number: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[bytes]:
    return [
        anthropic_event("content_block_start", index=number, content_block=start),
        *(anthropic_event("content_block_delta", index=number, delta=delta) for delta in deltas),
        anthropic_event("content_block_stop", index=number),
    ]


def started(**usage: int) -> bytes:
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-served", "content": []}
    return anthropic_event("message_start", message={**message, "stop_reason": None, "usage": usage})


def ended(reason: str, **usage: int) -> list[bytes]:
    return [
        anthropic_event("message_delta", delta={"stop_reason": reason}, usage=usage),
        anthropic_event("message_stop"),
    ]


async def test_the_request_has_the_version_the_key_and_a_bound(server: ModelServer, model: MessagesModel) -> None:
    server.plays(answers(Say("Yes.")))

    await collect(model)

    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert (request.headers["x-api-key"], request.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in request.headers
    assert request.body["max_tokens"] == 32_000
    assert request.body["system"][0]["text"] == "Be brief."


async def test_thoughts_go_back_word_for_word_with_their_signatures(server: ModelServer, model: MessagesModel) -> None:
    """Also those that are hidden, several in a row, and those that are empty but signed."""
    thought = "  Two spaces, 한글, \n and a line end \n"
    events = [
        started(input_tokens=1),
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": thought[:9]},
            {"type": "thinking_delta", "thinking": thought[9:]},
            {"type": "signature_delta", "signature": "SIG/1=="},
        ),
        *block(1, {"type": "redacted_thinking", "data": "HIDDEN=="}),
        *block(2, {"type": "thinking", "thinking": "", "signature": "SIG/2=="}),
        *block(3, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I add it."}),
        *block(
            4,
            {"type": "tool_use", "id": "one", "name": "add_todo", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"name": "a"}'},
        ),
        *ended("tool_use", output_tokens=9),
    ]
    server.plays(stream(events), answers(Say("Done.")))

    _, answer = await collect(model)
    await collect(model, replace(QUESTION, messages=[*QUESTION.messages, answer.message, RESULT]))

    assert server.requests[1].body["messages"][1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": thought, "signature": "SIG/1=="},
            {"type": "redacted_thinking", "data": "HIDDEN=="},
            {"type": "thinking", "thinking": "", "signature": "SIG/2=="},
            {"type": "text", "text": "I add it."},
            {"type": "tool_use", "id": "one", "name": "add_todo", "input": {"name": "a"}},
        ],
    }


async def test_thoughts_of_another_model_are_left_out(server: ModelServer, model: MessagesModel) -> None:
    server.plays(answers(Say("Yes.")))
    other = Extra("anthropic", "another", {"signature": "SIG"})
    answer = Message("assistant", (ThinkingPart("Hm", other), ThinkingPart("unsigned"), TextPart("So.")))

    await collect(model, replace(QUESTION, messages=[*QUESTION.messages, answer, user_message("Go on.")]))

    assert server.requests[0].body["messages"][1]["content"] == [{"type": "text", "text": "So."}]


async def test_usage_counts_what_was_read_from_and_written_to_the_cache(
    server: ModelServer, model: MessagesModel
) -> None:
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 5000, "cache_read_input_tokens": 20_000}
    text = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
    server.plays(
        stream([started(**usage, output_tokens=1), *text, *ended("end_turn", input_tokens=0, output_tokens=20)])
    )

    _, answer = await collect(model)

    assert answer.usage == Usage(25_100, 20_000, 20, cache_write_tokens=5000)
    assert (answer.model, answer.raw_finish, answer.finish) == ("claude-served", "end_turn", "stop")


async def test_marks_of_caching_stand_where_this_request_and_the_one_before_end(
    server: ModelServer, model: MessagesModel
) -> None:
    """At most four are taken: tools, instructions, and these two. The state, which changes, has none."""
    server.plays(answers(Say("Fine.")))
    thought = ThinkingPart("Hm", Extra("anthropic", "claude", {"signature": "SIG"}))
    first = Message("assistant", (thought, CallPart("one", "add_todo", "{}")))
    second = Message("assistant", (CallPart("two", "add_todo", "{}"), CallPart("three", "add_todo", "{}")))
    both = Message("tool", (ResultPart("two", "add_todo", "Two."), ResultPart("three", "add_todo", "Three.")))

    await collect(
        model, replace(QUESTION, messages=[*QUESTION.messages, first, RESULT, second, both], state="One is open.")
    )

    body = server.requests[0].body
    marked = [
        (number, place)
        for number, message in enumerate(body["messages"])
        for place, one in enumerate(message["content"])
        if "cache_control" in one
    ]
    assert marked == [(2, 0), (4, 1)]
    assert body["messages"][4]["content"][2] == {"type": "text", "text": "One is open."}
    assert "cache_control" in body["system"][0]
    assert json.dumps(body).count('"cache_control"') == 4


async def test_images_in_messages_and_results_and_kinds_that_are_not_taken(
    server: ModelServer, model: MessagesModel
) -> None:
    server.plays(answers(Say("Nice.")))
    asked = user_message("Look", ImagePart(PNG, "image/png"), ImagePart(b"<svg/>", "image/svg+xml", "a drawing"))
    called = Message("assistant", (CallPart("one", "draw", "{}"),))
    results = Message("tool", (ResultPart("one", "draw", "", is_error=True, images=(ImagePart(PNG, "image/webp"),)),))

    await collect(model, replace(QUESTION, messages=[asked, called, results]))

    first, _, last = server.requests[0].body["messages"]
    data = base64.b64encode(PNG).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    assert first["content"][1] == {"type": "image", "source": source}
    assert "a drawing" in first["content"][2]["text"]
    assert last["content"][0]["content"] == [
        {"type": "text", "text": "(no text)"},
        {"type": "image", "source": {**source, "media_type": "image/webp"}},
    ]
    assert last["content"][0]["is_error"] is True


async def test_a_history_that_begins_or_ends_with_the_model_is_made_to_fit(
    server: ModelServer, model: MessagesModel
) -> None:
    server.plays(answers(Say("Yes.")))
    said = Message("assistant", (TextPart("Well."),))

    await collect(model, replace(QUESTION, messages=[said]))

    messages = server.requests[0].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"][0]["text"] == "Well."


async def test_ids_and_texts_that_would_be_refused_are_made_to_fit(server: ModelServer, model: MessagesModel) -> None:
    server.plays(answers(Say("Yes.")))
    called = Message("assistant", (TextPart(" \n"), CallPart("functions.add:0", "add_todo", "{}")))
    results = Message("tool", (ResultPart("functions.add:0", "add_todo", "Ok."),))

    await collect(model, replace(QUESTION, messages=[user_message("Go"), called, results, user_message("And now?")]))

    _, answer, last = server.requests[0].body["messages"]
    assert [one["type"] for one in answer["content"]] == ["tool_use"]
    assert answer["content"][0]["id"] == last["content"][0]["tool_use_id"] == "functions_add_0"
    assert [one["type"] for one in last["content"]] == ["tool_result", "text"]


@pytest.mark.parametrize("thinking", ["low", "high"])
async def test_a_model_that_thinks_by_a_budget_is_found_out_by_its_refusal(
    server: ModelServer, model: MessagesModel, thinking: Any
) -> None:
    server.plays(
        refuses(400, "thinking.display: Extra inputs are not permitted", "invalid_request_error"),
        refuses(400, "adaptive thinking is not supported on this model", "invalid_request_error"),
        answers(Think("Hm"), Say("Yes.")),
    )
    request = replace(QUESTION, options=ModelOptions(thinking=thinking))

    await collect(model, request)
    await collect(model, request)

    first, second, third, fourth = (seen.body for seen in server.requests)
    assert first["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert first["output_config"] == {"effort": thinking}
    assert second["thinking"] == {"type": "adaptive"}
    assert third["thinking"] == fourth["thinking"]
    assert third["thinking"]["type"] == "enabled"
    assert 1024 <= third["thinking"]["budget_tokens"] < third["max_tokens"]
    assert "output_config" not in third


async def test_with_a_budget_calls_of_another_model_are_not_followed_by_thinking(
    server: ModelServer, model: MessagesModel
) -> None:
    """The server refuses that; one turn without thoughts is better than a session that cannot go on."""
    server.plays(refuses(400, "adaptive thinking is not supported on this model"), answers(Say("Yes.")))
    called = Message("assistant", (CallPart("one", "add_todo", "{}"),))
    options = ModelOptions(thinking="high")

    await collect(model, replace(QUESTION, messages=[*QUESTION.messages, called, RESULT], options=options))
    await collect(model, replace(QUESTION, options=options))

    _, without, again = (seen.body for seen in server.requests)
    assert "thinking" not in without
    assert again["thinking"]["type"] == "enabled"


async def test_a_model_that_allows_fewer_tokens_is_believed(server: ModelServer, model: MessagesModel) -> None:
    text = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-old"
    server.plays(refuses(400, text, "invalid_request_error"), answers(Say("Yes.")))

    await collect(model)
    await collect(model, replace(QUESTION, options=ModelOptions(max_output_tokens=500)))

    assert [seen.body["max_tokens"] for seen in server.requests] == [32_000, 8192, 500]


async def test_options_reach_the_server_but_replace_no_part_of_the_request(
    server: ModelServer, model: MessagesModel
) -> None:
    server.plays(answers(Say("Yes.")))
    options = ModelOptions(0.2, 0.9, 700, "off", False, {"service_tier": "auto", "messages": [], "system": "x"})

    await collect(model, replace(QUESTION, options=options))

    body = server.requests[0].body
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.2, 0.9, 700)
    assert body["thinking"] == {"type": "disabled"}
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body["service_tier"] == "auto"
    assert body["messages"]
    assert body["system"][0]["text"] == "Be brief."


async def test_a_call_without_arguments_and_one_whose_arguments_came_at_once(
    server: ModelServer, model: MessagesModel
) -> None:
    events = [
        started(),
        *block(0, {"type": "tool_use", "id": "a", "name": "list_todos", "input": {}}),
        *block(1, {"type": "tool_use", "id": "b", "name": "add_todo", "input": {"name": "x"}}),
        *ended("tool_use"),
    ]
    server.plays(stream(events))

    _, answer = await collect(model)

    calls = [(call.tool, json.loads(call.arguments or "{}")) for call in answer.runnable_calls]
    assert calls == [("list_todos", {}), ("add_todo", {"name": "x"})]


async def test_a_whole_message_instead_of_a_stream(server: ModelServer, model: MessagesModel) -> None:
    content = [
        {"type": "thinking", "thinking": "Hm", "signature": "SIG"},
        {"type": "text", "text": "I do."},
        {"type": "tool_use", "id": "a", "name": "add_todo", "input": {"name": "x"}},
    ]
    message = {"type": "message", "role": "assistant", "model": "c", "content": content, "stop_reason": "tool_use"}

    async def play(exchange: Exchange) -> None:
        await exchange.whole(200, json.dumps({**message, "usage": {"input_tokens": 3, "output_tokens": 4}}).encode())

    server.plays(play)

    _, answer = await collect(model)

    assert (answer.text, answer.runnable_calls[0].arguments) == ("I do.", '{"name": "x"}')
    assert isinstance(answer.parts[0], ThinkingPart)
    assert answer.usage == Usage(3, None, 4)


async def test_blocks_and_events_that_are_not_known_spoil_nothing(server: ModelServer, model: MessagesModel) -> None:
    events = [
        event({"type": "ping"}),
        started(),
        *block(0, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        anthropic_event("a_new_event", index=0),
        *block(1, {"type": "text", "text": ""}, {"type": "a_new_delta"}, {"type": "text_delta", "text": "Hi"}),
        *ended("end_turn"),
    ]
    server.plays(stream(events))

    _, answer = await collect(model)

    assert answer.text == "Hi"


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("overloaded_error", "Overloaded", errors.Overloaded),
        ("rate_limit_error", "slow down", errors.RateLimited),
        ("api_error", "broken", errors.ServerFailed),
        ("authentication_error", "invalid x-api-key", errors.BadCredentials),
        ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", errors.ContextTooLong),
    ],
)
async def test_an_error_inside_the_stream_says_what_can_be_done(
    server: ModelServer, model: MessagesModel, kind: str, message: str, expected: type[errors.ModelError]
) -> None:
    begun = render("anthropic", [Say("Let me")])[:3]
    server.plays(stream([*begun, anthropic_event("error", error={"type": kind, "message": message})]))

    with pytest.raises(errors.ModelError, match=message) as caught:
        await collect(model)

    assert type(caught.value) is expected


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
        (413, "Request exceeds the maximum size"),
    ],
)
async def test_a_request_that_does_not_fit_can_be_made_shorter(
    server: ModelServer, model: MessagesModel, status: int, message: str
) -> None:
    server.plays(refuses(status, message, "invalid_request_error"))

    with pytest.raises(errors.ContextTooLong):
        await collect(model)


async def test_a_call_that_is_cut_before_the_reason_is_never_made(server: ModelServer, model: MessagesModel) -> None:
    """Also where its block was whole."""
    server.plays(stream(render("anthropic", [Ask("add_todo", '{"name": "x"}')])[:-2]))

    with pytest.raises(errors.CutShort):
        await collect(model)


async def test_the_models_of_the_vendor(server: ModelServer, model: MessagesModel) -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.whole(
            200, b'{"data": [{"type": "model", "id": "claude-a"}, {"id": "claude-b"}], "has_more": false}'
        )

    server.plays(play)

    assert await model.list_models() == ["claude-a", "claude-b"]
    assert server.requests[0].path == "/v1/models"
    assert server.requests[0].headers["x-api-key"] == KEY
