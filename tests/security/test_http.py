"""The HTTP door from outside: what a web page, a neighbour on this machine or a hostile client sends (T37, T40-T43)."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from tests.security.served import ACCEPT, INITIALIZE, TIMEOUT_S, TOKEN, Answer, Served, read_answer, serve

PATHS = ["/mcp", "/", "/mcp/", "/other", "/docs", "/.well-known/oauth-protected-resource", "//mcp", "/mcp?token=x"]
METHODS = ["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH"]
BODY = json.dumps(INITIALIZE).encode()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("served")) as served:
        yield served


def refused(answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, answer
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def bad_hosts(port: int) -> dict[str, list[str]]:
    return {
        "evil": ["evil.test"],
        "evil with our port": [f"evil.test:{port}"],
        "evil below us": [f"127.0.0.1.evil.test:{port}"],
        "user": [f"127.0.0.1:{port}@evil.test"],
        "trailing dot": [f"localhost.:{port}"],
        "no port": ["127.0.0.1"],
        "other port": [f"127.0.0.1:{port + 1}"],
        "port and more": [f"127.0.0.1:{port}0"],
        "other loopback": [f"127.0.0.2:{port}"],
        "any address": [f"0.0.0.0:{port}"],
        "short": [f"127.1:{port}"],
        "number": [f"2130706433:{port}"],
        "mapped": [f"[::ffff:127.0.0.1]:{port}"],
        "empty": [""],
        "missing": [],
        "doubled": [f"127.0.0.1:{port}", f"127.0.0.1:{port}"],
        "doubled with evil": [f"127.0.0.1:{port}", "evil.test"],
        "evil, then ours": ["evil.test", f"127.0.0.1:{port}"],
        "list": [f"127.0.0.1:{port}, evil.test"],
    }


@pytest.mark.parametrize("kind", bad_hosts(0))
def test_t40_no_route_answers_under_another_host(served: Served, kind: str) -> None:
    hosts = bad_hosts(served.port)[kind]
    for path in PATHS:
        for method in METHODS:
            body = BODY if method == "POST" else b""
            headers = [*(("Host", host) for host in hosts), *served.headers(host=None)]
            refused(served.request(method, path, body, headers), 421, 400)


def test_t40_a_request_of_the_old_protocol_needs_a_host_too(served: Served) -> None:
    refused(served.request("POST", body=BODY, headers=served.headers(host=None), version="1.0"), 421, 400)


@pytest.mark.parametrize(
    "target", ["http://evil.test/mcp", "http://127.0.0.1/mcp", "https://evil.test:1/mcp", "evil.test:80", "mcp", "*"]
)
def test_t40_a_target_that_names_a_host_is_refused(served: Served, target: str) -> None:
    """A target in absolute form overrules the Host header, so the header alone would say nothing."""
    for method in ("GET", "POST", "OPTIONS"):
        refused(served.request(method, target, BODY if method == "POST" else b""), 400, 421)


def bad_origins(port: int) -> dict[str, list[str]]:
    return {
        "evil": ["http://evil.test"],
        "null": ["null"],
        "empty": [""],
        "other port": [f"http://127.0.0.1:{port + 1}"],
        "other local port": ["http://localhost:3000"],
        "no port": ["http://127.0.0.1"],
        "tls": [f"https://127.0.0.1:{port}"],
        "evil below us": [f"http://127.0.0.1.evil.test:{port}"],
        "path": [f"http://127.0.0.1:{port}/"],
        "doubled": [f"http://127.0.0.1:{port}", "http://evil.test"],
        "list": [f"http://127.0.0.1:{port} http://evil.test"],
        "extension": ["chrome-extension://abcdefghijklmnop"],
        "file": ["file://"],
    }


@pytest.mark.parametrize("kind", bad_origins(0))
def test_t40_no_route_answers_to_another_origin(served: Served, kind: str) -> None:
    for path in PATHS:
        for method in METHODS:
            headers = [*served.headers(), *(("Origin", origin) for origin in bad_origins(served.port)[kind])]
            refused(served.request(method, path, BODY if method == "POST" else b"", headers), 403)


def test_t40_our_own_names_and_origin_are_taken(served: Served) -> None:
    for name in ("127.0.0.1", "localhost", "[::1]"):
        assert served.post(INITIALIZE, host=f"{name}:{served.port}").status == 200
    answer = served.post(INITIALIZE, origin=f"http://127.0.0.1:{served.port}", sec_fetch_site="same-origin")
    assert answer.status == 200
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN,
     f"Bearer  {TOKEN}", f"Bearer {TOKEN.upper()}", "Bearer \xff\xfe", f"Bearer {TOKEN}, Bearer {TOKEN}"],
)  # fmt: skip
def test_t42_without_the_token_no_route_answers(served: Served, authorization: str | None) -> None:
    for path in [*PATHS, f"/mcp?token={TOKEN}", f"/mcp?access_token={TOKEN}"]:
        for method in METHODS:
            body = BODY if method == "POST" else b""
            answer = served.request(method, path, body, served.headers(authorization=authorization))
            if "/.well-known/" in path:
                refused(answer, 404)  # nothing is there, and a client has to learn that without a token
                continue
            refused(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"
    cookie = served.headers(authorization=authorization, cookie=f"token={TOKEN}")
    refused(served.request("POST", body=BODY, headers=cookie), 401)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none, cross-site", ""])
def test_t42_what_a_browser_calls_cross_site_is_refused(served: Served, site: str) -> None:
    for method in METHODS:
        body = BODY if method == "POST" else b""
        refused(served.request(method, body=body, headers=served.headers(sec_fetch_site=site)), 403)


@pytest.mark.parametrize(
    "kind",
    [None, "", "text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "text/json",
     "application/jsonp", "application/json-patch+json", "text/plain; application/json",
     "text/plain, application/json"],
)  # fmt: skip
def test_t42_forms_cannot_post(served: Served, kind: str | None) -> None:
    session = served.session()
    create = {"name": "create_playbook", "arguments": {"goal": "csrf", "workflow": []}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": create}).encode()

    refused(served.request("POST", body=body, headers=served.headers(content_type=kind, mcp_session_id=session)), 415)

    assert served.playbooks(session) == 0


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, identity", "GZIP", "x-unknown"])
def test_t37_compressed_bodies_are_not_even_opened(served: Served, encoding: str) -> None:
    bomb = gzip.compress(bytes(5_000_000))

    refused(served.request("POST", body=bomb, headers=served.headers(content_encoding=encoding)), 415)


def test_t42_a_get_changes_nothing(served: Served) -> None:
    session = served.session()
    query = "/mcp?method=tools/call&name=create_playbook&goal=csrf"

    assert served.request("HEAD", query).status in (200, 400, 404, 405, 406)
    assert served.request("PUT", query, BODY).status in (400, 404, 405, 415)

    assert served.playbooks(session) == 0


def big(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def in_arguments(text: str) -> bytes:
    """Return a tool call with `text`, which need not be JSON, as its arguments."""
    return (
        '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"create_playbook","arguments":' + text + "}}"
    ).encode()


HOSTILE: dict[str, tuple[bytes, set[int]]] = {
    "empty": (b"", {400}),
    "not JSON": (b"{", {400}),
    "not UTF-8": (b'{"a":"\xff"}', {400}),
    "UTF-16": (BODY.decode().encode("utf-16"), {400}),
    "depth 65": (in_arguments("[" * 65 + "]" * 65), {400}),
    "depth 200k": (big(200_000)[:4_000_000], {400}),
    "depth 2M": (b"[" * 2_000_000 + b"]" * 2_000_000, {400}),
    "open 4M": (b"[" * 4_000_000, {400}),
    "quotes without end": (b"[" * 65 + b'"' + rb"\"" * 1_900_000, {400}),
    "backslash at the end": (b"[" * 65 + b'"' + rb"\"" * 1_900_000 + b"\\", {400}),
    "many strings": (b"[" * 3 + b'"[{",' * 800_000 + b"1]]]", {413}),
    "many keys": (b"{" + b",".join(b'"%d":0' % n for n in range(350_000)) + b"}", {413}),
    "1M keys": (b"{" + b",".join(b'"%d":0' % n for n in range(1_000_000)) + b"}", {413}),
    "2M items": (in_arguments("[" + "1," * 2_000_000 + "1]"), {413}),
    "1M lists": (in_arguments("[" + "[]," * 1_300_000 + "1]"), {413}),
    "10 MB string": (in_arguments('{"goal":"' + "x" * 10_000_000 + '"}'), {413}),
    "duplicate keys": (in_arguments('{"goal":"a","goal":"b","workflow":[]}'), {400}),
    "duplicate keys outside": (b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}', {400}),
    "NaN": (in_arguments('{"goal":NaN,"workflow":[]}'), {400}),
    "Infinity": (in_arguments('{"goal":-Infinity,"workflow":[]}'), {400}),
    "5,000 digits": (in_arguments('{"goal":' + "1" * 5000 + ',"workflow":[]}'), {400}),
    "half a pair": (in_arguments('{"goal":"\\ud800","workflow":[]}'), {200, 400}),
    "half a pair as a name": (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', {200, 400, 404}),
    "NUL": (in_arguments('{"goal":"a\\u0000b","workflow":[]}'), {200}),
    "list": (b"[]", {400}),
    "batch": (b"[" + BODY + b"]", {400}),
    "number": (b"5", {400}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_t37_a_hostile_body_is_refused_while_others_are_answered(served: Served, kind: str) -> None:
    body, statuses = HOSTILE[kind]
    session = served.session()
    headers = served.headers(mcp_session_id=session)
    if not body:
        headers.append(("content-length", "0"))
    with ThreadPoolExecutor(1) as others:
        attack = others.submit(served.request, "POST", "/mcp", body, headers)
        assert served.playbooks(session) == 0
        answer = attack.result(TIMEOUT_S)

    assert answer.status in statuses, answer
    assert b"Traceback" not in answer.body
    if answer.status == 200:
        message = answer.message()
        assert "error" in message or message["result"]["isError"], message
    assert served.playbooks(session) == 0


def test_t37_a_body_without_a_length_is_cut_at_the_limit(served: Served) -> None:
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    headers = served.headers(transfer_encoding="chunked")

    refused(served.request("POST", body=chunk * 100 + b"0\r\n\r\n", headers=headers), 413)

    served.session()


@pytest.mark.parametrize("length", ["99999999999999999999999999", "4194305", "-1", "abc", "1e3", "+5"])
def test_t37_a_length_that_cannot_be_is_refused_before_the_body_comes(served: Served, length: str) -> None:
    refused(served.request("POST", headers=[*served.headers(), ("content-length", length)]), 400, 413)


def test_t40_two_lengths_or_a_length_and_chunks_are_not_taken_for_two_requests(served: Served) -> None:
    """Request smuggling: what follows must not be read as a request of its own with our headers."""
    smuggled = f"POST /mcp HTTP/1.1\r\nHost: {served.host}\r\n\r\n".encode()
    twice = [*served.headers(), ("content-length", "0"), ("content-length", str(len(smuggled)))]
    refused(served.request("POST", body=smuggled, headers=twice), 400)
    both = [*served.headers(), ("content-length", str(len(smuggled) + 5)), ("transfer-encoding", "chunked")]
    assert served.request("POST", body=b"0\r\n\r\n" + smuggled, headers=both).status == 400


def test_a_body_that_comes_slowly_keeps_nobody_waiting(served: Served) -> None:
    lines = [f"{name}: {value}" for name, value in served.headers()]
    head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"content-length: {len(BODY)}", "connection: close", "", ""])
    slow = [served.connect() for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(head.encode() + BODY[:10])

        for _ in range(5):
            served.session()

        for connection in slow:
            connection.sendall(BODY[10:])
            assert read_answer(connection).status == 200
    finally:
        for connection in slow:
            connection.close()


NO_NAMES: list[Any] = ["", " x", "a\nb", "x" * 201, 5, None, [], {}, "\x00"]


@pytest.mark.parametrize("key", ["madang/assistantId", "madang/sessionId"])
@pytest.mark.parametrize("value", NO_NAMES, ids=lambda value: repr(value)[:10])
def test_t31_a_context_that_is_no_name_is_refused(served: Served, key: str, value: Any) -> None:
    session = served.session()
    params = {"name": "add_todo", "arguments": {"name": "x"}, "_meta": {key: value}}
    message = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}

    answer = served.post(message, mcp_session_id=session).message()

    assert answer["error"]["code"] == -32602
    state = served.call(session, "get_current_state", {}).message()["result"]["structuredContent"]
    assert state["todos"] == []


def test_t27_a_session_that_was_never_begun_is_not_found(served: Served) -> None:
    for session in ("0" * 32, "x", "../..", "a" * 5000):
        answer = served.call(session, "get_current_state", {})
        assert answer.status in (400, 404, 431), answer


def test_t41_a_name_rebound_to_this_machine_is_refused(served: Served) -> None:
    """In a real browser: evil.test resolves to us, so its pages may read our answers. There must be none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    browser_path = next(filter(None, map(shutil.which, names)))
    arguments = ["--host-resolver-rules=MAP evil.test 127.0.0.1"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        try:
            # Without the policy of the refusal, which keeps its page from asking at all.
            page = browser.new_page(bypass_csp=True)
            response = page.goto(f"http://evil.test:{served.port}/mcp")
            assert response is not None
            assert response.status == 421
            script = """async ([token, body, accept]) => {
                const headers = {authorization: `Bearer ${token}`, "content-type": "application/json", accept}
                const answer = await fetch("/mcp", {method: "POST", headers, body})
                return [answer.status, await answer.text()]
            }"""
            status, text = page.evaluate(script, [TOKEN, BODY.decode(), ACCEPT])
            assert status == 421
            assert "serverInfo" not in text

            page.goto("data:text/html,<p>another site")
            blocked = page.evaluate(
                """async (url) => {
                    try { return (await fetch(url, {method: "POST", body: "{}"})).status } catch { return "blocked" }
                }""",
                f"http://127.0.0.1:{served.port}/mcp",
            )
            assert blocked == "blocked"
        finally:
            browser.close()


def test_t43_the_token_is_in_no_log(served: Served) -> None:
    session = served.session()
    served.call(session, "add_todo", {"name": 5})
    served.request("GET", f"/mcp?token={TOKEN}")

    log = served.log.read_text()

    assert "add_todo" in log
    assert TOKEN not in log
    assert session not in log
    kept = [path.read_bytes() for path in served.data_dir.iterdir() if path.name.startswith("madang.db")]
    assert not any(TOKEN.encode() in data for data in kept)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_the_server_stops_in_time_though_clients_stay(tmp_path: Path, stop: signal.Signals) -> None:
    with serve(tmp_path) as served:
        session = served.session()
        with served.connect() as stream, served.connect() as idle:
            lines = [f"{name}: {value}" for name, value in served.headers(mcp_session_id=session)]
            stream.sendall("\r\n".join(["GET /mcp HTTP/1.1", *lines, "", ""]).encode())
            assert stream.recv(65536).startswith(b"HTTP/1.1 200")
            idle.sendall(b"POST /mcp HTTP/1.1\r\n")

            served.process.send_signal(stop)

            assert served.process.wait(TIMEOUT_S) in (0, -stop, 128 + stop)
        assert "Traceback" not in served.log.read_text()
