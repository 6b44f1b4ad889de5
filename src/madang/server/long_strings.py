"""Long strings in the arguments of a tool call, taken out of the message before it is parsed and put back afterwards.

A parser holds the GIL until it is done, and a text of some megabytes takes it many milliseconds: it is decoded apart,
slice by slice, while the rest of its message is as small as any other. What cannot be taken out, or is no valid string,
is left to the parser of the whole message, which says what is wrong. Reading messages is the transport's.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple

from madang.core.executor import yield_gil

MIN_LONG_BYTES = 64 * 1024
SLICE_BYTES = 64 * 1024
"""Some tenths of a millisecond."""

MAX_QUOTES = 100_000
"""Each one is looked at; a message with more of them is parsed as a whole."""

ESCAPE_BYTES = 6
"""Of the longest escape, as in \\uac00."""

LONG_STRINGS_KEY = "madang.long_strings"
"""The key in the scope of an HTTP request under which the long strings of its body are."""

Place = tuple[str | int, ...]
"""Where a value stands in the arguments: names of fields and numbers of items, from the outside in."""

_BACKSLASH = ord("\\")
_COLON = b":"


class Extract(NamedTuple):
    """A message without its long strings: a marker, which nobody could have known, stands for each of them."""

    rest: bytes
    encoded: Mapping[str, memoryview]
    """By its marker: what is between the quotes of a string."""


@dataclass(frozen=True, slots=True)
class LongStrings:
    """The long strings of one message, decoded or still being decoded, and their places in the arguments."""

    places: Sequence[Place]
    texts: Future[list[str]]

    def put_back(self, params: Mapping[str, Any], texts: Sequence[str]) -> None:
        """Replace the markers in the arguments of `params` by their texts."""
        for place, text in zip(self.places, texts, strict=True):
            value_at(params, place[:-1])[place[-1]] = text


def value_at(params: Mapping[str, Any], place: Place) -> Any:
    """Return the value that stands at `place` in the arguments of `params`."""
    value = params["arguments"]
    for key in place:
        value = value[key]
    return value


def take_out(body: bytes) -> Extract | None:
    """Return a message in UTF-8 without its long strings; None if it has none, or is better parsed as a whole."""
    if len(body) < MIN_LONG_BYTES or b"\0" in body[:4] or body.count(b'"') > MAX_QUOTES:
        return None
    token = secrets.token_hex(16)
    view = memoryview(body)
    parts: list[bytes | memoryview] = []
    encoded: dict[str, memoryview] = {}
    end = kept = 0
    while (start := body.find(b'"', end) + 1) > 0:
        string_end = _string_end(body, start)
        if string_end < 0:
            return None
        end = string_end + 1
        if string_end - start >= MIN_LONG_BYTES:
            if body[end : end + 64].lstrip().startswith(_COLON):
                return None  # the name of a field
            marker = f"{token}-{len(encoded)}"
            encoded[marker] = view[start:string_end]
            parts += (view[kept:start], marker.encode())
            kept = string_end
    return Extract(b"".join([*parts, view[kept:]]), encoded) if encoded else None


def find_places(method: object, params: object, markers: Collection[str]) -> dict[str, Place] | None:
    """Return where the markers stand in the arguments of a tool call; None if any of them stands elsewhere."""
    if method != "tools/call" or not isinstance(params, dict):
        return None
    places: dict[str, Place] = {}
    above: list[tuple[Any, Place]] = [(params.get("arguments"), ())]
    while above:
        value, place = above.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            if isinstance(inner, (dict, list)):
                above.append((inner, (*place, key)))
            elif isinstance(inner, str) and inner in markers:
                places[inner] = (*place, key)
    return places if len(places) == len(markers) else None


def decode_string(encoded: memoryview) -> str:
    """Return the text of a JSON string, decoded in slices, between which other threads get the GIL.

    Raises:
        ValueError: it is no string, or holds half of a surrogate pair.
    """
    texts: list[str] = []
    start = 0
    while start < len(encoded):
        end = _slice_end(encoded, start)
        text = json.loads(b'"%b"' % bytes(encoded[start:end]))
        if not text.isascii():
            text.encode()  # refuses half of a pair
        texts.append(text)
        start = end
        yield_gil()
    return "".join(texts)


def _string_end(body: bytes, start: int) -> int:
    """Return where the closing quote is of a string that begins at `start`, or -1."""
    end = start
    while (end := body.find(b'"', end)) >= 0:
        if body[end - 1] != _BACKSLASH or _backslashes_before(body, end, start) % 2 == 0:
            return end
        end += 1
    return -1


def _slice_end(encoded: memoryview, start: int) -> int:
    """Return where a slice ends: between two characters, and neither in an escape nor in a pair of them."""
    end = start + SLICE_BYTES
    if end >= len(encoded):
        return len(encoded)
    last = bytes(encoded[end - ESCAPE_BYTES : end]).rfind(b"\\")
    if last >= 0:
        last += end - ESCAPE_BYTES
        if _backslashes_before(encoded, last + 1, start) % 2 == 0:
            return last + 1  # an escaped backslash; what follows is a character of its own
        before = last - ESCAPE_BYTES
        if _is_low_surrogate(encoded, last) and _backslashes_before(encoded, before + 1, start) % 2:
            return before
        return last
    while encoded[end] & 0xC0 == 0x80:  # within a character of several bytes
        end -= 1
    return end


def _backslashes_before(data: bytes | memoryview, end: int, start: int) -> int:
    first = end
    while first > start and data[first - 1] == _BACKSLASH:
        first -= 1
    return end - first


def _is_low_surrogate(encoded: memoryview, start: int) -> bool:
    escape = bytes(encoded[start : start + 4]).lower()
    return escape[:3] == b"\\ud" and escape[3:] in (b"c", b"d", b"e", b"f")
