"""MCP over HTTP: access control before every route, then the SDK's streamable HTTP app."""

from __future__ import annotations

import hmac
import json
import re
import socket
import sys
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
from madang.core.limits import MAX_BODY_BYTES, MAX_BODY_DEPTH, MAX_BODY_VALUES
from madang.core.phrases import say
from madang.server.downloads import DownloadRoute, is_download
from madang.storage.downloads import Downloads

INLINE_PARSE_MAX_BYTES = 64 * 1024
WELL_KNOWN = "/.well-known/"


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The token, hosts and origins of requests that are let in.

    Allow-lists of exact values: a wildcard port would let any local web server in.
    """

    token: str
    hosts: frozenset[str]
    origins: frozenset[str]


def http_app(server: Server[Any], policy: AccessPolicy, downloads: Downloads | None = None) -> ASGIApp:
    """Return the ASGI app that serves MCP at /mcp, and downloads if there are any, to requests the policy lets in."""
    security = TransportSecuritySettings(allowed_hosts=sorted(policy.hosts), allowed_origins=sorted(policy.origins))
    app: ASGIApp = server.streamable_http_app(transport_security=security, max_request_body_size=MAX_BODY_BYTES)
    if downloads is not None:
        app = DownloadRoute(app, downloads)
    return AccessMiddleware(app, policy, has_downloads=downloads is not None)


def local_policy(token: str, host: str, port: int) -> AccessPolicy:
    """Return the policy of a server on this machine: the names of the loopback interface, with this port."""
    names = {"127.0.0.1", "localhost", "[::1]"} if host in ("127.0.0.1", "localhost", "::1") else {host}
    hosts = frozenset(f"{name}:{port}" for name in names)
    return AccessPolicy(token, hosts, frozenset(f"http://{name}" for name in hosts))


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this machine; port 0 takes a free one.

    Raises:
        SetupError: the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol: asyncio sets TCP_NODELAY only on a socket that says it is TCP. Without it the second part of an
    # answer waits for the acknowledgement of the first, which a client may delay by 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":
            # There, another process could otherwise take over the port, with the tokens that clients send to it.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise SetupError(
            say(
                "Cannot listen on {host} port {port}: {reason}.",
                host=host,
                port=port,
                reason=error.strerror or error,
            ),
            hint=say("Use another port: --http 127.0.0.1:0 takes a free one."),
        ) from None
    return listening


def loopback_sockets(port: int) -> list[socket.socket]:
    """Return sockets on both loopback addresses, with the same port; port 0 takes a free one.

    `localhost` means either. Were one left free, another user of this machine could listen there and be sent the token.

    Raises:
        SetupError: the port is taken on either address.
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


class AccessMiddleware:
    """Refuses requests that do not come from a client that has the token.

    A web page in the person's browser can reach every port of this machine (DNS rebinding, CSRF). Against it, in this
    order: the Host header must be one of ours (a rebound DNS name brings its own), an Origin must be ours if there is
    one, `Sec-Fetch-Site` must not say cross-site, and the token must be in a header, which no page can set without a
    CORS preflight that we never answer. Two kinds of paths need no token. The URL of a download is a capability: a
    browser may follow a link to it from another site, as a navigation to a new document and nothing else. And
    `/.well-known/` is where a client that was refused looks for a way to log in: there is none, which it has to learn
    without a token. Every route and every ASGI scope type passes here; an unknown type is refused.
    """

    def __init__(self, app: ASGIApp, policy: AccessPolicy, *, has_downloads: bool = False) -> None:
        self._app = app
        self._policy = policy
        self._has_downloads = has_downloads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None
        by_capability = self._has_downloads and is_download(scope)
        refusal = self._refusal(Headers(scope=scope), scope["method"], scope["path"], by_capability=by_capability)
        if not scope["path"].startswith("/"):
            # A target in absolute form overrides the Host header, so the check of that header would prove nothing.
            refusal = _Refusal(400, "The request target must be a path.")
        body = b""
        if refusal is None and scope["method"] == "POST":
            outcome = await _read_body(receive)
            if isinstance(outcome, _Refusal):
                refusal = outcome
            elif len(outcome) > INLINE_PARSE_MAX_BYTES:
                # Parsing holds the event loop; a large body is checked in a thread.
                refusal = await anyio.to_thread.run_sync(_check_body, body := outcome)
            else:
                refusal = _check_body(body := outcome)
        if refusal is not None:
            return await refusal.response()(scope, receive, send)
        if scope["method"] == "POST":
            receive = _replay(body, receive)
        return await self._app(scope, receive, send)

    def _refusal(self, headers: Headers, method: str, path: str, *, by_capability: bool) -> _Refusal | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._policy.hosts:
            return _Refusal(421, "This Host is not allowed.")
        origins = headers.getlist("origin")
        if origins and (len(origins) != 1 or origins[0] not in self._policy.origins):
            return _Refusal(403, "This Origin is not allowed.")
        follows_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        is_ours = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        if not is_ours and not (by_capability and follows_link):
            return _Refusal(403, "Cross-site requests are not allowed.")
        if by_capability:
            return None
        if WELL_KNOWN in path:
            return _Refusal(404, "There is no login here: a client needs the bearer token that the server printed.")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.encode(), self._policy.token.encode()):
            return _Refusal(401, "A bearer token is required: the one that the server printed when it started.")
        if method == "POST":
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return _Refusal(415, "The body must be application/json.")
            if headers.get("content-encoding", "identity").lower() != "identity":
                return _Refusal(415, "The body must not be compressed.")
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
            return _Refusal(400, "The client disconnected.")
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY_BYTES:
            return _TOO_LARGE
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    is_replayed = False

    async def replay() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _check_body(body: bytes) -> _Refusal | None:
    """Refuse JSON that is too deep or too large, or has a duplicate key, of which parsers take the one or the other."""
    if body.count(b"[") + body.count(b"{") > MAX_BODY_DEPTH or body.count(b",") > MAX_BODY_VALUES:
        outside_strings = _STRING.sub(b"", body)
        if outside_strings.count(b",") > MAX_BODY_VALUES:
            return _Refusal(413, f"The body holds more than {MAX_BODY_VALUES} values.")
        if _is_too_deep(outside_strings):
            return _Refusal(400, f"The body is nested deeper than {MAX_BODY_DEPTH} levels.")
    try:
        json.loads(body, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return _Refusal(400, f"The body is not acceptable JSON: {str(error)[:100]}.")
    return None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("duplicate key")
    return fields


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# An unclosed string matches to the end: without that, each escaped quote in it would be tried as a start (quadratic).
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # one level up, one level down, as signed bytes
_BLOCK_BYTES = 16 * 1024


def _is_too_deep(outside_strings: bytes) -> bool:
    """Tell whether brackets are nested too deep. It works in blocks, between which other threads get the GIL."""
    steps = memoryview(outside_strings.translate(_STEPS, _NO_BRACKETS)).cast("b")
    level = 0
    for start in range(0, len(steps), _BLOCK_BYTES):
        levels = list(accumulate(steps[start : start + _BLOCK_BYTES], initial=level))
        if max(levels) > MAX_BODY_DEPTH:
            return True
        level = levels[-1]
    return False
