"""What every tab is told beside its talk: the list of sessions, what waits for the person, and which runs are at work.

One subscription and, at a notice, one read of the rows for all of it, however many tabs there are: a tab that is told
the rows asks for none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from madang.agent.inbox import Inbox
from madang.core.calls import Call, Locale
from madang.core.errors import MadangError
from madang.core.pauses import PauseRecord, first_expiry
from madang.database.port import Database
from madang.database.subscriptions import topic
from madang.host.calls import in_session
from madang.host.inbox import MAX_ITEMS, read_items
from madang.host.live import LiveReaders
from madang.host.reader import live_frame
from madang.host.session_news import changed_sessions, session_news
from madang.host.wire_events import (
    InboxChanged,
    InboxValue,
    PausesChanged,
    PausesValue,
    SessionsChanged,
)
from madang.host.wire_inbox import InboxItemAnswer
from madang.host.working_runs import WorkingRuns
from madang.records.overview import Overview, read_overview
from madang.records.pause_rows import pause_topic
from madang.system.clock import parse_timestamp, timestamp

RETRY_S = 1.0
COALESCE_S = 0.05
MAX_EXPIRY_WAIT_S = 3600.0
EXPIRY_GRACE_S = 0.05
MAX_CLOCK_WAIT_S = 60.0

logger = logging.getLogger(__name__)


class OverviewFeed:
    """Tells all readers what changes in the rows of the host's user, whichever process changes them."""

    def __init__(
        self, call: Call, database: Database, inbox: Inbox, *, readers: LiveReaders, working: WorkingRuns
    ) -> None:
        self._call = call
        self._database = database
        self._inbox = inbox
        self._readers = readers
        self._working = working
        self._looking = asyncio.Lock()
        self._open: dict[str, PauseRecord] | None = None
        """What was told to be open, by its id."""
        self._first_expiry = ""
        self._next_expiry = asyncio.Event()

    async def watch(self) -> None:
        """Tell what changes until this is cancelled."""
        await asyncio.gather(self._watch_changes(), self._watch_expiries())

    async def _watch_changes(self) -> None:
        user_id = self._call.user_id
        topics = topic("session", user_id), topic("run", user_id), pause_topic(user_id)
        while True:
            try:
                async for changed in self._database.changes(*topics):
                    await self._look(changed_sessions(changed))
                    await asyncio.sleep(COALESCE_S)
            except Exception:
                logger.exception("Changes cannot be watched")
            await asyncio.sleep(RETRY_S)

    async def _watch_expiries(self) -> None:
        """Look again when something in the inbox expires: that is nobody's deed, so nobody tells it."""
        while True:
            self._next_expiry.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._expiry_s(), MAX_EXPIRY_WAIT_S)):
                    await self._next_expiry.wait()
                    continue
            with suppress(MadangError):
                await self._look(set())

    def _expiry_s(self) -> float:
        if not self._first_expiry:
            return MAX_EXPIRY_WAIT_S
        left = parse_timestamp(self._first_expiry) - parse_timestamp(timestamp())
        # Not for longer: a clock that is wrong now would be slept by for days.
        return min(max(left.total_seconds(), 0.0) + EXPIRY_GRACE_S, MAX_CLOCK_WAIT_S)

    async def _look(self, changed: set[str] | None) -> None:
        """Read the rows and tell what is new in them. `changed` are the sessions to tell; None: nobody knows which."""
        async with self._looking:
            followed = self._readers.sessions()
            asking = {pause.session_id for pause in (self._open or {}).values()}
            sessions = {*(changed or ()), *followed, *asking}
            rows = await read_overview(self._database, self._call.user_id, sessions)
            self._working.tell(rows)
            ended = await self._tell_inbox(rows)
            if changed is not None:  # what expires has no notice, and its session asks one thing less
                changed |= ended
            if changed is None or changed:
                self._readers.tell_all(live_frame(SessionsChanged(value=session_news(changed, rows))))
            at = [in_session(self._call, rows.sessions[id]) for id in followed & rows.sessions.keys()]
            self._readers.cut_moved({call.session: call.assistant_id for call in at})

    async def _tell_inbox(self, rows: Overview) -> set[str]:
        """Tell what is open, if that has changed, and return the sessions of what is not open any more."""
        now = {pause.id: pause for pause in rows.pauses}
        before = self._open
        self._first_expiry = first_expiry(rows.pauses) or ""
        self._next_expiry.set()
        if before is not None and before.keys() == now.keys():
            return set()
        shown = rows.pauses[:MAX_ITEMS]
        turns = sum(pause.is_turn for pause in rows.pauses)
        counts = live_frame(InboxChanged(value=InboxValue(open=len(rows.pauses) - turns, turns=turns)))

        def told(items: list[InboxItemAnswer]) -> bytes:
            value = PausesValue(ids=[pause.id for pause in shown], items=items)
            return live_frame(PausesChanged(value=value)) + counts

        opened = [pause for pause in shown if before is not None and pause.id not in before]
        locales = self._readers.locales() if opened else set()
        changed = {locale: told(await self._items(opened, rows, locale)) for locale in locales}
        self._readers.tell_inbox(told([]), changed)
        self._open = now
        return {pause.session_id for id, pause in (before or {}).items() if id not in now}

    async def _items(self, pauses: Sequence[PauseRecord], rows: Overview, locale: Locale) -> list[InboxItemAnswer]:
        call = replace(self._call, locale=locale)
        try:
            return await read_items(self._inbox, call, pauses, rows.sessions)
        except Exception:  # a tab that is told the ids alone asks for the items
            logger.exception("What waits for the person cannot be read")
            return []
