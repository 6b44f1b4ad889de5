"""Moments on a database server: `TIMESTAMPTZ` there, the text of `system.clock` here."""

from __future__ import annotations

from typing import Any

import asyncpg

from madang.system.clock import format_timestamp, parse_timestamp

# The server writes moments as text in the style and zone of the connection, whatever the database or its user has set.
SETTINGS = {"timezone": "UTC", "datestyle": "ISO, YMD"}


async def use_timestamps(connection: asyncpg.Connection[Any]) -> None:
    """Let a connection take and give moments as timestamps. It asks the server nothing."""
    await connection.set_type_codec("timestamptz", schema="pg_catalog", encoder=_encode, decoder=_decode, format="text")


def _encode(timestamp: str) -> str:
    # The server also knows moments by name ('now', 'infinity') and takes one without a zone for its own: neither is
    # a timestamp, and a store that passes one has a bug.
    if parse_timestamp(timestamp).tzinfo is None:
        raise ValueError(f"a timestamp needs a zone: {timestamp!r}")
    return timestamp


def _decode(moment: str) -> str:
    # With the offset it names: a pooler may hand out a connection that another client has set to another zone.
    return format_timestamp(parse_timestamp(moment))
