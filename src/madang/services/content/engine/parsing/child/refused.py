"""Why a document is not read. The parent puts the reason into words."""

from __future__ import annotations


class Refused(Exception):
    """The document is not read, for the named reason; `count` is the number that goes with it, if any does."""

    def __init__(self, reason: str, count: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.count = count
