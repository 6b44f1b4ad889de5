"""Arguments of a call that are nearly a JSON object, where there is one way only to read them. Pure.

What may be half of a call is not mended: a brace that is missing at the end may have had more before it.
"""

from __future__ import annotations

import json
import re
from typing import Any

_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\r?\n?(.*?)\s*```\s*", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def mend_arguments(text: str) -> str:
    """Return arguments as a JSON object, if there is one way only to read them; else as they came."""
    if not text.strip() or _object(text) is not None:
        return text
    value = parse_nearly(text)
    if isinstance(value, str):  # encoded twice
        value = _object(value) if _object(value) is not None else parse_nearly(value)
    if value is None and text.strip() == "null":
        return "{}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else text


def parse_nearly(text: str) -> Any:
    """Return what a text is that is JSON but for a code fence, commas before an end, or bare line ends in strings.

    None if it is not.
    """
    fenced = _FENCED.fullmatch(text)
    text = fenced.group(1) if fenced else text
    for candidate in (text, _TRAILING_COMMA.sub(lambda match: match.group(1) or "", text)):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
