"""A client for servers that speak OpenAI's chat completions: Ollama, LM Studio, llama.cpp, vLLM and most others.

It makes no retry and hides none; `base.retrying` does that where it can be seen.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
from pydantic_core import from_json

from madang.core.phrases import say
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest
from madang.llm.chat_answer import ChatAnswer
from madang.llm.chat_request import DEFAULT_DIALECT, chat_body
from madang.llm.connection import Connection, RequestListener, check_url
from madang.llm.errors import (
    AnswerTooLarge,
    BadReply,
    CutShort,
    ModelError,
    RequestRefused,
    Stalled,
    Unreachable,
    parse_retry_after,
    shorten,
    status_error,
    stream_error,
)
from madang.llm.events import EventParser
from madang.llm.messages import CallPart

if TYPE_CHECKING:
    import httpx2

    from madang.llm.http import Watchdog

MAX_ERROR_BYTES = 64 * 1024
ERROR_BODY_S = 10.0
CLOSE_S = 2.0
DRAIN_S = 0.5


class CompatibleModel(Model):
    """A model of an OpenAI-compatible server. `connection.url` is its address as far as `/v1`."""

    def __init__(self, name: str, connection: Connection, *, label: str = "") -> None:
        self.name = name
        self._connection = replace(connection, url=_base_url(connection.url))
        self.provider = self._connection.url
        self.label = label or f"{self.provider}#{name}"
        self._client: httpx2.AsyncClient | None = None
        self._dialect = DEFAULT_DIALECT

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelAnswer, None]:
        from madang.llm.http import Watchdog

        answer = ChatAnswer(self.provider, self.name, _call_ids(request), self._connection.limits.max_calls)
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
        yield answer.answer()

    async def list_models(self) -> list[str]:
        """Return the names of the server's models.

        Raises:
            ModelError: it does not tell.
        """
        from madang.llm.http import Watchdog

        limits = self._connection.limits
        response = await self._send(None)
        try:
            with Watchdog(response) as watchdog:
                watchdog.reset(limits.idle_s)
                value = _parse(await _gather(self._chunks(response, None, watchdog), b"", limits.max_line_bytes))
        finally:
            await _close(response)
        models = value.get("data") if isinstance(value, dict) else None
        if not isinstance(models, list):
            raise BadReply(say("The server does not tell which models it has."))
        names = [model.get("id") for model in models if isinstance(model, dict)]
        return [name for name in names if isinstance(name, str) and name]

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
            dialect = self._dialect
            try:
                return await self._send(chat_body(self.provider, self.name, request, dialect))
            except RequestRefused as refusal:
                self._dialect = dialect.after(str(refusal))
                if self._dialect == dialect:
                    raise

    async def _send(self, body: bytes | None) -> httpx2.Response:
        """Return the head of the answer to a request, or of the list of models where there is no body."""
        import httpx2

        from madang.llm.http import open_client

        if self._client is None:
            self._client = open_client(self._connection)
        url, limits = self._connection.url, self._connection.limits
        headers = {name: value.get_secret_value() for name, value in self._connection.headers.items()}
        if self._connection.key is not None:
            headers["authorization"] = f"Bearer {self._connection.key.get_secret_value()}"
        if body is None:
            message = self._client.build_request("GET", f"{url}/models", headers=headers)
        else:
            headers |= {"content-type": "application/json", "accept": "text/event-stream"}
            message = self._client.build_request("POST", f"{url}/chat/completions", content=body, headers=headers)
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
        self, response: httpx2.Response, answer: ChatAnswer, watchdog: Watchdog
    ) -> AsyncGenerator[list[ModelDelta], None]:
        limits = self._connection.limits
        parser = EventParser(limits.max_line_bytes, limits.max_stream_bytes)
        is_first = True
        async with aclosing(self._chunks(response, answer, watchdog)) as chunks:
            async for chunk in chunks:
                if is_first and (start := chunk.lstrip()[:1]):
                    if start in (b"{", b"["):  # some gateways answer a request for a stream with plain JSON
                        yield self._parse_chunk(answer, await _gather(chunks, chunk, limits.max_line_bytes))
                        return
                    if start == b"<":  # the page of a proxy or a login
                        raise self._bad_reply(chunk)
                    is_first = False
                events = parser.feed(chunk)
                for kind, data in events:
                    if data != b"[DONE]":
                        yield self._parse_chunk(answer, data, is_error=kind == b"error")
                if events:
                    is_done = events[-1][1] == b"[DONE]"
                    # Only a body that was read to its end leaves the connection to the next request.
                    limit_s = DRAIN_S if is_done else limits.trailer_s if answer.raw_finish else limits.idle_s
                    watchdog.reset(limit_s)
        for kind, data in parser.end():
            if data != b"[DONE]":
                yield self._parse_chunk(answer, data, is_error=kind == b"error", is_cut=True)

    async def _chunks(
        self, response: httpx2.Response, answer: ChatAnswer | None, watchdog: Watchdog
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
            if answer is not None and answer.raw_finish:
                return
            if not watchdog.has_expired:
                reason = shorten(str(error) or type(error).__name__, self._connection.secrets)
                raise CutShort(
                    say("The connection to the model's server broke off: {reason}.", reason=reason)
                ) from None
        if watchdog.has_expired and not (answer is not None and answer.raw_finish):
            raise Stalled(say("The model's server stopped answering."))

    def _parse_chunk(
        self, answer: ChatAnswer, data: bytes, *, is_error: bool = False, is_cut: bool = False
    ) -> list[ModelDelta]:
        try:
            chunk = from_json(data)
        except ValueError:
            if is_error:
                raise stream_error(data[:2000].decode("utf-8", "replace"), secrets=self._connection.secrets) from None
            if is_cut:
                raise CutShort(say("The model's answer broke off.")) from None
            raise self._bad_reply(data) from None
        if not isinstance(chunk, dict):
            raise self._bad_reply(data)
        if is_error or chunk.get("error") or chunk.get("object") == "error":
            raise _reported(chunk, self._connection.secrets)
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
        secrets, retry_after_s = self._connection.secrets, parse_retry_after(response.headers)
        kind, reason, _ = _told(_parse(bytes(body)))
        if not reason:
            text = bytes(body).decode("utf-8", "replace").strip()
            reason = "" if text.startswith("<") else text
        reason = f"{response.status_code} {reason}".strip()
        return status_error(response.status_code, reason, kind=kind, retry_after_s=retry_after_s, secrets=secrets)

    def _bad_reply(self, data: bytes) -> BadReply:
        reason = shorten(data[:200].decode("utf-8", "replace"), self._connection.secrets)
        return BadReply(say("The server's answer is none of chat completions: {reason}.", reason=reason))

    def _unreachable(self, error: Exception) -> Unreachable:
        reason = shorten(str(error) or type(error).__name__, self._connection.secrets)
        return Unreachable(
            say("The model's server {url} cannot be reached: {reason}.", url=self._connection.url, reason=reason),
            hint=say("Check that it is running and that the address is right."),
        )


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


def _base_url(url: str) -> str:
    """Return the address to which `/chat/completions` is added; a bare host gets the usual `/v1`."""
    url = check_url(url).removesuffix("/chat/completions")
    return f"{url}/v1" if url.count("/") == 2 else url


def _call_ids(request: ModelRequest) -> set[str]:
    return {part.id for message in request.messages for part in message.parts if isinstance(part, CallPart)}


def _parse(body: bytes) -> Any:
    try:
        return from_json(body)
    except ValueError:
        return None


def _told(value: object) -> tuple[str, str, object]:
    """Return the kind, the text and the code of an error as servers write it, each in its own way."""
    value = value[0] if isinstance(value, list) and value else value
    if not isinstance(value, dict):
        return "", "", None
    error = value.get("error") or value
    if isinstance(error, str):
        return "", error, value.get("code")
    if not isinstance(error, dict):
        return "", "", None
    detail = error.get("message") or error.get("detail")
    kinds = [word for word in (error.get("type"), error.get("code"), error.get("status")) if isinstance(word, str)]
    return " ".join(kinds), detail if isinstance(detail, str) else "", error.get("code")


def _reported(chunk: dict[str, Any], secrets: list[str]) -> ModelError:
    kind, reason, code = _told(chunk)
    return stream_error(reason or kind, kind=kind, code=code, secrets=secrets)
