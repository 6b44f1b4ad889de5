"""The clock, and the one spelling of a moment: ISO 8601 in UTC, with milliseconds and `Z`.

Rows of earlier versions have other spellings of UTC, which `parse_timestamp` reads as well.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator

SQLITE_NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
POSTGRESQL_NOW = "date_trunc('milliseconds', clock_timestamp())"
"""The moment as SQL, by the clock of the database: cut to what a timestamp can say, so that both are equal."""


def now() -> datetime:
    """Return the moment, aware, in UTC."""
    return datetime.now(UTC)


def timestamp() -> str:
    """Return this moment as it is stored and sent."""
    return format_timestamp(now())


def format_timestamp(moment: datetime) -> str:
    """Return a moment as it is stored and sent. Timestamps sort as their moments do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> datetime:
    """Return the moment of a timestamp."""
    return datetime.fromisoformat(text)


def _normalized(text: str) -> str:
    if not text:
        return ""
    moment = parse_timestamp(text)
    if moment.tzinfo is None:
        raise ValueError("a timestamp without a zone")
    return format_timestamp(moment)


Timestamp = Annotated[str, AfterValidator(_normalized)]
"""A timestamp in a document that leaves or comes: in the one spelling, or empty for none."""
