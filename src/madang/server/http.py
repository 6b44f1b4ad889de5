"""The HTTP side of the MCP door: one gate before every route, then the SDK's streamable HTTP app."""

from __future__ import annotations

import hmac
import json
import re
import socket
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from madang.core.errors import SetupError
from madang.core.phrases import say
from madang.server.downloads import DownloadRoute, is_download
from madang.storage.downloads import Downloads

MAX_BODY_BYTES = 4 * 1024 * 1024
INLINE_PARSE_MAX_BYTES = 64 * 1024
MAX_BODY_DEPTH = 64
MAX_BODY_VALUES = 200_000


@dataclass(frozen=True, slots=True)
class Gate:
    """What a request must bring. Exact lists only: a wildcard port would let any local web server in."""

    token: str
    hosts: frozenset[str]
    origins: frozenset[str]


def http_app(server: Server[Any], gate: Gate, downloads: Downloads | None = None) -> ASGIApp:
    """Return the ASGI app that serves MCP at /mcp, and downloads if there are any, behind the gate."""
    security = TransportSecuritySettings(allowed_hosts=sorted(gate.hosts), allowed_origins=sorted(gate.origins))
    app: ASGIApp = server.streamable_http_app(transport_security=security, max_request_body_size=MAX_BODY_BYTES)
    if downloads is not None:
        app = DownloadRoute(app, downloads)
    return GateMiddleware(app, gate, has_downloads=downloads is not None)


def local_gate(token: str, host: str, port: int) -> Gate:
    """Return the gate of a server on this machine: the names a local client can mean, with this port."""
    names = {"127.0.0.1", "localhost", "[::1]"} if host in ("127.0.0.1", "localhost", "::1") else {host}
    hosts = frozenset(f"{name}:{port}" for name in names)
    return Gate(token, hosts, frozenset(f"http://{name}" for name in hosts))


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this machine; port 0 takes a free one.

    Raises:
        SetupError: somebody else listens there already.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise SetupError(
            say(
                "Cannot listen on {host} port {port}: {reason}.",
                host=host,
                port=port,
                reason=error.strerror or error,
            ),
            hint=say("Use another port: --http 127.0.0.1:0 takes a free one."),
        ) from None
    # By its full name: only of a socket that says it is TCP does asyncio send every part of an answer at once. Else the
    # second part waits until the first is acknowledged, which a client may put off for 40 ms.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, listening.detach())


def loopback_sockets(port: int) -> list[socket.socket]:
    """Return sockets on both loopback addresses, with the same port; port 0 takes a free one.

    `localhost` means either. Were one left free, another user of this machine could listen there and be sent the token.

    Raises:
        SetupError: somebody else listens there already.
    """
    sockets = [listening_socket("127.0.0.1", port)]
    if _has_ipv6_loopback():
        try:
            sockets.append(listening_socket("::1", sockets[0].getsockname()[1]))
        except SetupError:
            sockets[0].close()
            raise
    return sockets


def _has_ipv6_loopback() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


class GateMiddleware:
    """Refuses what does not come from a client that was given the token.

    A web page in the person's browser can reach every port of this machine. What keeps it out, in this order: the Host
    header must be one of ours (a rebound DNS name brings its own), an Origin must be ours if there is one, a browser
    must not call this a cross-site request, and the token must be in a header, which no page can set without a
    preflight that we never answer. A download brings its permission in its address instead of the token, and a browser
    may follow a link to it from another site, for a whole new page and nothing else. All routes and all kinds of
    connection pass here; an unknown kind is refused.
    """

    def __init__(self, app: ASGIApp, gate: Gate, *, has_downloads: bool = False) -> None:
        self._app = app
        self._gate = gate
        self._has_downloads = has_downloads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None
        by_address = self._has_downloads and is_download(scope)
        refusal = self._refusal(Headers(scope=scope), scope["method"], by_address=by_address)
        if not scope["path"].startswith("/"):
            # A target that names a host of its own overrules the Host header, which then says nothing.
            refusal = _Refusal(400, "The request target must be a path.")
        body = b""
        if refusal is None and scope["method"] == "POST":
            read = await _read_body(receive)
            if isinstance(read, _Refusal):
                refusal = read
            else:
                body = read
                # Parsing holds the event loop; large bodies are looked at in a thread, so that others go on.
                inspect = anyio.to_thread.run_sync(_inspect, body) if len(body) > INLINE_PARSE_MAX_BYTES else None
                refusal = await inspect if inspect else _inspect(body)
        if refusal is not None:
            return await refusal.response()(scope, receive, send)
        if scope["method"] == "POST":
            receive = _replay(body, receive)
        return await self._app(scope, receive, send)

    def _refusal(self, headers: Headers, method: str, *, by_address: bool) -> _Refusal | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._gate.hosts:
            return _Refusal(421, "This server does not answer under that Host.")
        origins = headers.getlist("origin")
        if origins and (len(origins) != 1 or origins[0] not in self._gate.origins):
            return _Refusal(403, "This Origin is not allowed.")
        follows_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        is_ours = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        if not is_ours and not (by_address and follows_link):
            return _Refusal(403, "Cross-site requests are not allowed.")
        if by_address:
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.encode(), self._gate.token.encode()):
            return _Refusal(401, "A bearer token is needed: the one printed when the server was started.")
        if method == "POST":
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return _Refusal(415, "Only application/json is taken.")
            if headers.get("content-encoding", "identity").lower() != "identity":
                return _Refusal(415, "Compressed bodies are not taken.")
            if (length := headers.get("content-length", "0")).isdecimal() and int(length[:20]) > MAX_BODY_BYTES:
                return _TOO_LARGE
        return None


@dataclass(frozen=True, slots=True)
class _Refusal:
    status: int
    reason: str

    def response(self) -> JSONResponse:
        headers = {"www-authenticate": "Bearer"} if self.status == 401 else {}
        error = {"code": -32600, "message": self.reason}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, self.status, headers)


_TOO_LARGE = _Refusal(413, f"The body has more than {MAX_BODY_BYTES} bytes.")


async def _read_body(receive: Receive) -> bytes | _Refusal:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return _Refusal(400, "The client went away.")
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY_BYTES:
            return _TOO_LARGE
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _inspect(body: bytes) -> _Refusal | None:
    """Refuse JSON that is too deep, holds too much, or means two things at once (a key given twice)."""
    if body.count(b"[") + body.count(b"{") > MAX_BODY_DEPTH or body.count(b",") > MAX_BODY_VALUES:
        outside_strings = _STRING.sub(b"", body)
        if outside_strings.count(b",") > MAX_BODY_VALUES:
            return _Refusal(413, f"The body holds more than {MAX_BODY_VALUES} values.")
        if _is_deep(outside_strings):
            return _Refusal(400, f"The body is nested deeper than {MAX_BODY_DEPTH} levels.")
    try:
        json.loads(body, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return _Refusal(400, f"The body is not acceptable JSON: {str(error)[:100]}.")
    return None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# A string that is not closed reaches to the end: were it no match, each escaped quote in it would be tried as a start.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # one level up, one level down, as signed bytes
_AT_ONCE = 16 * 1024


def _is_deep(outside_strings: bytes) -> bool:
    """Tell whether brackets are nested too deep. It lets other threads run now and then."""
    steps = memoryview(outside_strings.translate(_STEPS, _OTHERS)).cast("b")
    level = 0
    for start in range(0, len(steps), _AT_ONCE):
        levels = list(accumulate(steps[start : start + _AT_ONCE], initial=level))
        if max(levels) > MAX_BODY_DEPTH:
            return True
        level = levels[-1]
    return False
