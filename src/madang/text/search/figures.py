"""Numbers and dates in one form each, however they are written. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HAS_DIGITS = re.compile(r"\d{3}")


def figure_tokens(text: str) -> Iterator[str]:
    """Yield 1234567 for 1,234,567, and 20241105 for 2024-11-05, 2024년 11월 5일 and November 5, 2024."""
    if not _HAS_DIGITS.search(text):
        return
    for match in _thousands().finditer(text):
        yield match.group().replace(",", "")
    for match in _dates().finditer(text):
        yield from _date(match["year"], int(match["month"]), match["day"])
    for match in _named_dates().finditer(text):
        month = _MONTHS.index(match["name"][:3].lower()) + 1
        yield from _date(match["year"], month, match["before"] or match["after"])


def _date(year: str, month: int, day: str) -> Iterator[str]:
    if 1 <= month <= 12 and 1 <= int(day) <= 31:
        yield f"{year}{month:02}{int(day):02}"


# Not at import: most sessions never search.
@cache
def _thousands() -> re.Pattern[str]:
    return re.compile(r"(?<![\d,.])[0-9]{1,3}(?:,[0-9]{3})+(?![\d,]*\d)", re.ASCII)


@cache
def _dates() -> re.Pattern[str]:
    year, month, day = r"(?<!\d)(?P<year>[12][0-9]{3})", "(?P<month>[01]?[0-9])", r"(?P<day>[0-3]?[0-9])(?!\d)"
    return re.compile(rf"{year}(?:년|[-/.]) ?{month}(?:월|[-/.]) ?{day}")


@cache
def _named_dates() -> re.Pattern[str]:
    names = "|".join(_MONTHS)
    return re.compile(
        rf"(?<!\w)(?:(?P<before>[0-3]?[0-9])(?:st|nd|rd|th)? )?(?P<name>(?:{names})[a-z]{{0,6}})\.? "
        rf"(?(before)|(?P<after>[0-3]?[0-9])(?:st|nd|rd|th)?,? )(?P<year>[12][0-9]{{3}})(?!\d)",
        re.IGNORECASE,
    )
