"""The routes of the API: of operations, of uploads, of streams, and of the document that tells of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from madang.core.calls import Locale
from madang.host.api import API_HEADERS, Endpoint, Operation
from madang.host.openapi import openapi_document
from madang.host.receiving import upload_route
from madang.server.gate import EVENT_STREAM, JSON_API, PolicyRoute


class AsgiEndpoint:
    """A method as an ASGI application: Starlette would take it for a function of a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def api_routes(
    host: str,
    locale: Locale,
    *,
    operations: Sequence[Operation],
    uploads: Sequence[Operation],
    streams: Sequence[Endpoint],
) -> list[PolicyRoute]:
    """Return the routes of the API, which is served under the host's own name alone.

    Uploads and streams have routes of their own kind, because their bodies are streams. `locale` is the language of
    errors for who asks for none of ours.
    """
    stream = replace(EVENT_STREAM, hosts=frozenset({host}), token="browser")
    return [
        *(PolicyRoute(one.path, AsgiEndpoint(one.handler), policy=stream) for one in streams),
        *(upload_route(operation, host, locale) for operation in uploads),
        _openapi_route([*operations, *streams, *uploads], host),
        *(operation.route(host, locale) for operation in operations),
    ]


def _openapi_route(operations: Sequence[Endpoint], host: str) -> PolicyRoute:
    document = openapi_document(operations)

    async def answer(request: Request) -> Response:
        return JSONResponse(document, headers=API_HEADERS)

    policy = replace(
        JSON_API,
        methods=frozenset({"GET"}),
        hosts=frozenset({host}),
        token="browser",
        content_types=frozenset(),
        max_body_bytes=0,
    )
    return PolicyRoute("/api/openapi.json", answer, policy=policy)
