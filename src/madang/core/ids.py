"""Identifiers: what kinds there are, and how new ones are made."""

import hashlib
import os
import re
import time
import unicodedata
from typing import NewType

from madang.core.limits import MAX_NAME_CHARS
from madang.core.texts import find_hidden

UserId = NewType("UserId", str)
AssistantId = NewType("AssistantId", str)
SessionId = NewType("SessionId", str)

LOCAL_USER = UserId("local")

# Names come from command lines and request metadata and end up in texts, logs and other people's lists: printable,
# bounded, no padding.
_NAME = re.compile(rf"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{{0,{MAX_NAME_CHARS - 2}}}[^\s\x00-\x1f\x7f])?")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def new_id(operation_id: str = "") -> str:
    """Return a new UUIDv7: time-ordered, with 74 random bits so that it cannot be guessed.

    For what an operation makes once they are made of its id, which is as hard to guess: see `is_made_by`.
    """
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(_digest(operation_id) if operation_id else os.urandom(10))
    value = (milliseconds & (1 << 48) - 1) << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_made_by(id: str, operation_id: str) -> bool:
    """Tell whether an id was made for an operation, which may have been interrupted and is repeated."""
    return bool(operation_id) and id[-12:] == _digest(operation_id).hex()[-12:]


def _digest(operation_id: str) -> bytes:
    return hashlib.sha256(operation_id.encode(errors="surrogatepass")).digest()[:10]


def new_ids(count: int) -> list[str]:
    """Return new ids in their order: of two that are made in the same millisecond, either may be the lower."""
    return sorted(new_id() for _ in range(count))


def is_name(text: object) -> bool:
    """Tell whether `text` can name an assistant, a session or a user."""
    return is_raw_name(text) and not hidden_character(str(text))


def is_raw_name(text: object) -> bool:
    """Tell whether `text` could be a name in data that was written before hidden characters were refused."""
    return isinstance(text, str) and bool(_NAME.fullmatch(text)) and not _HALF_PAIR.search(text)


def hidden_character(text: str) -> str:
    """Return the first character that no name may have because it is not seen, as `U+200B`; empty if there is none.

    With one of these two names look the same, and a name turns the text around it: another assistant, another session.
    """
    hidden = find_hidden(text)
    return f"U+{ord(hidden):04X}" if hidden else ""


def normalised_name(text: str) -> str:
    """Return a name in the one spelling that is kept (NFC): a Korean name from macOS may come as single letters."""
    return unicodedata.normalize("NFC", text)
