"""The runs of this process: starting them, taking over those that can go on, stopping them, and streaming.

A run is woken by looking at the rows; notices only say when to look. So no wake-up is lost, and none happens twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from madang.agent import events
from madang.agent.execution import RunExecution, SetupLoader
from madang.agent.history import count_tokens
from madang.agent.news import attached_origins
from madang.agent.stores import RunStores
from madang.agent.titles import title_of
from madang.core.calls import Call
from madang.core.ids import UserId, new_id
from madang.llm.base import ModelDelta
from madang.llm.messages import Part, TextPart, dump_parts, written_text
from madang.provider.provider import Provider
from madang.storage.clock import parse_timestamp, timestamp
from madang.storage.runs.deltas import DeltaStore
from madang.storage.runs.journal import NewMessage, Step
from madang.storage.runs.records import Delta, Run
from madang.storage.subscriptions import parse_topic

FLUSH_EVERY_S = 0.1
LOOK_EVERY_S = 0.5
"""At most so often, however many notices there are."""
MAX_LOOK_WAIT_S = 60.0
"""Looks happen without any notice too: an owner that dies tells nobody."""

logger = logging.getLogger(__name__)

StreamListener = Callable[[Run, int, int, ModelDelta | None], None]
"""Takes a delta of text or thinking with its run, the number of its message and the place of its first character in
the message's text, or in its thinking. None: what was told of the message is thrown away, and it is written anew."""

THINKING_BREAK = "\n\n"
"""Between the parts of what a model thought, which are shown as one text."""


@dataclass(slots=True)
class _Stream:
    """What a run's model has sent of a message and is not written yet."""

    run: Run
    message_no: int
    at_char: int = 0
    text: str = ""
    thinking_chars: int = 0
    thinking_index: int = 0

    def add_thinking(self, delta: ModelDelta) -> tuple[int, ModelDelta]:
        """Return the place of a piece of thinking, and the piece: with a blank line before it if a new part begins.

        Nothing of it is written: it is kept with the whole answer.
        """
        place = self.thinking_chars
        if place and delta.index != self.thinking_index:
            delta = replace(delta, text=f"{THINKING_BREAK}{delta.text}")
        self.thinking_chars, self.thinking_index = place + len(delta.text), delta.index
        return place, delta


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of a message of the person's: the first of a new run, or one that waits for the run that is there."""

    run: Run | None
    queued_id: str = ""


class Runner:
    """Owns runs in this process until it is closed."""

    def __init__(
        self,
        stores: RunStores,
        deltas: DeltaStore,
        provider: Provider,
        load_setup: SetupLoader,
        only_session: Call | None = None,
    ) -> None:
        self._stores = stores
        self._only_session = only_session
        self._deltas = deltas
        self._provider = provider
        self._load_setup = load_setup
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._streams: dict[tuple[str, int], _Stream] = {}
        self._flushing: asyncio.Task[None] | None = None
        self._wake_at = ""
        self._listeners: list[StreamListener] = []

    async def open(self) -> None:
        await self._stores.runs.open()

    async def post(self, call: Call, parts: Sequence[Part], model: str = "") -> Run | None:
        """Do as `send` does, and return the run if one was started."""
        return (await self.send(call, parts, model)).run

    async def send(self, call: Call, parts: Sequence[Part], model: str = "") -> Posted:
        """Give the session's run a message of the person's, or start one with it. A model that is named answers it.

        Raises:
            Conflict: the session is being deleted, or another process has just started a run there.
        """
        text = written_text(parts)
        dumped, tokens = dump_parts(parts), count_tokens(parts)
        queued = await self._stores.messages.queue(
            call, dumped, tokens, lambda id: events.message_queued(id, text), model
        )
        if queued:
            return Posted(None, queued)
        id = new_id()
        told = events.user_wrote(id, parts)
        message = NewMessage(id, "user", dumped, len(told) - 1, tokens, origins=attached_origins(parts))
        step = Step(events=told, messages=[message])
        run = await self._stores.runs.start(call, step, model=model, title=title_of(text), began=events.run_started)
        self._launch(run)
        return Posted(run)

    async def begin(self, call: Call) -> Run:
        """Start a run that has no message yet: the person is its model, and takes the first turn.

        Raises:
            Conflict: the session has a run that is not over, or is being deleted.
        """
        run = await self._stores.runs.start(call, Step(), began=events.run_started)
        self._launch(run)
        return run

    async def cancel(self, user_id: UserId, run_id: str) -> bool:
        """Stop a run for good, whatever process has it; False if it is over.

        What its model has written of an answer stays, as far as it was shown.
        """
        if run_id in self._tasks:
            await self._write_deltas()
        cancelled = await self._stores.runs.cancel(user_id, run_id, _end_of_stopped)
        if (task := self._tasks.get(run_id)) is not None:
            task.cancel()
        return cancelled is not None

    async def look(self) -> list[Run]:
        """Take over the user's runs that can go on, and start those that answers wait for; of one session if this is
        for one. Those that were got are returned.
        """
        runs: list[Run] = []
        if self._only_session is None:
            candidates, self._wake_at = await self._stores.runs.look()
        else:
            candidates, self._wake_at = await self._stores.runs.look_in(self._only_session)
        for candidate in candidates:
            run = await self._stores.runs.claim(candidate, events.run_resumed)
            if run is not None:
                self._launch(run)
                runs.append(run)
        return runs

    async def watch(self) -> None:
        """Look whenever there may be something to take over, until this is cancelled."""
        changes = self._stores.runs.changes()
        pending = asyncio.ensure_future(anext(changes))
        try:
            while True:
                await self.look()
                await asyncio.sleep(LOOK_EVERY_S)
                done, _ = await asyncio.wait({pending}, timeout=self._next_look_s())
                if done:
                    await self._stop_lost(pending.result())
                    pending = asyncio.ensure_future(anext(changes))
        finally:
            pending.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await pending

    async def wait_idle(self) -> None:
        """Wait until no run of this process is running."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def close(self) -> None:
        """Stop working. What is under way is left as if the process had died: another one goes on with it."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=5.0)
        if self._flushing is not None:
            self._flushing.cancel()

    def listen(self, listener: StreamListener) -> Callable[[], None]:
        """Hear every delta at once; call what is returned to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _launch(self, run: Run) -> None:
        task = asyncio.create_task(self._go_on(run), name=f"run {run.id}")
        self._tasks[run.id] = task
        task.add_done_callback(lambda ended: self._ended(run.id, ended))

    def _ended(self, run_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(run_id) is task:
            del self._tasks[run_id]
        for key in [key for key in self._streams if key[0] == run_id]:
            del self._streams[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("The run %s failed", run_id, exc_info=error)

    async def _go_on(self, run: Run) -> None:
        execution = RunExecution(run, self._load_setup, self._stores, self._provider, self._hear)
        await execution.go_on()

    def _hear(self, run: Run, message_no: int, delta: ModelDelta | None) -> None:
        if delta is None:
            self._streams.pop((run.id, message_no), None)
            for listener in self._listeners:
                listener(run, message_no, 0, None)
            return
        if delta.kind not in ("text", "thinking") or not delta.text:
            return
        stream = self._streams.get((run.id, message_no))
        if stream is None:
            stream = self._streams[run.id, message_no] = _Stream(run, message_no)
        place = stream.at_char + len(stream.text)
        if delta.kind == "thinking":
            place, delta = stream.add_thinking(delta)
        for listener in self._listeners:
            listener(run, message_no, place, delta)
        if delta.kind == "thinking":
            return
        stream.run = run
        stream.text += delta.text
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        """Write what all runs of this process have streamed, in one unit, for as long as any of them streams."""
        try:
            while True:
                await asyncio.sleep(FLUSH_EVERY_S)
                if not await self._write_deltas():
                    return
        finally:
            self._flushing = None

    async def _write_deltas(self) -> bool:
        """Write what is not written yet; False if there is nothing."""
        written = [stream for stream in self._streams.values() if stream.text]
        deltas = [Delta(one.run, one.message_no, one.at_char, one.text) for one in written]
        for stream in written:
            stream.at_char, stream.text = stream.at_char + len(stream.text), ""
        for lost in await self._deltas.flush(deltas):
            if (task := self._tasks.get(lost.id)) is not None:
                task.cancel()
        return bool(written)

    async def _stop_lost(self, topics: frozenset[str]) -> None:
        """Stop what another process has cancelled. Without a topic that names its run, it may be any of them."""
        named = [parse_topic(topic)[3:] for topic in topics]
        for run_id, task in list(self._tasks.items()):
            if all(named) and topics and (run_id,) not in named:
                continue
            run = await self._stores.runs.get(self._stores.runs.user_id, run_id)
            if run is not None and run.state not in ("running", "waiting"):
                task.cancel()

    def _next_look_s(self) -> float:
        if not self._wake_at:
            return MAX_LOOK_WAIT_S
        wait = (parse_timestamp(self._wake_at) - parse_timestamp(timestamp())).total_seconds()
        return min(max(wait, 0.0), MAX_LOOK_WAIT_S)


def _end_of_stopped(run: Run, written: str, withdrawn: Sequence[str]) -> Step:
    """Return what a stop writes: its events, and what was written of an answer as a message."""
    ended = events.run_cancelled(run, withdrawn)
    if not written.strip():
        return Step(events=ended)
    id, parts = new_id(), [TextPart(written)]
    told = events.answer_stopped(id, written)
    turn = run.turn + 1
    message = NewMessage(
        id, "assistant", dump_parts(parts), len(told) - 1, count_tokens(parts), turn=turn, kind="stopped"
    )
    return Step(events=[*told, *ended], messages=[message])
