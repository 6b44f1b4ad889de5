"""Which runs are at work, in whatever process, and the words of those that are at work in another one.

What a model writes in this process is heard as it comes; that of another process is in the rows ten times a second
until its message is whole. It is read from there only while somebody has its session open.
"""

from __future__ import annotations

import asyncio
import logging

from madang.core.ids import UserId
from madang.host.live import LiveReaders
from madang.host.reader import live_frame
from madang.host.wire_events import RunsChanged, RunsValue, WorkingRun
from madang.records.overview import Overview
from madang.records.runs.deltas import DeltaStore, joined_text
from madang.records.runs.records import Run
from madang.records.runs.store import RunStore

MAX_TOLD_RUNS = 50
"""Of more, the oldest are not told: a list that nobody reads to its end."""
READ_EVERY_S = 0.25
RETRY_S = 1.0

logger = logging.getLogger(__name__)


class WorkingRuns:
    """Tells the readers of sessions which runs of the user are running, and what is written elsewhere."""

    def __init__(self, user_id: UserId, runs: RunStore, deltas: DeltaStore, readers: LiveReaders) -> None:
        self._user_id = user_id
        self._runs = runs
        self._deltas = deltas
        self._readers = readers
        self._elsewhere: dict[str, Run] = {}
        self._has_elsewhere = asyncio.Event()
        self._written: dict[str, tuple[int, str]] = {}
        """Of each run elsewhere: the message it was at, and what was told of it."""

    def tell(self, rows: Overview) -> None:
        """Tell which runs are at work, if that has changed."""
        running = [run for run in rows.runs if run.state == "running"][-MAX_TOLD_RUNS:]
        self._elsewhere = {run.id: run for run in running if self._runs.is_elsewhere(run)}
        self._written = {id: written for id, written in self._written.items() if id in self._elsewhere}
        if self._elsewhere:
            self._has_elsewhere.set()
        else:
            self._has_elsewhere.clear()
        told = [
            WorkingRun(
                id=run.id,
                session_id=run.session_id,
                title=rows.sessions[run.session_id].title,
                started_at=run.created_at,
                is_elsewhere=run.id in self._elsewhere,
            )
            for run in running
            if run.session_id in rows.sessions
        ]
        self._readers.tell_runs(live_frame(RunsChanged(value=RunsValue(runs=told))))

    async def read_words(self) -> None:
        """Tell what is written elsewhere until this is cancelled."""
        while True:
            await self._has_elsewhere.wait()
            for run in list(self._elsewhere.values()):
                if not self._readers.has_readers(run.session_id):
                    continue
                try:
                    await self._tell_words(run.id)
                except Exception:  # the next look tells all of it
                    logger.exception("What a run writes elsewhere cannot be read")
                    await asyncio.sleep(RETRY_S)
            await asyncio.sleep(READ_EVERY_S)

    async def _tell_words(self, run_id: str) -> None:
        run = await self._runs.get(self._user_id, run_id)
        if run is None or run.state != "running":
            return
        message_no = run.turn + 1
        text = joined_text(await self._deltas.read(run, message_no))
        known_no, known = self._written.get(run_id, (message_no, ""))
        if known_no != message_no or not text.startswith(known):
            known = ""  # another message, or this one is written anew
        if len(text) > len(known):
            self._readers.hear_text(run, message_no, len(known), text[len(known) :])
        self._written[run_id] = message_no, text
