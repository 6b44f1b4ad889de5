"""The end of a host that the person asked for in the browser."""

from __future__ import annotations

from collections.abc import Callable


class HostEnding:
    """Whether the host is to stop, and to delete all data once nothing uses it any more."""

    def __init__(self) -> None:
        self.deletes_data = False
        self._stop: Callable[[], None] | None = None

    @property
    def is_possible(self) -> bool:
        """Whether somebody serves the host who stops it when asked."""
        return self._stop is not None

    def connect(self, stop: Callable[[], None]) -> None:
        """Have `stop` called when the host is to end."""
        self._stop = stop

    def delete_data(self) -> None:
        """Stop the host; who serves it deletes the data then."""
        self.deletes_data = True
        if self._stop is not None:
            self._stop()
