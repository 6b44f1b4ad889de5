"""Errors of models, by what a run can do about them: try again, make the request smaller, or stop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self

from madang.core.errors import MadangError
from madang.core.phrases import Phrase, say

MAX_REASON_CHARS = 500
"""Of a server's own words in an error."""
MIN_SECRET_CHARS = 6
"""Servers on this machine are given keys such as `none`, and taking those out would spoil the words."""

MIN_TOLD_WAIT_S = 5.0
"""A shorter wait is over before it is read."""


class ModelError(MadangError):
    """A model gave no answer. Only a whole answer is acted upon, so nothing has happened."""

    code = "model_error"
    retry_helps = False
    """Whether the same request may succeed a little later."""

    def __init__(
        self,
        message: Phrase,
        *,
        hint: Phrase | None = None,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s
        """How long the server asks to wait."""
        self.status = status
        """The HTTP status, where there was one."""

    def told_when(self) -> Self:
        """Return the error with a hint that says when to try again, where the server asks for a longer wait."""
        if self.hint is None and self.retry_after_s is not None and self.retry_after_s >= MIN_TOLD_WAIT_S:
            self.hint = _later(self.retry_after_s)
        return self


def _later(seconds: float) -> Phrase:
    if seconds < 90:
        return say("Try again in {count} {count|second|seconds}.", count=round(seconds))
    if seconds < 90 * 60:
        return say("Try again in {count} minutes.", count=round(seconds / 60))
    return say("Try again in {count} hours.", count=round(seconds / 3600))


class RateLimited(ModelError):
    code = "rate_limited"
    retry_helps = True


class Overloaded(ModelError):
    code = "overloaded"
    retry_helps = True


class ServerFailed(ModelError):
    code = "server_failed"
    retry_helps = True


class Unreachable(ModelError):
    code = "unreachable"
    retry_helps = True


class Stalled(ModelError):
    """The server sent nothing within its limit."""

    code = "stalled"
    retry_helps = True


class CutShort(ModelError):
    """The answer ended without saying why: what came of it may be half."""

    code = "cut_short"
    retry_helps = True


class BadReply(ModelError):
    """The server sent what is no answer of its API."""

    code = "bad_reply"
    retry_helps = True


class AnswerTooLarge(ModelError):
    code = "answer_too_large"


class ContextTooLong(ModelError):
    """The request does not fit the model: a shorter one may."""

    code = "context_too_long"


class BadCredentials(ModelError):
    code = "bad_credentials"


class QuotaExceeded(ModelError):
    code = "quota_exceeded"


class UnknownModel(ModelError):
    code = "unknown_model"


class RequestRefused(ModelError):
    code = "request_refused"


def retry_helps(code: str) -> bool:
    """Tell whether a run that ended with this code may go better when it is tried again."""
    return any(kind.code == code and kind.retry_helps for kind in ModelError.__subclasses__())


_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum context|prompt is too long|too many (input )?tokens"
    r"|input (token count|is too long|length)|exceeds? the (maximum|available|model'?s).{0,20}(context|tokens|length)",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient.{0,10}(balance|credit|fund)|credit balance|billing|payment", re.IGNORECASE
)
_RESPONSES_ONLY = re.compile(r"(only supported in|use) /?v1/responses", re.IGNORECASE)
_OVERLOADED = re.compile(r"overloaded|over capacity|high demand|unavailable", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|too many requests|resource_exhausted", re.IGNORECASE)
_CREDENTIALS = re.compile(r"authentication|unauthori[sz]ed|permission|api.?key", re.IGNORECASE)


def status_error(
    status: int,
    reason: str,
    *,
    kind: str = "",
    retry_after_s: float | None = None,
    location: str = "",
    secrets: Iterable[str] = (),
) -> ModelError:
    """Return the error of an HTTP status, or of a status that stands inside a stream.

    `kind` is the server's own word for it (`insufficient_quota`), `location` where it sends us, `secrets` what must not
    be repeated from its text.
    """
    secrets = tuple(secrets)
    if 300 <= status < 400:
        return _redirected(status, location, secrets)
    reason = shorten(reason, secrets) or f"HTTP {status}"
    words = f"{kind} {reason}"
    told: dict[str, Any] = {"status": status, "retry_after_s": retry_after_s}
    if status in (400, 404) and _RESPONSES_ONLY.search(words):
        return _other_api(reason, told)
    if status in (400, 413, 422, 500) and _TOO_LONG.search(words):
        return ContextTooLong(say("The request is too long for the model: {reason}.", reason=reason), **told)
    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(words)):
        return QuotaExceeded(
            say("The model's provider wants to be paid first: {reason}.", reason=reason),
            hint=say("Look at the account of the provider."),
            **told,
        )
    if status in (401, 403):
        return _bad_credentials(reason, told)
    if status == 404:
        return UnknownModel(
            say("The server has no such model or address: {reason}.", reason=reason),
            hint=say("'madang models' lists what servers on this machine have."),
            **told,
        )
    if status == 408:
        return Stalled(say("The model's server gave up waiting: {reason}.", reason=reason), **told)
    if status == 429:
        return RateLimited(say("The model's server allows no more requests now: {reason}.", reason=reason), **told)
    if status in (409, 425, 503, 529):
        return Overloaded(say("The model's server is overloaded: {reason}.", reason=reason), **told)
    if status >= 500:
        return ServerFailed(say("The model's server failed: {reason}.", reason=reason), **told)
    if status == 413:
        return ContextTooLong(say("The request is too long for the model: {reason}.", reason=reason), **told)
    return RequestRefused(say("The model's server refused the request: {reason}.", reason=reason), **told)


def stream_error(reason: str, *, kind: str = "", code: object = None, secrets: Iterable[str] = ()) -> ModelError:
    """Return the error that a server reports inside a stream, by its code if that is a status, else by its words."""
    if isinstance(code, str) and code.isascii() and code.isdigit():
        code = int(code)
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599:
        return status_error(code, reason, kind=kind, secrets=secrets)
    words = f"{kind} {code or ''} {reason}"
    for pattern, status in ((_TOO_LONG, 400), (_NO_CREDIT, 402), (_RATE, 429), (_OVERLOADED, 529), (_CREDENTIALS, 401)):
        if pattern.search(words):
            return status_error(status, reason, kind=kind, secrets=secrets)
    if "invalid_request" in words:
        return status_error(400, reason, kind=kind, secrets=secrets)
    return status_error(500, reason, kind=kind, secrets=secrets)


def body_error(
    status: int,
    body: object,
    text: str = "",
    *,
    retry_after_s: float | None = None,
    location: str = "",
    secrets: Iterable[str] = (),
) -> ModelError:
    """Return the error of a refused request: its status, its body as JSON where it is some, else as a text."""
    kind, reason, _ = told_words(body)
    if retry_after_s is None:
        retry_after_s = told_delay(body)
    reason = f"{status} {reason or text}".strip()
    return status_error(
        status, reason, kind=kind, retry_after_s=retry_after_s, location=location, secrets=tuple(secrets)
    )


def told_error(chunk: object, secrets: Iterable[str]) -> ModelError:
    """Return the error that an event of a stream holds."""
    kind, reason, code = told_words(chunk)
    return stream_error(reason or kind, kind=kind, code=code, secrets=secrets)


def told_words(value: object) -> tuple[str, str, object]:
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


def told_delay(value: object) -> float | None:
    """Return how long an error says to wait in its body, as Gemini does: `"retryDelay": "3s"` in its details."""
    value = value[0] if isinstance(value, list) and value else value
    error = value.get("error") if isinstance(value, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (seconds := _number(delay.removesuffix("s"))) is not None:
            return seconds
    return None


def _bad_credentials(reason: str, told: Mapping[str, Any]) -> BadCredentials:
    return BadCredentials(
        say("The model's server does not accept the key: {reason}.", reason=reason),
        hint=say("Check where the key comes from: the variable, keyring or file that 'madang models' names."),
        **told,
    )


def _redirected(status: int, location: str, secrets: Iterable[str]) -> RequestRefused:
    """Tell of a redirect. It is not followed: it would take the key and the conversation to another server."""
    url = shorten(location.partition("?")[0], secrets)
    hint = say("If that is right, name this address in config.toml: {url}", url=url) if url else None
    text = say("The model's server points to another address ({status}), which is not followed.", status=status)
    return RequestRefused(text, hint=hint, status=status)


def _other_api(reason: str, told: Mapping[str, Any]) -> RequestRefused:
    return RequestRefused(
        say("The model's server refused the request: {reason}.", reason=reason),
        hint=say("Name the model as openai-responses:MODEL, with pip install 'madang[openai]'."),
        **told,
    )


def shorten(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a server's words, bounded and without secrets: some servers repeat the key that they refuse."""
    text = text[: MAX_REASON_CHARS * 4]
    for secret in secrets:
        if len(secret) >= MIN_SECRET_CHARS:
            text = text.replace(secret, "***")
    text = text.strip().rstrip(".")
    return text if len(text) <= MAX_REASON_CHARS else text[: MAX_REASON_CHARS - 1] + "…"


def parse_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return how long a server asks to wait: `retry-after` in seconds or as a date, or `retry-after-ms`.

    The names of `headers` are in lower case, or found whatever their case.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < 1e9 else None
