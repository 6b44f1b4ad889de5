"""Numbers of advisory locks: what two processes agree on without a table."""

from __future__ import annotations

import hashlib

MIGRATIONS = "migrations"
"""Held while tables are made or changed."""


def advisory_key(name: str) -> int:
    """Return the number of the lock with this name."""
    return int.from_bytes(hashlib.sha256(f"madang/{name}".encode()).digest()[:8], signed=True)
