"""The gate before every route over HTTP: who may come in, and what each route takes. Each route declares a policy, and
there is no other access control behind it.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from madang.core.limits import MAX_BODY_BYTES
from madang.server.bodies import BoundedBody, JsonCheck, Refusal, replay, too_large

WELL_KNOWN = "/.well-known/"

MAX_HEADERS = 100
MAX_HEAD_BYTES = 32 * 1024
"""Of the target and all headers. The parser has a limit too, for heads that come in several parts."""

CONNECTION_KEY = "madang.connection"
"""The key in the `state` of a request's scope under which its `GatedConnection` is."""

_CLOSED = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Headers of every answer that says nothing else: a route, or a refusal, cannot forget them."""

RouteKind = Literal["api", "mcp", "download", "upload", "static", "frame", "stream"]

TokenKind = Literal["client", "browser"]
"""Whose token: that of MCP clients, or that of our own tabs. Neither opens what is the other's."""


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The token, hosts and origins of requests that are let in.

    Allow-lists of exact values: a wildcard port would let any local web server in.
    """

    token: str
    hosts: frozenset[str]
    origins: frozenset[str]
    browser_token: str = ""
    """The token of our own tabs, for the routes of the web host. Empty: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePolicy:
    """What a route takes and gives. The defaults are the strictest: a new kind of route says what it needs beyond."""

    kind: RouteKind
    methods: frozenset[str] = frozenset({"GET"})

    needs_token: bool = True
    token: TokenKind = "client"

    person_page: str = ""
    """Where a person is sent who opens the route in a browser, which has no token."""

    hosts: frozenset[str] | None = None
    """Names under which the route is served, if not all of ours: one that shows foreign content has its own."""

    navigated_as: frozenset[str] = frozenset()
    """What another site may open it as, by `Sec-Fetch-Dest`: a whole page (`document`) or a frame (`iframe`). A request
    that is no navigation, such as for an image or a script, is refused in any case."""

    content_types: frozenset[str] = frozenset()
    """Of bodies. Without one the route takes no body at all."""

    max_body_bytes: int = 0
    max_body_s: float = 60.0

    is_body_streamed: bool = False
    """Whether the route reads the body itself, part by part. Otherwise it is read before, and JSON is checked."""

    may_stream: bool = False
    """Whether an answer may take as long as it likes."""

    max_answer_s: float = 60.0
    """Of an answer that is no stream, until its last byte is sent."""


JSON_API = RoutePolicy(
    kind="api",
    methods=frozenset({"GET", "POST"}),
    content_types=frozenset({"application/json"}),
    max_body_bytes=MAX_BODY_BYTES,
)
MCP = RoutePolicy(
    kind="mcp",
    methods=frozenset({"GET", "POST", "DELETE"}),
    content_types=frozenset({"application/json"}),
    max_body_bytes=MAX_BODY_BYTES,
    may_stream=True,
    person_page="/",
)
DOWNLOADS = RoutePolicy(
    # The address of a download is a capability, and a browser that follows a link sends no token.
    kind="download",
    methods=frozenset({"GET", "HEAD"}),
    needs_token=False,
    navigated_as=frozenset({"document"}),
    may_stream=True,
)
UPLOADS = RoutePolicy(
    kind="upload",
    methods=frozenset({"POST"}),
    content_types=frozenset({"application/octet-stream"}),
    # The route says in words how large a file may be; this only ends what does not listen.
    max_body_bytes=1024**3,
    max_body_s=600.0,
    is_body_streamed=True,
)
STATIC = RoutePolicy(
    kind="static", methods=frozenset({"GET", "HEAD"}), needs_token=False, navigated_as=frozenset({"document"})
)
FRAME = RoutePolicy(kind="frame", needs_token=False, navigated_as=frozenset({"iframe"}))
EVENT_STREAM = RoutePolicy(kind="stream", may_stream=True)


class PolicyRoute(Route):
    """A route with its policy."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, policy: RoutePolicy, **options: Any) -> None:
        super().__init__(path, endpoint, methods=policy.methods, **options)
        self.policy = policy


class PolicyMount(Mount):
    """An application below a path, with one policy for all of it."""

    def __init__(self, path: str, app: ASGIApp, *, policy: RoutePolicy, **options: Any) -> None:
        super().__init__(path, app, **options)
        self.policy = policy


class GatedConnection(Protocol):
    """The connection of a request, as the gate knows it."""

    def admit(self, *, has_token: bool) -> bool:
        """Tell that the gate lets a request in; return whether there is room for it."""

    def abort(self) -> None:
        """End the connection at once, whatever was not read of it."""


class Gate:
    """Refuses requests that do not come from a client that has the token, or that their route does not take.

    A web page in the person's browser can reach every port of this machine (DNS rebinding, CSRF). Against it, in this
    order: the Host header must be one of ours (a rebound DNS name brings its own), an Origin must be ours if there is
    one, `Sec-Fetch-Site` must not say cross-site, and the token must be in a header, which no page can set without a
    CORS preflight that we never answer. A route whose policy says so needs no token, and may be navigated to from
    another site. `/.well-known/` needs none either: it is where a client that was refused looks for a way to log in;
    there is none, which it has to learn without a token. A path without a route needs the token even to learn that.
    Every ASGI scope type passes here; an unknown type is refused.
    """

    def __init__(self, app: ASGIApp, access: AccessPolicy, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._access = access
        self._check_json = JsonCheck()
        self._routes: list[PolicyRoute | PolicyMount] = []
        for route in routes:
            if not isinstance(route, (PolicyRoute, PolicyMount)):
                raise TypeError(f"{route!r} has no policy")
            self._routes.append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None
        headers = Headers(scope=scope)
        policy = self._policy(scope)
        send = _closed(send)
        refusal = self._check_access(scope, headers, policy)
        if refusal is None and policy is not None:
            refusal = await self._serve(scope, receive, send, headers, policy)
        if refusal is not None:
            is_person = refusal.status == 401 and _is_opened_in_browser(scope["method"], headers)
            page = policy.person_page if policy is not None and is_person else ""
            response = RedirectResponse(page, 303) if page else _response(refusal, policy)
            await response(scope, receive, send)
        return None

    def _policy(self, scope: Scope) -> RoutePolicy | None:
        """Return the policy of the route that Starlette will choose, by the same rules."""
        path = scope["path"]
        for candidate in (path, path.rstrip("/") if path.endswith("/") else f"{path}/"):
            # The second is for Starlette's redirect between a path with and one without a slash at its end.
            partial = None
            for route in self._routes:
                match, _ = route.matches(scope if candidate is path else {**scope, "path": candidate})
                if match is Match.FULL:
                    return route.policy
                if match is Match.PARTIAL and partial is None:
                    partial = route.policy
            if partial is not None:
                return partial
        return None

    def _check_access(self, scope: Scope, headers: Headers, policy: RoutePolicy | None) -> Refusal | None:
        if not scope["path"].startswith("/"):
            # A target in absolute form overrides the Host header, so the check of that header would prove nothing.
            return Refusal(400, "The request target must be a path.")
        if (refusal := _check_head_size(scope)) is not None:
            return refusal
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._access.hosts:
            return Refusal(421, "This Host is not allowed.")
        origins = headers.getlist("origin")
        if origins and (len(origins) != 1 or origins[0] not in self._access.origins):
            return Refusal(403, "This Origin is not allowed.")
        is_served = policy is not None and scope["method"] in policy.methods
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            dest = headers.get("sec-fetch-dest") if headers.get("sec-fetch-mode") == "navigate" else None
            if policy is None or not is_served or dest not in policy.navigated_as:
                return Refusal(403, "Cross-site requests are not allowed.")
        if policy is not None and policy.hosts is not None and hosts[0].lower() not in policy.hosts:
            return Refusal(421, "This Host is not allowed.")
        if policy is not None and is_served and not policy.needs_token:
            return None
        if WELL_KNOWN in scope["path"]:
            return Refusal(404, "There is no login here: a client needs the bearer token that the server printed.")
        if not self._has_token(headers, policy):
            if policy is not None and policy.token == "browser":
                return Refusal(401, "This tab has no valid token. Open the chat from the terminal again: madang web")
            return Refusal(401, "A bearer token is required: the one that the server printed when it started.")
        if policy is None:
            return Refusal(404, "There is nothing at this path.")
        if not is_served:
            return Refusal(405, f"This path takes {', '.join(sorted(policy.methods))}.")
        return None

    def _has_token(self, headers: Headers, policy: RoutePolicy | None) -> bool:
        """Tell whether a request has the token of its route. Where there is no route, either opens nothing."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        tokens = {"client": self._access.token, "browser": self._access.browser_token}
        expected = list(tokens.values()) if policy is None else [tokens[policy.token]]
        matches = [bool(one) and hmac.compare_digest(token.encode(), one.encode()) for one in expected]
        return scheme.lower() == "bearer" and any(matches)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, headers: Headers, policy: RoutePolicy
    ) -> Refusal | None:
        """Serve a request that has access; return why not, where nothing was sent yet."""
        connection: GatedConnection | None = scope.get("state", {}).get(CONNECTION_KEY)
        if connection is not None and not connection.admit(has_token=self._has_token(headers, policy)):
            return Refusal(503, "Too many requests are being served. Try again later.")
        if (refusal := _check_body_headers(scope["method"], headers, policy)) is not None:
            return refusal
        body = BoundedBody(receive, policy.max_body_bytes, policy.max_body_s)
        if policy.is_body_streamed:
            return await _Exchange(self._app, policy, body).run(scope, body.receive, send)
        content = await body.read()
        if isinstance(content, Refusal):
            return content
        is_json = _has_body(scope["method"]) and _content_type(headers) == "application/json"
        if is_json:
            refusal = await self._check_json(content, is_rpc=policy.kind == "mcp")
            if refusal is not None:
                return refusal
        return await _Exchange(self._app, policy, body).run(scope, replay(content, receive), send)


class _Exchange:
    """One request and its answer, which is dropped if the body is refused while the application reads it."""

    def __init__(self, app: ASGIApp, policy: RoutePolicy, body: BoundedBody) -> None:
        self._app = app
        self._policy = policy
        self._body = body
        self._has_started = False

    async def run(self, scope: Scope, receive: Receive, send: Send) -> Refusal | None:
        async def send_unless_refused(message: Message) -> None:
            if self._body.refusal is None or self._has_started:
                self._has_started = True
                await send(message)

        deadline = asyncio.timeout(None if self._policy.may_stream else self._max_s())
        try:
            async with deadline:
                await self._app(scope, receive, send_unless_refused)
        except Exception:
            # The application was told that its client is gone, or cancelled, and may say so.
            if self._has_started or not (self._body.refusal or deadline.expired()):
                raise
            return self._body.refusal or Refusal(503, "The answer took too long.")
        return None if self._has_started else self._body.refusal

    def _max_s(self) -> float:
        return self._policy.max_answer_s + (self._policy.max_body_s if self._policy.is_body_streamed else 0)


def _closed(send: Send) -> Send:
    """Return a `send` that adds to an answer what keeps it from other sites, where the answer has not said itself."""

    async def send_closed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ())]
            names = {name.lower() for name, _ in headers}
            message = {**message, "headers": headers + [one for one in _CLOSED if one[0] not in names]}
        await send(message)

    return send_closed


def _check_head_size(scope: Scope) -> Refusal | None:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    size = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    size += sum(len(name) + len(value) for name, value in headers)
    if len(headers) > MAX_HEADERS or size > MAX_HEAD_BYTES:
        return Refusal(431, f"The head has more than {MAX_HEADERS} headers or {MAX_HEAD_BYTES} bytes.")
    return None


def _check_body_headers(method: str, headers: Headers, policy: RoutePolicy) -> Refusal | None:
    if _has_body(method):
        if _content_type(headers) not in policy.content_types:
            return Refusal(415, f"The body must be {' or '.join(sorted(policy.content_types)) or 'empty'}.")
        if headers.get("content-encoding", "identity").lower() != "identity":
            return Refusal(415, "The body must not be compressed.")
    if (length := headers.get("content-length", "0")).isdecimal() and int(length[:20]) > policy.max_body_bytes:
        return too_large(policy.max_body_bytes)
    return None


def _is_opened_in_browser(method: str, headers: Headers) -> bool:
    """Tell whether a person opens an address: no MCP client takes HTML, and no browser sends a token by itself."""
    return method == "GET" and "text/html" in headers.get("accept", "") and "authorization" not in headers


def _content_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _has_body(method: str) -> bool:
    return method in ("POST", "PUT", "PATCH")


def _response(refusal: Refusal, policy: RoutePolicy | None) -> JSONResponse:
    headers = {"www-authenticate": "Bearer"} if refusal.status == 401 else {}
    if refusal.status == 405 and policy is not None:
        headers["allow"] = ", ".join(sorted(policy.methods))
    if policy is not None and policy.kind in ("api", "upload", "stream"):
        return JSONResponse({"code": "refused", "message": refusal.reason, "hint": ""}, refusal.status, headers)
    error = {"code": -32600, "message": refusal.reason}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, refusal.status, headers)
