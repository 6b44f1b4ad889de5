"""How far a call is, for the client that waits for it."""

from __future__ import annotations

from math import inf, isfinite
from time import monotonic

from mcp.server.session import ServerSession

from madang.core.calls import Locale
from madang.core.limits import MAX_NAME_CHARS
from madang.core.phrases import Phrase
from madang.core.texts import one_line
from madang.rendering.catalogue import translator

MIN_INTERVAL_S = 0.1


class ProgressReporter:
    """Sends the progress of one request: ever further, as the protocol asks, and at most ten times a second.

    A client that did not ask for it gets nothing.
    """

    def __init__(self, session: ServerSession, locale: Locale) -> None:
        self._session: ServerSession | None = session
        self._locale = locale
        self._done = -inf
        self._sent_at_s = -inf

    async def __call__(self, done: float, total: float | None, message: Phrase | None) -> None:
        at_s = monotonic()
        if self._session is None or not isfinite(done) or done <= self._done or at_s < self._sent_at_s + MIN_INTERVAL_S:
            return
        self._done, self._sent_at_s = done, at_s
        text = one_line(message.render(translator(self._locale)), MAX_NAME_CHARS) if message else None
        await self._session.report_progress(done, total if total is None or isfinite(total) else None, text)

    def close(self) -> None:
        """Send nothing more. A call may be kept longer than its request: it must not keep the session with it."""
        self._session = None
