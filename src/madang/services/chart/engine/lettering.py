"""Text inside a picture: its width, truncation and escaping."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from html import escape
from itertools import accumulate

from madang.core.texts import one_line

# Characters that XML 1.0 forbids even when escaped: one of these would make the whole picture unreadable.
_FORBIDDEN_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# In ems, of the widest of the usual default fonts.
_WIDTHS_EM = {
    **dict.fromkeys("iljtfrI.,:;'|!()[] -", 0.4),
    **dict.fromkeys("0123456789", 0.64),
    **dict.fromkeys("mwMW%@&—…", 1.0),
    "−": 0.84,
}


def escape_xml(text: str) -> str:
    """Return `text` escaped for the inside of an element; it is not safe in an attribute."""
    return escape(_FORBIDDEN_IN_XML.sub("\ufffd", text), quote=False)


def text_width(text: str, font: float) -> float:
    """Return the estimated width of `text`, rather too large than too small."""
    return font * sum(map(_char_width, text))


def truncate_to_width(text: str, max_width: float, font: float) -> str:
    """Return `text` on one line, truncated with an ellipsis where it is wider than `max_width`."""
    line = one_line(text.strip())
    if text_width(line, font) <= max_width:
        return line
    widths = accumulate(map(_char_width, line), initial=_char_width("…"))
    # Combining accents have no width, so they stay with their letter.
    length = bisect_right(list(widths), max_width / font) - 1
    return line[: max(0, length)].rstrip() + "…"


@lru_cache(maxsize=4096)  # ten thousand labels are made of few characters
def _char_width(char: str) -> float:
    if char.isascii():
        return _WIDTHS_EM.get(char) or (0.74 if char.isupper() else 0.61)
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(char) in "WF" else _WIDTHS_EM.get(char, 0.65)
