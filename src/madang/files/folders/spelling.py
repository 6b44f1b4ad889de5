"""The two spellings of a name: Hangul composed (NFC), as it is typed, and in parts (NFD), as Macs write it."""

from __future__ import annotations

import os
import unicodedata

from madang.files.folders.entries import stat_name
from madang.files.folders.paths import MAX_NAME_BYTES


def spelling_of(fd: int, name: str) -> str:
    """Return the spelling under which a name is there, or the name itself when it is not."""
    for form in ("NFC", "NFD"):
        other = unicodedata.normalize(form, name)
        if other != name and _fits(other) and stat_name(fd, name) is None and stat_name(fd, other) is not None:
            return other
    return name


def _fits(name: str) -> bool:
    """Tell whether a name can be one: Hangul in parts is two or three times as long, and then nothing is there."""
    return len(os.fsencode(name)) <= MAX_NAME_BYTES
