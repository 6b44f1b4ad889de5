"""What is told to all readers at once: the words of runs while their models write them, the inbox, and the list of
sessions. One subscription each, however many tabs there are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from madang.agent.runner import Runner
from madang.core.calls import Call
from madang.core.ids import SessionId, UserId
from madang.core.service import ActiveSession
from madang.host.reader import LiveText, ReaderQueue, frame
from madang.llm.base import ModelDelta
from madang.provider.provider import Provider
from madang.storage.pauses import PauseStore
from madang.storage.runs.records import Run
from madang.storage.sessions import SessionStore

MAX_COUNTED = 500
MAX_WRITTEN_RUNS = 256
"""Runs whose unfinished message is held here, for readers that come in its middle. Of more, the oldest go."""
RETRY_S = 1.0
COALESCE_S = 0.05

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Written:
    """What a run's model has written of its present message."""

    message_no: int
    parts: list[str] = field(default_factory=list)
    length: int = 0


class LiveReaders:
    """The readers of all streams of this process, by their session."""

    def __init__(
        self, user_id: UserId, runner: Runner, provider: Provider, pauses: PauseStore, sessions: SessionStore
    ) -> None:
        self._user_id = user_id
        self._provider = provider
        self._pauses = pauses
        self._sessions = sessions
        self._readers: dict[SessionId, set[ReaderQueue]] = {}
        self._written: dict[str, _Written] = {}
        self._stop_listening = runner.listen(self._hear)
        self._active: ActiveSession | None = None
        self._switching: asyncio.Task[None] | None = None
        self._inbox = b""

    def end(self) -> None:
        """End every stream in order: the process is about to stop, and a reader that comes again finds the next one."""
        for readers in list(self._readers.values()):
            for queue in list(readers):
                queue.cut("stopping")

    async def close(self) -> None:
        self._stop_listening()
        self.end()
        if self._switching is not None:
            self._switching.cancel()
            await asyncio.gather(self._switching, return_exceptions=True)

    @contextmanager
    def reading(self, call: Call, queue: ReaderQueue) -> Iterator[None]:
        """Have a reader of the call's session told. The services are told which session the person is in."""
        readers = self._readers.setdefault(call.session, set())
        readers.add(queue)
        self._switch(ActiveSession(call.assistant_id, call.session))
        if self._inbox:
            queue.push(self._inbox)
        try:
            yield
        finally:
            readers.discard(queue)
            if not readers:
                self._readers.pop(call.session, None)
            if not self._readers:
                self._switch(None)

    def written(self, run: Run) -> LiveText | None:
        """Return what the model of a run has written of the message that it is at, if it is."""
        written = self._written.get(run.id)
        if written is None or run.state != "running" or written.message_no <= run.turn:
            return None
        return LiveText(run.id, written.message_no, 0, "".join(written.parts))

    def tell_all(self, data: bytes) -> None:
        for readers in list(self._readers.values()):
            for queue in list(readers):
                queue.push(data)

    async def watch_inbox(self) -> None:
        """Tell every reader how much is open, whenever that may have changed, until this is cancelled."""
        await self._watch(self._pauses.changes, self._tell_inbox)

    async def watch_sessions(self) -> None:
        """Tell every reader when the list of sessions may have changed, until this is cancelled."""
        await self._watch(self._sessions.changes, self._tell_sessions)

    async def _watch(
        self, changes: Callable[[UserId], AsyncIterator[frozenset[str]]], tell: Callable[[], object]
    ) -> None:
        while True:
            try:
                async for _ in changes(self._user_id):
                    outcome = tell()
                    if asyncio.iscoroutine(outcome):
                        await outcome
                    await asyncio.sleep(COALESCE_S)
            except Exception:
                logger.exception("Changes cannot be watched")
            await asyncio.sleep(RETRY_S)

    async def _tell_inbox(self) -> None:
        count = len(await self._pauses.list_open(self._user_id, MAX_COUNTED))
        self._inbox = frame({"type": "CUSTOM", "name": "madang/inbox", "value": {"open": count}})
        self.tell_all(self._inbox)

    def _tell_sessions(self) -> None:
        self.tell_all(frame({"type": "CUSTOM", "name": "madang/sessions", "value": {}}))

    def _hear(self, run: Run, message_no: int, at_char: int, delta: ModelDelta) -> None:
        written = self._written.get(run.id)
        if written is None or written.message_no != message_no or at_char == 0:
            self._written.pop(run.id, None)
            while len(self._written) >= MAX_WRITTEN_RUNS:
                del self._written[next(iter(self._written))]
            written = self._written[run.id] = _Written(message_no)
        if at_char == written.length:
            written.parts.append(delta.text)
            written.length += len(delta.text)
        live = LiveText(run.id, message_no, at_char, delta.text)
        for queue in list(self._readers.get(run.session_id, ())):
            queue.push_text(live)

    def forget(self, run_id: str) -> None:
        """Drop what was written of a message that is stored by now, or of a run that is over."""
        self._written.pop(run_id, None)

    def _switch(self, active: ActiveSession | None) -> None:
        if active == self._active:
            return
        self._active = active
        # One after the other, and only the last one counts: a slow service must not make a queue.
        if self._switching is None or self._switching.done():
            self._switching = asyncio.create_task(self._run_switches())

    async def _run_switches(self) -> None:
        told: object = self
        while told != self._active:
            told = self._active
            await self._provider.switch_context(self._active)
