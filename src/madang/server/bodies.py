"""Bodies of HTTP requests: their size, the time they may take, and the shape of JSON.

The limits of a request are in the policy of its route (`server/gate.py`).
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import anyio
import anyio.to_thread
from starlette.types import Message, Receive

from madang.core.limits import MAX_BODY_DEPTH, MAX_BODY_VALUES
from madang.server.malformed import BAD_ID, has_bad_id

INLINE_PARSE_MAX_BYTES = 64 * 1024
"""What is longer is parsed in a thread."""
MAX_PARSED_AT_ONCE = 1

BODY_GRACE_S = 10.0
"""So long a body may take however little of it comes; from then on it needs the rate below."""
MIN_BODY_BYTES_PER_S = 16 * 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served."""

    status: int
    reason: str


DISCONNECTED = Refusal(400, "The client disconnected.")
TOO_SLOW = Refusal(408, "The body came too slowly.")


def too_large(max_bytes: int) -> Refusal:
    return Refusal(
        413, f"The body has more than {max_bytes} bytes. A large text or file comes by its path, or as an upload."
    )


class BoundedBody:
    """A request's body, which ends with a refusal when it is too large or too slow.

    The clock runs while the application waits for the client. After the body it waits for nothing but the client's
    disconnection, and may do so for as long as it likes.
    """

    def __init__(self, receive: Receive, max_bytes: int, max_s: float, grace_s: float = BODY_GRACE_S) -> None:
        self._receive = receive
        self._max_bytes = max_bytes
        self._max_s = max_s
        self._grace_s = grace_s
        self._waited_s = 0.0
        self._size = 0
        self._is_whole = False
        self.refusal: Refusal | None = None

    async def receive(self) -> Message:
        """Return the next ASGI message; a body that is refused looks to the application as if its client was gone."""
        if self._is_whole:
            return await self._receive()
        if self.refusal is None:
            message = await self._next()
            if self.refusal is None:
                return message
        return {"type": "http.disconnect"}

    async def read(self) -> bytes | Refusal:
        """Return the whole body."""
        parts: list[bytes] = []
        while not self._is_whole:
            message = await self.receive()
            if self.refusal is not None:
                return self.refusal
            parts.append(message.get("body", b""))
        return b"".join(parts)

    async def _next(self) -> Message:
        began_at = time.monotonic()
        # A minimum rate and not only a deadline: one that is long enough for a large body is too long for a small one.
        allowed_s = min(self._max_s, self._grace_s + self._size / MIN_BODY_BYTES_PER_S)
        try:
            async with asyncio.timeout(max(0.0, allowed_s - self._waited_s)):
                message = await self._receive()
        except TimeoutError:
            self.refusal = TOO_SLOW
            return {}
        self._waited_s += time.monotonic() - began_at
        self._size += len(message.get("body", b""))
        if message["type"] != "http.request":
            self.refusal = DISCONNECTED
        elif self._size > self._max_bytes:
            self.refusal = too_large(self._max_bytes)
        self._is_whole = self.refusal is None and not message.get("more_body", False)
        return message


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body which was read already, then what follows it."""
    is_replayed = False

    async def replayed() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


class JsonCheck:
    """Refuses JSON that is too deep or too large, or has a duplicate key, of which parsers take the one or the other.

    Parsing holds the event loop, so a large body is checked in a thread; one at a time, because a thread that parses
    takes the interpreter from all others.
    """

    def __init__(self) -> None:
        self._large = anyio.CapacityLimiter(MAX_PARSED_AT_ONCE)

    async def __call__(self, body: bytes, *, is_rpc: bool = False) -> Refusal | None:
        """Return why a body is refused; a message of JSON-RPC is also for an id that no answer can carry."""
        if len(body) <= INLINE_PARSE_MAX_BYTES:
            return _check_json(body, is_rpc)
        return await anyio.to_thread.run_sync(_check_json, body, is_rpc, limiter=self._large)


def _check_json(body: bytes, is_rpc: bool) -> Refusal | None:
    message = _parse_json(body)
    if isinstance(message, Refusal):
        return message
    return Refusal(400, BAD_ID) if is_rpc and has_bad_id(message) else None


def _parse_json(body: bytes) -> Any | Refusal:
    if body.count(b"[") + body.count(b"{") > MAX_BODY_DEPTH or body.count(b",") > MAX_BODY_VALUES:
        outside_strings = _outside_strings(body)
        if outside_strings.count(b",") > MAX_BODY_VALUES:
            return Refusal(413, f"The body holds more than {MAX_BODY_VALUES} values.")
        if _is_too_deep(outside_strings):
            return Refusal(400, f"The body is nested deeper than {MAX_BODY_DEPTH} levels.")
    try:
        return json.loads(body, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return Refusal(400, f"The body is not acceptable JSON: {str(error)[:100]}.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("duplicate key")
    return fields


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_BACKSLASHES = re.compile(rb"\\*+")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # one level up, one level down, as signed bytes
_BLOCK_BYTES = 16 * 1024
_STRINGS_BLOCK_BYTES = 64 * 1024


def _outside_strings(body: bytes) -> bytes:
    """Return what is outside of strings; an unclosed one lasts to the end.

    It works in blocks, between which other threads get the GIL, and in each with what searches bytes fastest: a regular
    expression over strings takes six times as long.
    """
    parts: list[bytes] = []
    is_inside = False
    start = 0
    while start < len(body):
        # Not between a backslash and what it escapes.
        end = start + _STRINGS_BLOCK_BYTES
        run = _BACKSLASHES.match(body, end - 1)
        end = run.end() + 1 if run is not None and run[0] else end
        pieces = body[start:end].replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        parts += pieces[is_inside::2]
        is_inside ^= len(pieces) % 2 == 0
        start = end
    return b"".join(parts)


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
