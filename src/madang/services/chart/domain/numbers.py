"""Numbers as labels spell them and as programs read them, the same in every locale."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def parse_number(text: str) -> float | None:
    """Return the finite number that a label spells out, or None."""
    digits = text.strip()
    if not _NUMBER.fullmatch(digits):
        return None
    value = float(digits)
    return value if math.isfinite(value) else None


def grouped_number(value: float) -> str:
    """Return the number for people to read: its digits in groups of three."""
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.12g}"


def plain_number(value: float) -> str:
    """Return the number with all its digits and no unit."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
