"""What OpenAI-compatible servers make of the API, one quirk each."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import SecretStr

from madang.core.errors import SetupError
from madang.llm import errors
from madang.llm.base import Model, ModelAnswer, ModelOptions, ModelRequest
from madang.llm.compatible import CompatibleModel
from madang.llm.connection import Connection, StreamLimits, check_url, is_loopback
from madang.llm.errors import ModelError
from madang.llm.messages import ImagePart, Message, ResultPart, TextPart, ThinkingPart, user_message
from tests.llm.adapters import QUESTION, QUICK, collect
from tests.model_server import Exchange, ModelServer, answers, refuses, stream
from tests.model_wires import Say, chunk, event, fragment

END = [event(chunk({}, "tool_calls")), event("[DONE]")]


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[CompatibleModel]:
    model = CompatibleModel("stub", Connection(server.url, limits=QUICK))
    yield model
    await model.close()


def calls_of(answer: ModelAnswer) -> list[tuple[str, str]]:
    return [(call.tool, call.arguments) for call in answer.runnable_calls]


async def played(server: ModelServer, model: Model, *events: bytes) -> ModelAnswer:
    server.plays(stream(events))
    _, answer = await collect(model)
    return answer


async def test_calls_without_a_number(server: ModelServer, model: CompatibleModel) -> None:
    both = {"tool_calls": [fragment(None, "a", "{}", "x"), fragment(None, "b", "{}", "y")]}

    answer = await played(server, model, event(chunk(both)), *END)

    assert calls_of(answer) == [("a", "{}"), ("b", "{}")]


async def test_calls_without_a_number_in_pieces(server: ModelServer, model: CompatibleModel) -> None:
    pieces = [fragment(None, "a", '{"k"', "x"), fragment(None, None, ": 1}", None), fragment(None, "b", "{}", None)]

    answer = await played(server, model, *(event(chunk({"tool_calls": [piece]})) for piece in pieces), *END)

    assert calls_of(answer) == [("a", '{"k": 1}'), ("b", "{}")]


async def test_arguments_as_an_object(server: ModelServer, model: CompatibleModel) -> None:
    answer = await played(server, model, event(chunk({"tool_calls": [fragment(0, "a", {"k": "한"})]})), *END)

    assert calls_of(answer) == [("a", '{"k": "한"}')]


async def test_a_call_without_an_id_gets_one(server: ModelServer, model: CompatibleModel) -> None:
    answer = await played(server, model, event(chunk({"tool_calls": [fragment(0, "a", "{}", None)]})), *END)

    assert answer.calls[0].id.startswith("call_")


async def test_of_two_calls_with_one_id_the_second_gets_another(server: ModelServer, model: CompatibleModel) -> None:
    both = {"tool_calls": [fragment(0, "a", "{}", "same"), fragment(1, "b", "{}", "same")]}

    answer = await played(server, model, event(chunk(both)), *END)

    first, second = (call.id for call in answer.calls)
    assert first == "same"
    assert second.startswith("call_")


async def test_the_same_number_with_a_new_id_is_another_call(server: ModelServer, model: CompatibleModel) -> None:
    pieces = [fragment(0, "a", "{}", "x"), fragment(0, "b", '{"k"', "y"), fragment(0, None, ": 1}", None)]

    answer = await played(server, model, *(event(chunk({"tool_calls": [piece]})) for piece in pieces), *END)

    assert calls_of(answer) == [("a", "{}"), ("b", '{"k": 1}')]


async def test_the_same_number_without_ids_is_another_call_after_whole_arguments(
    server: ModelServer, model: CompatibleModel
) -> None:
    pieces = [fragment(0, "a", "{}", ""), fragment(0, "a", '{"k": 1}', "")]

    answer = await played(server, model, *(event(chunk({"tool_calls": [piece]})) for piece in pieces), *END)

    assert calls_of(answer) == [("a", "{}"), ("a", '{"k": 1}')]


@pytest.mark.parametrize("later", ["", None], ids=["empty", "none"])
async def test_later_pieces_may_have_an_empty_name_or_none(
    server: ModelServer, model: CompatibleModel, later: str | None
) -> None:
    pieces = [fragment(0, "a", "", "x"), fragment(0, later, '{"k"', "x"), fragment(0, later, ": 1}", "x")]

    answer = await played(server, model, *(event(chunk({"tool_calls": [piece]})) for piece in pieces), *END)

    assert calls_of(answer) == [("a", '{"k": 1}')]


async def test_later_pieces_may_repeat_the_name(server: ModelServer, model: CompatibleModel) -> None:
    pieces = [fragment(0, "a", "", "x"), fragment(0, "a", '{"k"', "x"), fragment(0, "a", ": 1}", "x")]

    answer = await played(server, model, *(event(chunk({"tool_calls": [piece]})) for piece in pieces), *END)

    assert calls_of(answer) == [("a", '{"k": 1}')]


async def test_the_old_form_of_a_call(server: ModelServer, model: CompatibleModel) -> None:
    pieces = [{"name": "a", "arguments": ""}, {"arguments": '{"k": 1}'}]
    events = [event(chunk({"function_call": piece})) for piece in pieces]

    answer = await played(server, model, *events, event(chunk({}, "function_call")))

    assert calls_of(answer) == [("a", '{"k": 1}')]


async def test_the_reason_stop_with_calls(server: ModelServer, model: CompatibleModel) -> None:
    call = event(chunk({"role": "assistant", "content": None, "tool_calls": [fragment(0, "a", "{}")]}))

    answer = await played(server, model, call, event(chunk({}, "stop")))

    assert calls_of(answer) == [("a", "{}")]


async def test_usage_that_is_null_or_odd(server: ModelServer, model: CompatibleModel) -> None:
    odd: list[dict[str, Any]] = [
        {"choices": [{"delta": {"content": "hi"}}], "usage": None},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": "many", "completion_tokens": -1, "cost": "dear"}},
    ]

    answer = await played(server, model, *map(event, odd))

    assert (answer.text, answer.usage.input_tokens, answer.usage.cost) == ("hi", None, None)


async def test_the_cost_is_told_where_the_server_tells_it(server: ModelServer, model: CompatibleModel) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "prompt_cache_hit_tokens": 2, "cost": 0.0125}

    answer = await played(server, model, event(chunk({"content": "hi"}, "stop", usage=usage)))

    spent = answer.usage
    assert (spent.input_tokens, spent.cached_tokens, spent.output_tokens, spent.cost) == (3, 2, 4, 0.0125)


async def test_plain_json_instead_of_a_stream(server: ModelServer, model: CompatibleModel) -> None:
    message = {"role": "assistant", "content": "hi", "tool_calls": [fragment(None, "a", "{}", "x")]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "model": "served"}

    async def play(exchange: Exchange) -> None:
        await exchange.whole(200, json.dumps(body, indent=2).encode())

    server.plays(play)
    deltas, answer = await collect(model)

    assert (answer.text, calls_of(answer), answer.model) == ("hi", [("a", "{}")], "served")
    assert [delta.kind for delta in deltas] == ["text", "call", "arguments"]


async def test_plain_json_without_a_reason_is_no_answer(server: ModelServer, model: CompatibleModel) -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.whole(200, b'{"choices": [{"message": {"content": "hi"}}]}')

    server.plays(play)

    with pytest.raises(errors.CutShort):
        await collect(model)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error": "model not loaded"}', errors.ServerFailed),
        (b'{"error": {"message": "slow", "code": 429}}', errors.RateLimited),
        (b"<html>Log in</html>", errors.BadReply),
        (b"data: [1]\n\n", errors.BadReply),
        (b"data: {nonsense}\n\ndata: {}\n\n", errors.BadReply),
        (b'data: {"object": "error", "message": "too long: context length", "code": 400}\n\n', errors.ContextTooLong),
        (b"event: error\ndata: everything is overloaded\n\n", errors.Overloaded),
        (b'data: {"choices": [{"del', errors.CutShort),
        (b"", errors.CutShort),
        (b"[" * 100_000, errors.BadReply),
    ],
)
async def test_a_200_that_is_no_answer(
    server: ModelServer, model: CompatibleModel, body: bytes, expected: type[ModelError]
) -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.whole(200, body, {"content-type": "text/event-stream"})

    server.plays(play)

    with pytest.raises(expected) as caught:
        await collect(model)

    assert type(caught.value) is expected


async def test_events_of_several_lines_and_without_a_last_empty_line(
    server: ModelServer, model: CompatibleModel
) -> None:
    first = b'id: 1\r\ndata: {"choices":\r\ndata: [{"delta": {"content": "hi"}}]}\r\n\r\n'

    answer = await played(server, model, first, b'data:{"choices": [{"finish_reason": "stop"}]}')

    assert (answer.text, answer.raw_finish) == ("hi", "stop")


async def test_an_answer_whose_usage_never_comes_is_whole(server: ModelServer) -> None:
    model = CompatibleModel("stub", Connection(server.url, limits=StreamLimits(trailer_s=0.2)))

    async def play(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.send(event(chunk({"content": "hi"}, "stop")))
        await anyio.sleep_forever()

    server.plays(play)
    with anyio.fail_after(20):
        _, answer = await collect(model)

    assert (answer.text, answer.usage.input_tokens) == ("hi", None)
    await model.close()


async def test_texts_and_thoughts_in_lists(server: ModelServer, model: CompatibleModel) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}

    answer = await played(
        server, model, event(chunk({"content": [thought]})), event(chunk({"content": [{"text": "ok"}]}, "stop"))
    )

    assert answer.parts == (ThinkingPart("hm"), TextPart("ok"))


async def test_images_come_as_data_and_are_never_fetched(server: ModelServer, model: CompatibleModel) -> None:
    images = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}},
        {"type": "image_url", "image_url": {"url": f"{server.url}/steal.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}},
    ]

    answer = await played(server, model, event(chunk({"content": "See:", "images": images}, "stop")))

    assert answer.parts == (TextPart("See:"), ImagePart(b"\x00\x01\x02", "image/png"))
    assert len(server.requests) == 1


async def test_images_of_a_result_follow_it_as_the_users(server: ModelServer, model: CompatibleModel) -> None:
    server.plays(answers(Say("Nice.")))
    picture = ImagePart(b"\x00\x01\x02", "image/png", "a dot")
    results = Message("tool", (ResultPart("one", "draw", "Drawn.", images=(picture,)),))

    await collect(model, ModelRequest("", [user_message("Draw"), results], state="All well."))

    *_, result, user = server.requests[0].body["messages"]
    assert result == {"role": "tool", "tool_call_id": "one", "content": "Drawn."}
    assert user["role"] == "user"
    assert [part["type"] for part in user["content"]] == ["text", "image_url", "text"]
    assert user["content"][1]["image_url"]["url"] == "data:image/png;base64,AAEC"


async def test_messages_of_the_user_in_a_row_are_one(server: ModelServer, model: CompatibleModel) -> None:
    server.plays(answers(Say("Yes.")))

    await collect(model, ModelRequest("Be brief.", [user_message("One"), user_message("Two")], state="Now."))

    assert server.requests[0].body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One\n\nNow.\n\nTwo"},
    ]


async def test_options_reach_the_server_but_replace_no_part_of_the_request(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.plays(answers(Say("Yes.")))
    options = ModelOptions(0.1, 0.9, 50, "low", False, {"seed": 7, "messages": [], "stream": False})

    await collect(model, ModelRequest("", QUESTION.messages, options=options))

    body = server.requests[0].body
    wanted = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 50, "reasoning_effort": "low", "seed": 7}
    assert wanted.items() <= body.items()
    assert (body["stream"], body["parallel_tool_calls"], len(body["messages"])) == (True, False, 1)


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        ("Extra inputs are not permitted: stream_options", "stream_options"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
    ],
)
async def test_a_field_that_a_server_does_not_take_is_left_out_from_then_on(
    server: ModelServer, model: CompatibleModel, refusal: str, field: str
) -> None:
    server.plays(refuses(422, refusal), answers(Say("Yes.")))
    request = ModelRequest("", QUESTION.messages, options=ModelOptions(max_output_tokens=50))

    answer = (await collect(model, request))[1]
    await collect(model, request)

    assert answer.text == "Yes."
    assert [field in seen.body for seen in server.requests] == [True, False, False]
    assert 50 in server.requests[-1].body.values()


async def test_a_server_that_goes_on_refusing_is_not_asked_for_ever(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.plays(refuses(422, "stream_options, max_completion_tokens: whatever you send"))

    with pytest.raises(errors.RequestRefused):
        await collect(model)

    assert len(server.requests) == 2


async def test_headers_and_key_reach_the_server_and_show_nowhere(server: ModelServer) -> None:
    connection = Connection(server.url, SecretStr("sk-hidden"), {"x-team": SecretStr("blue-secret")})
    model = CompatibleModel("stub", connection)
    server.plays(answers(Say("Yes.")))

    await collect(model)

    headers = server.requests[0].headers
    assert (headers["authorization"], headers["x-team"]) == ("Bearer sk-hidden", "blue-secret")
    assert not any(secret in f"{connection!r} {connection} {vars(model)}" for secret in ("sk-hidden", "blue-secret"))
    await model.close()


async def test_a_proxy_is_used_for_what_it_was_set_for(server: ModelServer) -> None:
    connection = Connection("http://models.example/v1", proxy=SecretStr(server.url), limits=QUICK)
    model = CompatibleModel("stub", connection)
    server.plays(answers(Say("Yes.")))

    _, answer = await collect(model)

    assert answer.text == "Yes."
    assert server.requests[0].path == "http://models.example/v1/chat/completions"
    await model.close()


async def test_no_proxy_of_the_environment_counts_for_this_machine(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    model = CompatibleModel("stub", Connection(server.url, limits=QUICK))
    server.plays(answers(Say("Yes.")))

    _, answer = await collect(model)

    assert answer.text == "Yes."
    await model.close()


async def test_certificates_that_cannot_be_read_are_a_matter_of_set_up(tmp_path: Path) -> None:
    connection = Connection("https://models.example/v1", ca_file=str(tmp_path / "none.pem"))

    with pytest.raises(SetupError, match=r"none\.pem"):
        await collect(CompatibleModel("stub", connection))


async def test_certificates_are_checked_and_a_company_may_have_its_own(tmp_path: Path) -> None:
    tls = _own_certificate(tmp_path)
    async with ModelServer(tls) as server:
        server.plays(answers(Say("Yes.")))
        trusting = CompatibleModel("stub", Connection(server.url, ca_file=str(tmp_path / "own.pem"), limits=QUICK))
        strict = CompatibleModel("stub", Connection(server.url, SecretStr("sk-hidden"), limits=QUICK))

        with pytest.raises(errors.Unreachable, match="certificate"):
            await collect(strict)
        assert server.requests == []

        _, answer = await collect(trusting)
        assert answer.text == "Yes."
        for model in (trusting, strict):
            await model.close()


async def test_a_silent_server_is_left_over_tls_too(tmp_path: Path) -> None:
    tls = _own_certificate(tmp_path)
    limits = StreamLimits(first_event_s=20, idle_s=0.5)
    async with ModelServer(tls) as server:
        model = CompatibleModel("stub", Connection(server.url, ca_file=str(tmp_path / "own.pem"), limits=limits))

        async def play(exchange: Exchange) -> None:
            await exchange.head()
            await exchange.send(event(chunk({"content": "hi"})))
            await anyio.sleep_forever()

        server.plays(play)
        with anyio.fail_after(20), pytest.raises(errors.Stalled):
            await collect(model)
        with anyio.fail_after(20):
            await server.dropped.wait()
        await model.close()


def _own_certificate(folder: Path) -> ssl.SSLContext:
    """Write a certificate for 127.0.0.1 that nobody else has signed, and return a server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stub")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "own.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "own.key").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "own.pem", folder / "own.key")
    return context


@pytest.mark.parametrize("key", ["sk-\n123", "sk-한글", "sk-\x00"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_quoted(key: str) -> None:
    with pytest.raises(SetupError) as caught:
        Connection("http://127.0.0.1:1", SecretStr(key))

    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http://u:p@host/v1", "http://host:x", "http://h/?k=v", "x"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(SetupError):
        check_url(url)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1:8080/api/v3", "http://127.0.0.1:8080/api/v3"),
        ("http://127.0.0.1:8080/v1/chat/completions", "http://127.0.0.1:8080/v1"),
    ],
)
def test_addresses_as_people_write_them(url: str, base: str) -> None:
    assert CompatibleModel("stub", Connection(url)).label == f"{base}#stub"


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://[::1]:1", True),
        ("http://localhost", True),
        ("http://127.9.9.9", True),
        ("http://127.0.0.1.evil.test", False),
        ("http://10.0.0.1", False),
        ("http://localhost.evil.test", False),
    ],
)
def test_which_addresses_are_on_this_machine(url: str, is_here: bool) -> None:
    assert is_loopback(url) == is_here


async def test_the_models_of_a_server(server: ModelServer, model: CompatibleModel) -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.whole(200, b'{"object": "list", "data": [{"id": "qwen"}, {"id": 3}, {}, {"id": "gemma"}]}')

    server.plays(play)

    assert await model.list_models() == ["qwen", "gemma"]
    assert server.requests[0].path == "/v1/models"


async def test_a_server_that_lists_no_models(server: ModelServer, model: CompatibleModel) -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.whole(200, b'"what?"')

    server.plays(play)

    with pytest.raises(errors.BadReply):
        await model.list_models()
