"""The vendors of models, and those of their APIs that keep changing, through pydantic-ai's request stream alone.

These need an extra (`madang[google]`, `[openai]`), which is imported when a model is first asked: that takes seconds.
Only here is pydantic-ai known; `vendor_messages` translates.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Awaitable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from madang.core.errors import SetupError
from madang.core.ids import new_id
from madang.core.phrases import Phrase, say
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest, Usage
from madang.llm.call_ids import CallIds, used_ids
from madang.llm.connection import CLOSE_S, Connection, RequestListener, check_url
from madang.llm.errors import (
    AnswerTooLarge,
    BadReply,
    CutShort,
    ModelError,
    Stalled,
    Unreachable,
    shorten,
    status_error,
    stream_error,
    told_delay,
)

if TYPE_CHECKING:
    from pydantic_ai.models import Model as PydanticModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Vendor:
    """What is known of a vendor before its model is asked."""

    title: str
    """As people call it."""
    key_name: str
    """Under which its key is kept."""
    key_variables: tuple[str, ...]
    url: str
    extra: str = ""
    """The extra that its API needs; empty: the base speaks it."""
    package: str = ""


_OPENAI = ("openai", ("OPENAI_API_KEY",), "https://api.openai.com/v1")
_GOOGLE_URL = "https://generativelanguage.googleapis.com"
_GOOGLE = ("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"))

VENDORS = {
    "anthropic": Vendor("Anthropic", "anthropic", ("ANTHROPIC_API_KEY",), "https://api.anthropic.com"),
    "google": Vendor("Google", *_GOOGLE, f"{_GOOGLE_URL}/v1beta/openai"),
    "openai": Vendor("OpenAI", *_OPENAI),
    # The same vendors by APIs of their own, which keep changing.
    "google-gemini": Vendor("Google (Gemini's own API)", *_GOOGLE, _GOOGLE_URL, "google", "google.genai"),
    "openai-responses": Vendor("OpenAI (Responses)", *_OPENAI, "openai", "openai"),
}
"""By the name that stands before the colon in `PROVIDER:MODEL`."""


def is_installed(provider: str) -> bool:
    """Tell whether what a vendor's API needs is installed, without importing it."""
    vendor = VENDORS[provider]
    if not vendor.extra:
        return True
    top = vendor.package.partition(".")[0]
    try:
        return (
            find_spec("pydantic_ai") is not None
            and find_spec(top) is not None
            and (top == vendor.package or find_spec(vendor.package) is not None)
        )
    except ModuleNotFoundError:
        return False


def not_installed(provider: str) -> tuple[Phrase, Phrase]:
    """Return what is wrong where the extra of an API is missing, and what to do."""
    vendor = VENDORS[provider]
    return (
        say("Models of {provider} need a package that is not installed.", provider=provider),
        say(
            "Install it with: pip install 'madang[{extra}]'. '{name}:' needs none.",
            extra=vendor.extra,
            name=vendor.key_name,
        ),
    )


def check_key(provider: str, connection: Connection) -> None:
    """Check that there is a key for a vendor. A server elsewhere that speaks its API may want none.

    Raises:
        SetupError: there is none.
    """
    if connection.key is None and not connection.url:
        vendor = VENDORS[provider]
        raise SetupError(
            say("Models of {provider} need a key.", provider=vendor.title),
            hint=say(
                "Set {variable}, or keep the key with: madang models --key {name}",
                variable=vendor.key_variables[0],
                name=vendor.key_name,
            ),
        )


class VendorModel(Model):
    """A model of a vendor by an API that needs an extra. An empty `connection.url` is the vendor's own address.

    Raises:
        SetupError: its extra is not installed, or there is no key.
    """

    def __init__(self, provider: str, name: str, connection: Connection, *, label: str = "") -> None:
        vendor = VENDORS[provider]
        if not is_installed(provider):
            message, hint = not_installed(provider)
            raise SetupError(message, hint=hint)
        check_key(provider, connection)
        self.provider = provider
        self.name = name
        self.label = label or f"{provider}:{name}"
        self._connection = replace(connection, url=check_url(connection.url or vendor.url))
        self._opening = anyio.Lock()
        self._model: PydanticModel | None = None
        self._client: Any = None
        self._responses: Any = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelAnswer, None]:
        model = await self._open()
        from pydantic_ai.direct import model_request_stream

        from madang.llm import vendor_messages as translate
        from madang.llm.http import TRACKED_HEADER

        limits = self._connection.limits
        calls = _CallIds(CallIds(used_ids(request), limits.max_calls))
        left = limits.max_stream_bytes
        id = new_id()
        opening = model_request_stream(
            model,
            translate.history(request, self.provider, self.name),
            model_settings=translate.settings(request.options, self.provider, {TRACKED_HEADER: id}),
            model_request_parameters=translate.parameters(request.tools),
            instrument=False,
        )
        with self._errors():
            async with AsyncExitStack() as stack:
                stack.push_async_callback(self._close_response, id)
                response = await _within(limits.first_event_s, stack.enter_async_context(opening))
                events = aiter(response)
                limit_s = limits.first_event_s
                while (event := await _within(limit_s, anext(events, None))) is not None:
                    limit_s = limits.idle_s
                    for delta in translate.deltas(event, calls.id_of):
                        left -= len(delta.text)
                        if left < 0:
                            raise AnswerTooLarge(say("The model's answer is larger than is taken."))
                        yield delta
                answer = response.get()
        raw_finish = translate.raw_finish(answer)
        if not raw_finish:
            # Its own `state` says "complete" also of a stream that just ended.
            raise CutShort(say("The model's answer broke off."))
        parts = translate.parts(answer.parts, self.provider, self.name, calls.started())
        usage = answer.usage
        tokens = Usage(
            usage.input_tokens,
            usage.cache_read_tokens,
            usage.output_tokens,
            cache_write_tokens=usage.cache_write_tokens or None,
        )
        yield ModelAnswer(parts, raw_finish, tokens, answer.model_name or "")

    def watch_requests(self, listener: RequestListener) -> None:
        self._connection = replace(self._connection, on_request=listener)

    async def close(self) -> None:
        client, self._client, self._model = self._client, None, None
        if client is not None:
            await client.aclose()

    async def _close_response(self, id: str) -> None:
        """Close what a vendor's package may have left open: Google's does when it is cancelled."""
        with anyio.move_on_after(CLOSE_S, shield=True):
            await self._responses.close(id)

    async def _open(self) -> PydanticModel:
        async with self._opening:
            if self._model is None:
                vendor = VENDORS[self.provider]
                # In a thread: the event loop goes on meanwhile.
                for module in ("pydantic_ai.direct", vendor.package, "madang.llm.vendor_clients"):
                    await anyio.to_thread.run_sync(importlib.import_module, module)
                from madang.llm.http import ResponseTracker, open_client
                from madang.llm.vendor_clients import build

                self._client = open_client(self._connection)
                self._responses = ResponseTracker(self._client)
                self._model = build(self.provider, self.name, self._connection, self._client)
            return self._model

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise the errors of pydantic-ai and of what is below it as ours."""
        import httpx2
        from pydantic_ai import exceptions

        try:
            yield
        except exceptions.ModelAPIError as error:
            raise self._translated(error) from None
        except exceptions.UnexpectedModelBehavior as error:
            raise BadReply(say("The model's answer cannot be used: {reason}.", reason=self._words(error))) from None
        except httpx2.HTTPError as error:
            text = say("The connection to the model's server broke off: {reason}.", reason=self._words(error))
            raise CutShort(text) from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            # What a vendor's package raises for an answer that it did not expect.
            raise BadReply(say("The model's answer cannot be used: {reason}.", reason=self._words(error))) from None

    def _translated(self, error: Any) -> ModelError:
        from pydantic_ai import exceptions

        kind = f"{error.provider_error_type or ''} {error.provider_error_code or ''}"
        reason, secrets = _told(error), self._connection.secrets
        if isinstance(error, exceptions.ModelHTTPError):
            status = error.status_code
            wait_s = error.retry_after if error.retry_after is not None else told_delay(error.body)
            return status_error(status, f"{status} {reason}", kind=kind, retry_after_s=wait_s, secrets=secrets)
        if isinstance(error, exceptions.ModelTimeoutError):
            return Stalled(say("The model's server stopped answering."))
        if isinstance(error, exceptions.ModelConnectionError):
            url = self._connection.url
            text = say("The model's server {url} cannot be reached: {reason}.", url=url, reason=self._words(error))
            return Unreachable(text, hint=say("Check that it is running and that the address is right."))
        if error.in_stream:
            return stream_error(reason, kind=kind, secrets=secrets)
        return BadReply(say("The model's answer cannot be used: {reason}.", reason=self._words(error)))

    def _words(self, error: Exception) -> str:
        return shorten(str(error) or type(error).__name__, self._connection.secrets)


class _CallIds:
    """Our ids of the calls of an answer, by the place of each."""

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._by_index: dict[int, str] = {}

    def id_of(self, index: int, vendor_id: str) -> str:
        if index not in self._by_index:
            # Those of pydantic-ai's own stand for ids that are missing.
            self._by_index[index] = self._ids.claim("" if vendor_id.startswith("pyd_ai_") else vendor_id)
        return self._by_index[index]

    def started(self) -> list[str]:
        """Return the ids in the order of the parts."""
        return [self._by_index[index] for index in sorted(self._by_index)]


async def _within(limit_s: float, waiting: Awaitable[T]) -> T:
    try:
        with anyio.fail_after(limit_s):
            return await waiting
    except TimeoutError:
        raise Stalled(say("The model's server stopped answering.")) from None


def _told(error: Any) -> str:
    """Return the server's own words."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        if isinstance(message, str) and message:
            return message
    return str(body) if isinstance(body, str) else error.message
