"""One spelling of time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from madang.system.clock import format_timestamp, now, parse_timestamp, timestamp


def test_a_timestamp_is_utc_with_milliseconds_and_z() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", timestamp())
    assert now().tzinfo is UTC


def test_a_moment_of_another_zone_is_the_same_moment() -> None:
    seoul = datetime(2026, 11, 15, 18, 30, 0, 999_999, timezone(timedelta(hours=9)))

    assert format_timestamp(seoul) == "2026-11-15T09:30:00.999Z"


@pytest.mark.parametrize(
    "stored", ["2026-11-15T09:30:00.000Z", "2026-11-15T09:30:00.000+00:00", "2026-11-15T09:30:00Z"]
)
def test_spellings_of_earlier_rows_are_read(stored: str) -> None:
    assert parse_timestamp(stored) == datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
