"""Identifiers: what kinds there are, and how new ones are made."""

import os
import re
import time
from typing import NewType

from madang.core.limits import MAX_NAME_CHARS

UserId = NewType("UserId", str)
AssistantId = NewType("AssistantId", str)
SessionId = NewType("SessionId", str)

LOCAL_USER = UserId("local")

# Names come from command lines and request metadata and end up in texts and logs: printable, bounded, no padding.
_NAME = re.compile(rf"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{{0,{MAX_NAME_CHARS - 2}}}[^\s\x00-\x1f\x7f])?")


def new_id() -> str:
    """Return a new UUIDv7: time-ordered, with 74 random bits so that it cannot be guessed."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10))
    value = (milliseconds & (1 << 48) - 1) << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_name(text: object) -> bool:
    """Tell whether `text` can name an assistant or a session."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        return False
    return not any("\ud800" <= character <= "\udfff" for character in text)
