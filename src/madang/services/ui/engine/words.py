"""Text inside a picture: how wide it is, where it is cut, and how it stays text."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from html import escape
from itertools import accumulate

# What XML 1.0 cannot hold, not even escaped: one of these would make the whole picture unreadable.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# In ems, of the widest font that is anybody's default.
_WIDTHS = {
    **dict.fromkeys("iljtfrI.,:;'|!()[] -", 0.4),
    **dict.fromkeys("0123456789", 0.64),
    **dict.fromkeys("mwMW%@&—…", 1.0),
    "−": 0.84,
}


def safe(text: str) -> str:
    """Return `text` for the inside of an element. Never put it into an attribute."""
    return escape(_NOT_IN_XML.sub("\ufffd", text), quote=False)


def one_line(text: str) -> str:
    return " ".join(_NOT_IN_XML.sub("\ufffd", text).split())


def width(text: str, font: float) -> float:
    """Return about how wide `text` is, rather too much than too little."""
    return font * sum(map(_width, text))


def fitted(text: str, room: float, font: float) -> str:
    """Return `text` on one line, cut with an ellipsis where the room ends."""
    line = one_line(text)
    if width(line, font) <= room:
        return line
    widths = accumulate(map(_width, line), initial=_width("…"))
    # Accents have no width, so they stay with their letter.
    kept = bisect_right(list(widths), room / font) - 1
    return line[: max(0, kept)].rstrip() + "…"


@lru_cache(maxsize=4096)  # ten thousand labels are made of few signs
def _width(sign: str) -> float:
    if sign.isascii():
        return _WIDTHS.get(sign) or (0.74 if sign.isupper() else 0.61)
    if unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(sign) in "WF" else _WIDTHS.get(sign, 0.65)
