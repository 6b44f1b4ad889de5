"""The gate with routes of every kind: a new one declares its policy, and needs no access control of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from madang.server.gate import (
    CONNECTION_KEY,
    EVENT_STREAM,
    FRAME,
    JSON_API,
    STATIC,
    UPLOADS,
    Gate,
    GatedConnection,
    PolicyMount,
    PolicyRoute,
    RoutePolicy,
)
from madang.server.http import http_app, local_policy
from madang.server.sdk import SdkServer

TOKEN = "t" * 32
ACCESS = local_policy(TOKEN, "127.0.0.1", 8321)
URL = "http://127.0.0.1:8321"
AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}
SMALL_UPLOADS = replace(UPLOADS, max_body_bytes=100_000)


async def note(request: Request) -> Response:
    return JSONResponse(await request.json())


async def upload(request: Request) -> Response:
    size = 0
    async for part in request.stream():
        size += len(part)
    return JSONResponse({"size": size})


async def events(_: Request) -> Response:
    async def stream() -> AsyncIterator[str]:
        for number in range(3):
            yield f"data: {number}\n\n"
            await anyio.sleep(0.05)

    return StreamingResponse(stream(), media_type="text/event-stream")


async def never(_: Request) -> Response:
    await anyio.sleep_forever()
    raise AssertionError


ROUTES: list[PolicyRoute | PolicyMount] = [
    PolicyRoute("/api/notes", note, policy=JSON_API),
    PolicyRoute("/api/slow", never, policy=replace(JSON_API, max_answer_s=0.01)),
    PolicyRoute("/uploads/{name}", upload, policy=SMALL_UPLOADS),
    PolicyRoute("/events", events, policy=replace(EVENT_STREAM, max_answer_s=0.01)),
    PolicyMount("/static", PlainTextResponse("body {}", media_type="text/css"), policy=STATIC),
    PolicyRoute("/proxy", PlainTextResponse("<p>"), policy=replace(FRAME, hosts=frozenset({"localhost:8321"}))),
]


@asynccontextmanager
async def browsing(**options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of MCP and the routes above, in process."""
    app = http_app(SdkServer("test"), ACCESS, routes=ROUTES)
    transport = httpx2.ASGITransport(app=app, **options)
    async with httpx2.AsyncClient(transport=transport, base_url=URL) as client:
        yield client


async def test_a_json_route_takes_json_from_a_client_with_the_token() -> None:
    async with browsing() as client:
        answer = await client.post("/api/notes", json={"a": 1}, headers=AUTHORIZATION)
        assert (answer.status_code, answer.json()) == (200, {"a": 1})

        looks_like_rpc = {"method": "x", "id": None}
        assert (await client.post("/api/notes", json=looks_like_rpc, headers=AUTHORIZATION)).json() == looks_like_rpc

        for refused, status in [
            (await client.post("/api/notes", json={"a": 1}), 401),
            (await client.post("/api/notes", content=b"a=1", headers=AUTHORIZATION), 415),
            (await client.post("/api/notes", content=b"{", headers={**AUTHORIZATION, **JSON}), 400),
            (await client.post("/api/notes", content=b'{"a":1,"a":2}', headers={**AUTHORIZATION, **JSON}), 400),
            (await client.put("/api/notes", json={}, headers=AUTHORIZATION), 405),
            (await client.post("/api/notes", json={}, headers={**AUTHORIZATION, "origin": "http://evil.test"}), 403),
            (await client.post("/api/notes", json={}, headers={**AUTHORIZATION, "host": "evil.test"}), 421),
            (await client.post("/api/notes", json={}, headers={**AUTHORIZATION, "sec-fetch-site": "cross-site"}), 403),
        ]:
            assert refused.status_code == status
            assert set(refused.json()) == {"code", "message", "hint"}


JSON = {"content-type": "application/json"}
BINARY = {"content-type": "application/octet-stream"}


async def parts(count: int, size: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * size


async def test_an_upload_is_read_by_its_route_and_cut_at_its_size() -> None:
    async with browsing() as client:
        headers = {**AUTHORIZATION, **BINARY}
        answer = await client.post("/uploads/a", content=parts(10, 10_000), headers=headers)
        assert (answer.status_code, answer.json()) == (200, {"size": 100_000})

        assert (await client.post("/uploads/a", content=parts(11, 10_000), headers=headers)).status_code == 413
        assert (await client.post("/uploads/a", content=b"x" * 100_001, headers=headers)).status_code == 413
        assert (await client.post("/uploads/a", content=parts(1, 1), headers=BINARY)).status_code == 401
        assert (await client.post("/uploads/a", json={}, headers=AUTHORIZATION)).status_code == 415


async def test_an_upload_that_comes_too_slowly_is_refused_in_its_middle() -> None:

    async def slow() -> AsyncIterator[bytes]:
        yield b"x"
        await anyio.sleep_forever()

    status, body = await exchange(PolicyRoute("/", upload, policy=replace(UPLOADS, max_body_s=0.05)), slow(), BINARY)

    assert status == 408
    assert json.loads(body)["message"] == "The body came too slowly."


async def test_an_event_stream_is_sent_as_it_comes() -> None:
    async with browsing() as client:
        assert (await client.get("/events")).status_code == 401
        answer = await client.get("/events", headers=AUTHORIZATION)

    assert answer.text == "data: 0\n\ndata: 1\n\ndata: 2\n\n"


async def test_an_answer_that_is_no_stream_has_a_clock() -> None:
    async with browsing() as client:
        answer = await client.get("/api/slow", headers=AUTHORIZATION)

    assert (answer.status_code, answer.json()["message"]) == (503, "The answer took too long.")


async def test_static_files_need_no_token_and_are_nothing_but_read() -> None:
    async with browsing() as client:
        assert (await client.get("/static/style.css")).text == "body {}"
        assert (await client.get("/static/style.css", headers=cross_site("navigate", "document"))).status_code == 200
        assert (await client.get("/static/style.css", headers=cross_site("no-cors", "style"))).status_code == 403
        assert (await client.post("/static/style.css", json={})).status_code == 401
        assert (await client.post("/static/style.css", json={}, headers=AUTHORIZATION)).status_code == 405
        assert (await client.request("GET", "/static/style.css", content=b"x")).status_code == 413


async def test_a_frame_is_opened_by_another_site_as_a_frame_and_under_its_own_name_alone() -> None:
    frame = cross_site("navigate", "iframe")
    content = {"host": "localhost:8321"}
    async with browsing() as client:
        assert (await client.get("/proxy", headers={**frame, **content})).text == "<p>"
        assert (await client.get("/proxy", headers=frame)).status_code == 421
        assert (
            await client.get("/proxy", headers={**cross_site("navigate", "document"), **content})
        ).status_code == 403
        assert (await client.get("/api/notes", headers={**frame, **AUTHORIZATION})).status_code == 403


def cross_site(mode: str, dest: str) -> dict[str, str]:
    return {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}


@pytest.mark.parametrize("path", ["/", "/other", "/api", "/api/notes/more", "/uploads/a/b", "//api/notes", "/eventsx"])
async def test_a_path_without_a_route_is_refused_by_the_gate(path: str) -> None:
    reached: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope)

    transport = httpx2.ASGITransport(app=Gate(app, ACCESS, ROUTES))
    async with httpx2.AsyncClient(transport=transport, base_url=URL) as client:
        assert (await client.get(path)).status_code == 401
        assert (await client.get(path, headers=AUTHORIZATION)).status_code == 404
    assert not reached


async def test_a_slash_too_many_is_redirected_under_the_policy_of_its_route() -> None:
    async with browsing() as client:
        assert (await client.get("/api/notes/")).status_code == 401
        answer = await client.get("/api/notes/", headers=AUTHORIZATION)
    assert (answer.status_code, answer.headers["location"]) == (307, f"{URL}/api/notes")


def test_a_route_without_a_policy_does_not_start() -> None:
    routes: Any = [Route("/open", note)]

    with pytest.raises(TypeError, match="has no policy"):
        http_app(SdkServer("test"), ACCESS, routes=routes)


def test_the_policy_that_says_nothing_is_the_strictest() -> None:
    policy = RoutePolicy(kind="api")

    assert policy.needs_token
    assert policy.methods == {"GET"}
    assert (policy.max_body_bytes, policy.may_stream, policy.is_body_streamed) == (0, False, False)
    assert not policy.content_types | policy.navigated_as


async def test_two_routes_at_one_path_have_each_its_own_policy() -> None:
    reading = PolicyRoute("/both", PlainTextResponse("read"), policy=STATIC)
    writing = PolicyRoute("/both", note, policy=replace(JSON_API, methods=frozenset({"POST"})))
    app = http_app(SdkServer("test"), ACCESS, routes=[reading, writing])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=URL) as client:
        assert (await client.get("/both")).text == "read"
        assert (await client.post("/both", json={})).status_code == 401
        assert (await client.post("/both", json={"a": 1}, headers=AUTHORIZATION)).json() == {"a": 1}


class Door:
    """A connection that has room for a request, or not."""

    def __init__(self, *, has_room: bool = True) -> None:
        self.has_room = has_room
        self.admitted: list[bool] = []

    def admit(self, *, has_token: bool) -> bool:
        self.admitted.append(has_token)
        return self.has_room

    def abort(self) -> None:
        raise AssertionError


async def test_a_connection_learns_which_of_its_requests_were_let_in() -> None:
    route = PolicyRoute("/", PlainTextResponse("x"), policy=STATIC)
    door = Door()

    assert (await exchange(route, door=door))[0] == 200
    assert (await exchange(route, headers={"authorization": "none"}, door=door))[0] == 200
    assert (await exchange(route, headers={"host": "evil.test"}, door=door))[0] == 421
    assert door.admitted == [True, False]
    assert (await exchange(route, door=Door(has_room=False)))[0] == 503


async def test_a_route_takes_its_own_token_and_no_other() -> None:
    mine, theirs = {"authorization": f"Bearer {TOKEN}"}, {"authorization": f"Bearer {'b' * 32}"}
    for access, statuses in [(replace(ACCESS, browser_token="b" * 32), (401, 200)), (ACCESS, (401, 401))]:
        route = PolicyRoute(
            "/", PlainTextResponse("x"), policy=replace(JSON_API, methods=frozenset({"GET"}), token="browser")
        )
        gate = Gate(route.handle, access, [route])
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=gate), base_url=URL) as client:
            assert (
                (await client.get("/", headers=mine)).status_code,
                (await client.get("/", headers=theirs)).status_code,
            ) == statuses
            # No token is none, also where there is no token to compare it with.
            assert (await client.get("/", headers={"authorization": "Bearer "})).status_code == 401


async def test_a_failure_of_a_route_is_not_taken_for_a_refusal() -> None:
    async def fail(_: Request) -> Response:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await exchange(PolicyRoute("/", fail, policy=EVENT_STREAM))


async def test_a_client_that_leaves_in_its_upload_is_told_nothing() -> None:
    seen: list[type[BaseException]] = []

    async def watched(request: Request) -> Response:
        try:
            return await upload(request)
        except ClientDisconnect as error:
            seen.append(type(error))
            raise

    status, _ = await exchange(PolicyRoute("/", watched, policy=UPLOADS), None, BINARY)

    assert seen == [ClientDisconnect]
    assert status == 400


async def exchange(
    route: PolicyRoute,
    content: AsyncIterator[bytes] | None = None,
    headers: dict[str, str] | None = None,
    door: GatedConnection | None = None,
) -> tuple[int, bytes]:
    """Send a request through the gate to one route; without content, the client leaves where a body would be."""
    changed = {"host": "127.0.0.1:8321", **AUTHORIZATION, **(headers or {})}
    method = next(method for method in ("POST", "GET") if method in route.policy.methods)
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": "/",
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in changed.items()],
        "state": {} if door is None else {CONNECTION_KEY: door},
    }
    sent: list[Any] = []
    is_first = True

    async def receive() -> Any:
        nonlocal is_first
        if content is not None:
            async for part in content:
                return {"type": "http.request", "body": part, "more_body": True}
        if method == "GET" and is_first:
            is_first = False
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    with anyio.fail_after(60):
        await Gate(route.handle, ACCESS, [route])(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)
