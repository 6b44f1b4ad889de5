"""Routes of the JSON API: typed operations, errors as JSON, and the headers of every answer.

An operation declares what it takes and gives; checking that, and the OpenAPI document, follow from the declaration.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from madang.core.arguments import invalid_arguments
from madang.core.calls import Locale
from madang.core.documents import Document
from madang.core.errors import InvalidArguments, MadangError
from madang.core.phrases import say
from madang.core.results import Reply
from madang.core.schemas import flat_schema
from madang.host.calls import accepted_locale
from madang.host.wire import Done, ErrorAnswer
from madang.rendering.catalogue import translator
from madang.server.gate import JSON_API, PolicyRoute, RoutePolicy

API_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}

STATUSES: Mapping[str, int] = {
    "not_found": 404,
    "unknown_tool": 404,
    "not_granted": 403,
    "denied": 403,
    "approval_required": 403,
    "conflict": 409,
    "expired": 410,
    "limit_exceeded": 429,
    "too_large": 413,
    "timed_out": 503,
    "unavailable": 503,
    "internal": 500,
}
"""Of errors, by their code; 400 for all others: the request has to change."""

Method = Literal["GET", "POST", "PATCH", "DELETE"]

logger = logging.getLogger(__name__)


class ReplyError(Exception):
    """A tool's reply that is an error, as the answer to a request."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.error_code)
        error = reply.data["error"]
        self.answer = ErrorAnswer(code=error["code"], message=error["message"], hint=error.get("hint") or "")


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request whose body and query are what their types say."""

    request: Request
    body: Any = None
    query: Any = None

    def path(self, name: str) -> str:
        value: str = self.request.path_params[name]
        return value


Handler = Callable[[ApiRequest], Awaitable[Document | Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What the OpenAPI document tells of a route. The handler's docstring is its description."""

    method: Method
    path: str
    handler: Callable[..., Awaitable[Any]]
    answer: type[BaseModel] | None = Done
    """None: bytes of the media type."""
    body: type[Document] | None = None
    query: type[Document] | None = None
    status: int = 200
    needs_token: bool = True
    media_type: str = "application/json"
    """Of the answer."""
    body_media_type: str = "application/json"
    id: str = ""
    """Of the document, if it is not that of class and method: clients made from the document call it by this."""


@dataclass(frozen=True, slots=True)
class Operation(Endpoint):
    """An endpoint whose handler gets what was parsed, and answers with a document or a file."""

    handler: Handler

    def policy(self, host: str) -> RoutePolicy:
        """Return the policy of the route, which is served under the host's own name alone."""
        policy = replace(
            JSON_API,
            methods=frozenset({self.method}),
            hosts=frozenset({host}),
            token="browser",
            needs_token=self.needs_token,
            max_answer_s=150.0,
            may_stream=self.media_type != "application/json",
        )
        return policy if self.body is not None else replace(policy, content_types=frozenset(), max_body_bytes=0)

    def route(self, host: str, locale: Locale) -> PolicyRoute:
        """Return the route of the operation; `locale` is that of errors for who asks for none of ours."""

        async def answer(request: Request) -> Response:
            return await answer_safely(request, locale, lambda: self._answer(request))

        return PolicyRoute(self.path, answer, policy=self.policy(host), name=f"{self.method} {self.path}")

    async def _answer(self, request: Request) -> Response:
        body = parse(self.body, await request.body()) if self.body is not None else None
        query = parse_query(self.query, request) if self.query is not None else None
        answer = await self.handler(ApiRequest(request, body, query))
        if isinstance(answer, Response):  # a file, which is no document
            return answer
        return document_response(answer, self.status)


def document_response(document: Document, status: int = 200) -> Response:
    """Return a document as an answer."""
    # `ensure_ascii` where it must be: half a surrogate pair, as models write it, cannot be UTF-8.
    content = document.model_dump(mode="python", by_alias=True)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    return Response(data, status, API_HEADERS, media_type="application/json")


async def answer_safely(request: Request, default: Locale, answer: Callable[[], Awaitable[Response]]) -> Response:
    """Return the answer, or the error as one: in the language that the request asks for, else the default one."""
    try:
        return await answer()
    except ReplyError as error:
        return _error(error.answer)
    except MadangError as error:
        return error_response(error, accepted_locale(request, default))
    except Exception:
        reference = secrets.token_hex(4)
        logger.exception("Internal error %s in %s", reference, request.scope.get("route"))
        message = say("Internal error (reference {reference}).", reference=reference)
        text = message.render(translator(accepted_locale(request, default)))
        return _error(ErrorAnswer(code="internal", message=text))


def error_response(error: MadangError, locale: Locale) -> Response:
    """Return an error of ours as an answer."""
    translate = translator(locale)
    hint = error.hint.render(translate) if error.hint is not None else ""
    return _error(ErrorAnswer(code=error.code, message=error.message.render(translate), hint=hint))


def checked(reply: Reply) -> Reply:
    """Return a reply that is none of an error.

    Raises:
        ReplyError: it is one.
    """
    if reply.is_error:
        raise ReplyError(reply)
    return reply


def parse(kind: type[Document], body: bytes) -> Document:
    """Return the body of a request.

    Raises:
        InvalidArguments: it does not fit.
    """
    try:
        return kind.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise invalid_arguments(error, flat_schema(kind)) from None


def parse_query(kind: type[Document], request: Request) -> Document:
    """Return the query of a request.

    Raises:
        InvalidArguments: it does not fit, or has something twice.
    """
    pairs = request.query_params.multi_items()
    if len(dict(pairs)) != len(pairs):
        raise InvalidArguments(say("A parameter of the query is there twice."))
    try:
        return kind.model_validate_strings(dict(pairs))
    except ValidationError as error:
        raise invalid_arguments(error, flat_schema(kind)) from None


def _error(answer: ErrorAnswer) -> Response:
    content = answer.model_dump(by_alias=True)
    return JSONResponse(content, STATUSES.get(answer.code, 400), API_HEADERS)
