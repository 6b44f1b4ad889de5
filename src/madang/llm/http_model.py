"""What the clients of our own have in common: one request, a stream of events, the limits of both, and their errors.

It makes no retry and hides none; `base.retrying` does that where it can be seen. What is said over the wire, and what
becomes of it, is for the wire's own client (`compatible`, `anthropic`).
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import anyio
from pydantic_core import from_json

from madang.core.phrases import say
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest
from madang.llm.connection import CLOSE_S, Connection, RequestListener
from madang.llm.errors import (
    AnswerTooLarge,
    BadReply,
    CutShort,
    ModelError,
    RequestRefused,
    Stalled,
    Unreachable,
    body_error,
    parse_retry_after,
    shorten,
    stream_error,
    told_error,
)
from madang.llm.events import BOM, EventParser

if TYPE_CHECKING:
    import httpx2

    from madang.llm.http import Watchdog

MAX_ERROR_BYTES = 64 * 1024
ERROR_BODY_S = 10.0
DRAIN_S = 0.5

_PING = re.compile(rb'\{\s*"type"\s*:\s*"ping"')


class AnswerFold(Protocol):
    """Folds what a server sends into deltas, and at the end into one answer. Pure: it reads nothing."""

    raw_finish: str
    """The server's word for why the answer ended, once it has come."""
    is_done: bool
    """The server has said that nothing more comes."""

    def add(self, chunk: Mapping[str, Any]) -> list[ModelDelta]:
        """Return the deltas of an event, or of a whole answer that came at once."""

    def end(self) -> list[ModelDelta]:
        """Return the deltas that were held back until it was known what they are."""

    def answer(self) -> ModelAnswer:
        """Return the whole answer.

        Raises:
            CutShort: the server gave no reason for its end.
        """


class HttpModel(Model):
    """A model of a server that answers a request with a stream of events."""

    wire: ClassVar[str]
    """The API, as an error names it."""
    path: ClassVar[str]
    models_path: ClassVar[str]

    def __init__(self, name: str, connection: Connection, *, provider: str = "", label: str = "") -> None:
        self.name = name
        self.provider = provider or connection.url
        self.label = label or f"{self.provider}#{name}"
        self._connection = connection
        self._client: httpx2.AsyncClient | None = None

    @abstractmethod
    def _key_headers(self) -> dict[str, str]:
        """Return the headers by which the server knows the person, and its API."""

    @abstractmethod
    def _body(self, request: ModelRequest) -> bytes:
        """Return a request as the server takes it, as far as that is known."""

    @abstractmethod
    def _learn(self, refusal: str) -> None:
        """Take the words of a refusal: they may tell of a field that the server does not take."""

    @abstractmethod
    def _fold(self, request: ModelRequest) -> AnswerFold: ...

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelAnswer, None]:
        from madang.llm.http import Watchdog

        answer = self._fold(request)
        deadline = anyio.current_time() + self._connection.limits.first_event_s
        response = await self._ask(request)
        try:
            with Watchdog(response) as watchdog:
                watchdog.reset(deadline - anyio.current_time())
                async with aclosing(self._read(response, answer, watchdog)) as batches:
                    async for deltas in batches:
                        for delta in deltas:
                            yield delta
        finally:
            await _close(response)
        for delta in answer.end():
            yield delta
        yield answer.answer()

    async def list_models(self) -> list[str]:
        """Return the names of the server's models.

        Raises:
            ModelError: it does not tell.
        """
        value = await self._get(self.models_path)
        models = value.get("data") if isinstance(value, dict) else None
        if not isinstance(models, list):
            raise BadReply(say("The server does not tell which models it has."))
        names = [model.get("id") for model in models if isinstance(model, dict)]
        return [name for name in names if isinstance(name, str) and name]

    async def _get(self, path: str) -> Any:
        """Return the JSON that the server has at a path; None if it is none.

        Raises:
            ModelError: it has nothing there, or cannot be reached.
        """
        from madang.llm.http import Watchdog

        limits = self._connection.limits
        response = await self._send(path, None)
        try:
            with Watchdog(response) as watchdog:
                watchdog.reset(limits.idle_s)
                return _parse(await _gather(self._chunks(response, None, watchdog), b"", limits.max_line_bytes))
        finally:
            await _close(response)

    def watch_requests(self, listener: RequestListener) -> None:
        self._connection = replace(self._connection, on_request=listener)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _ask(self, request: ModelRequest) -> httpx2.Response:
        """Send a request, once more if the server refused a field that not all of them take.

        That is no retry: nothing was asked of the model yet, and the next request has the field no more.
        """
        while True:
            body = self._body(request)
            try:
                return await self._send(self.path, body)
            except RequestRefused as refusal:
                self._learn(str(refusal))
                if self._body(request) == body:
                    raise

    async def _send(self, path: str, body: bytes | None) -> httpx2.Response:
        """Return the head of the answer to a request; without a body, something is only read."""
        import httpx2

        from madang.llm.http import open_client

        if self._client is None:
            self._client = open_client(self._connection)
        url, limits = self._connection.url, self._connection.limits
        # The person's own headers come last: a gateway may want another key than the vendor.
        own = {name.lower(): value.get_secret_value() for name, value in self._connection.headers.items()}
        headers = self._key_headers() | own
        if body is None:
            message = self._client.build_request("GET", f"{url}{path}", headers=headers)
        else:
            headers |= {"content-type": "application/json", "accept": "text/event-stream"}
            message = self._client.build_request("POST", f"{url}{path}", content=body, headers=headers)
        try:
            with anyio.fail_after(limits.first_event_s):
                response = await self._client.send(message, stream=True)
        except TimeoutError:
            seconds = limits.first_event_s
            text = say("The model's server did not begin to answer within {seconds:g} s.", seconds=seconds)
            raise Stalled(text) from None
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from None
        if response.status_code != 200:
            raise await self._refusal(response)
        return response

    async def _read(
        self, response: httpx2.Response, answer: AnswerFold, watchdog: Watchdog
    ) -> AsyncGenerator[list[ModelDelta], None]:
        limits = self._connection.limits
        parser = EventParser(limits.max_line_bytes, limits.max_stream_bytes)
        is_first = True
        async with aclosing(self._chunks(response, answer, watchdog)) as chunks:
            async for chunk in chunks:
                if is_first and (start := chunk.removeprefix(BOM).lstrip()[:1]):
                    if start in (b"{", b"["):  # some gateways answer a request for a stream with plain JSON
                        yield self._parse_chunk(answer, await _gather(chunks, chunk, limits.max_line_bytes))
                        return
                    if start == b"<":  # the page of a proxy or a login
                        raise self._bad_reply(chunk)
                    is_first = False
                # What only keeps the connection alive is no life of the model.
                events = [(kind, data) for kind, data in parser.feed(chunk) if not _is_ping(kind, data)]
                for kind, data in events:
                    yield self._parse_event(answer, kind, data)
                if events:
                    # Only a body that was read to its end leaves the connection to the next request.
                    limit_s = DRAIN_S if answer.is_done else limits.trailer_s if answer.raw_finish else limits.idle_s
                    watchdog.reset(limit_s)
        for kind, data in parser.end():
            yield self._parse_event(answer, kind, data, is_cut=True)

    async def _chunks(
        self, response: httpx2.Response, answer: AnswerFold | None, watchdog: Watchdog
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a body. Once the answer is there, only the usage can be missing: its loss is no error."""
        import httpx2

        # What is not compressed, as we ask for it, passes fewer hands.
        is_encoded = response.headers.get("content-encoding", "identity") != "identity"
        try:
            async with aclosing(response.aiter_bytes() if is_encoded else response.aiter_raw()) as chunks:
                async for chunk in chunks:
                    yield chunk
        except httpx2.HTTPError as error:
            if _is_there(answer):
                return
            if not watchdog.has_expired:
                reason = shorten(str(error) or type(error).__name__, self._connection.secrets)
                raise CutShort(
                    say("The connection to the model's server broke off: {reason}.", reason=reason)
                ) from None
        if watchdog.has_expired and not _is_there(answer):
            raise Stalled(say("The model's server stopped answering."))

    def _parse_event(self, answer: AnswerFold, kind: bytes, data: bytes, *, is_cut: bool = False) -> list[ModelDelta]:
        if data == b"[DONE]":
            answer.is_done = True
            return []
        return self._parse_chunk(answer, data, is_error=kind == b"error", is_cut=is_cut)

    def _parse_chunk(
        self, answer: AnswerFold, data: bytes, *, is_error: bool = False, is_cut: bool = False
    ) -> list[ModelDelta]:
        try:
            chunk = parse_json(data)
        except ValueError:
            if is_error:
                raise stream_error(data[:2000].decode("utf-8", "replace"), secrets=self._connection.secrets) from None
            if is_cut:
                raise CutShort(say("The model's answer broke off.")) from None
            raise self._bad_reply(data) from None
        if not isinstance(chunk, dict):
            raise self._bad_reply(data)
        if is_error or chunk.get("error") or chunk.get("object") == "error":
            raise told_error(chunk, self._connection.secrets)
        return answer.add(chunk)

    async def _refusal(self, response: httpx2.Response) -> ModelError:
        """Return the error of a status that is not 200, with the server's own words."""
        import httpx2

        body = bytearray()
        try:
            with suppress(httpx2.HTTPError), anyio.move_on_after(ERROR_BODY_S):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_ERROR_BYTES:
                        break
        finally:
            await _close(response)
        text = bytes(body).decode("utf-8", "replace").strip()
        return body_error(
            response.status_code,
            _parse(bytes(body)),
            "" if text.startswith("<") else text,
            retry_after_s=parse_retry_after(response.headers),
            location=response.headers.get("location", ""),
            secrets=self._connection.secrets,
        )

    def _bad_reply(self, data: bytes) -> BadReply:
        reason = shorten(data[:200].decode("utf-8", "replace"), self._connection.secrets)
        return BadReply(say("The server's answer is none of {api}: {reason}.", api=self.wire, reason=reason))

    def _unreachable(self, error: Exception) -> Unreachable:
        reason = shorten(str(error) or type(error).__name__, self._connection.secrets)
        return Unreachable(
            say("The model's server {url} cannot be reached: {reason}.", url=self._connection.url, reason=reason),
            hint=say("Check that it is running and that the address is right."),
        )


def parse_json(data: bytes) -> Any:
    """Return a JSON value; half a surrogate pair in it stays half, bytes that are no UTF-8 become U+FFFD.

    Servers split an emoji over two events, and one bad letter is no reason to lose an answer.

    Raises:
        ValueError: it is no JSON.
    """
    data = data.removeprefix(BOM)
    try:
        return from_json(data)
    except ValueError:
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def _is_ping(kind: bytes, data: bytes) -> bool:
    return kind == b"ping" or (len(data) < 100 and _PING.match(data) is not None)


def _is_there(answer: AnswerFold | None) -> bool:
    return answer is not None and (bool(answer.raw_finish) or answer.is_done)


async def _gather(chunks: AsyncIterator[bytes], first: bytes, max_bytes: int) -> bytes:
    """Return a body as a whole."""
    body = bytearray(first)
    async for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise AnswerTooLarge(say("The model's answer is larger than is taken."))
    return bytes(body)


async def _close(response: httpx2.Response) -> None:
    """Close a connection also in a task that was cancelled: the server should stop writing."""
    with anyio.move_on_after(CLOSE_S, shield=True):
        await response.aclose()


def _parse(body: bytes) -> Any:
    try:
        return parse_json(body)
    except ValueError:
        return None
