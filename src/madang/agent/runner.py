"""The runs of this process: starting them, taking over those that can go on, stopping them, and streaming.

A run is woken by looking at the rows; notices only say when to look. So no wake-up is lost, and none happens twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from madang.agent import events
from madang.agent.execution import RunExecution, SetupLoader
from madang.agent.history import count_tokens
from madang.agent.news import attached_origins
from madang.agent.pace import Pace
from madang.agent.stores import RunStores
from madang.agent.streams import AnswerStreams, StreamListener
from madang.agent.titles import title_of
from madang.core.calls import Call, Locale
from madang.core.errors import StoreUnavailable, Unavailable
from madang.core.ids import UserId, new_id
from madang.core.phrases import say
from madang.database.patience import OutageListener
from madang.database.subscriptions import parse_topic
from madang.llm.messages import Part, TextPart, dump_parts, written_text
from madang.provider.provider import Provider
from madang.records.runs.deltas import DeltaStore
from madang.records.runs.journal import NewMessage, Step
from madang.records.runs.records import Candidate, Run
from madang.rendering.catalogue import translator
from madang.system.clock import parse_timestamp

LOOK_EVERY_S = 0.5
"""At most so often, however many notices there are, but for a few after a quiet while."""
LOOKS_AT_ONCE = 6
MAX_LOOK_WAIT_S = 60.0
"""Looks happen without any notice too."""
ADOPT_S = 2.0
"""How long a run of this process has no task before it is taken for one that nobody works on: its start may be about
to be told here."""
PREFER_S = 5.0
"""How long a run is left to the processes that have its files."""
HAND_OVER_S = 1.0
"""How long calls that are being made may still take when this process ends."""
MAX_FAILURES = 3
"""After so many tasks of a run that failed by errors of ours, it is ended."""

logger = logging.getLogger(__name__)


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
        patient: RunStores,
        deltas: DeltaStore,
        provider: Provider,
        load_setup: SetupLoader,
        only_session: Call | None = None,
        place: str = "",
    ) -> None:
        """Own runs in `stores`. What a run itself reads and writes goes through `patient`: a database that does not
        answer makes it wait, and does not make it fail.
        """
        self._stores = stores
        self._patient = patient
        self._only_session = only_session
        self._provider = provider
        self._load_setup = load_setup
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._executions: dict[str, RunExecution] = {}
        self._streams = AnswerStreams(deltas, self._stop)
        self._wake_at = ""
        self._wake = asyncio.Event()
        self._orphans: dict[Candidate, float] = {}
        """Runs of this process without a task, and since when, by the monotonic clock, that has been seen."""
        self._failures: dict[str, int] = {}
        self._place = place
        self._left: dict[Candidate, float] = {}
        """What is left to processes elsewhere, and since when."""

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
            await self._streams.write()
        cancelled = await self._stores.runs.cancel(user_id, run_id, _end_of_stopped)
        self._stop(run_id)
        return cancelled is not None

    async def cancel_live(self, call: Call) -> bool:
        """Stop the session's run for good; False if it has none that is not over."""
        run = await self._stores.runs.get_live(call)
        return run is not None and await self.cancel(call.user_id, run.id)

    async def look(self) -> list[Run]:
        """Take over the user's runs that can go on, and start those that answers wait for; of one session if this is
        for one. Those that were got are returned.

        Raises:
            StoreUnavailable: the database is away. A claim that was not written is none.
        """
        runs: list[Run] = []
        if self._only_session is None:
            found = await self._stores.runs.look()
        else:
            found = await self._stores.runs.look_in(self._only_session)
        self._wake_at = found.wake_at
        for candidate in self._in_reach(found.candidates):
            run = await self._stores.runs.claim(candidate, events.run_resumed)
            if run is not None:
                self._launch(run)
                runs.append(run)
        return runs + await self._adopt(found.owned)

    async def watch(self) -> None:
        """Look whenever there may be something to take over, until this is cancelled.

        Raises:
            StoreUnavailable: the database is away. Whoever started this starts it again.
        """
        changes = self._stores.runs.changes()
        changed, woken = asyncio.ensure_future(anext(changes)), asyncio.ensure_future(self._wake.wait())
        stop_listening = self._stores.runs.listen_deaths(self._wake.set)
        pace = Pace(LOOK_EVERY_S, LOOKS_AT_ONCE)
        try:
            while True:
                self._wake.clear()
                await self.look()
                await asyncio.sleep(pace.rest_s(asyncio.get_running_loop().time()))
                await asyncio.wait({changed, woken}, timeout=self._next_look_s(), return_when=asyncio.FIRST_COMPLETED)
                if woken.done():
                    woken = asyncio.ensure_future(self._wake.wait())
                if changed.done():
                    await self._stop_lost(changed.result())
                    changed = asyncio.ensure_future(anext(changes))
        finally:
            stop_listening()
            woken.cancel()
            changed.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, StoreUnavailable):
                await changed

    async def wait_idle(self) -> None:
        """Wait until no run of this process is running."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def close(self) -> None:
        """Stop working, and hand over what is under way: another process goes on with it at once, if there is one.

        A model that is being asked is asked again there; a call that is being made may end here, if it does so soon.
        """
        self._patient.runs.drain()
        for run_id, execution in list(self._executions.items()):
            if execution.is_asking:
                self._stop(run_id)
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=HAND_OVER_S)
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=1.0)
        self._streams.close()
        try:
            await self._stores.runs.release()
        except Exception as error:  # they are free as soon as this process has ended, and what else is open must close
            logger.warning("Runs are not handed over: %s", error, exc_info=not isinstance(error, Unavailable))

    def listen(self, listener: StreamListener) -> Callable[[], None]:
        """Hear every delta at once; call what is returned to stop."""
        return self._streams.listen(listener)

    def listen_outages(self, listener: OutageListener) -> Callable[[], None]:
        """Hear when runs wait for a database that does not answer; call what is returned to stop."""
        return self._patient.patience.listen(listener)

    def is_at_work(self, run_id: str) -> bool:
        """Tell whether this process works on a run."""
        return run_id in self._tasks

    def _launch(self, run: Run) -> None:
        execution = RunExecution(run, self._load_setup, self._patient, self._provider, self._streams.hear)
        task = asyncio.create_task(execution.go_on(), name=f"run {run.id}")
        self._tasks[run.id], self._executions[run.id] = task, execution
        task.add_done_callback(lambda ended: self._ended(run.id, ended))

    def _ended(self, run_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(run_id) is task:
            del self._tasks[run_id], self._executions[run_id]
        self._streams.forget(run_id)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("The run %s failed", run_id, exc_info=error)
            self._failures[run_id] = self._failures.get(run_id, 0) + 1
            self._wake.set()
        else:
            self._failures.pop(run_id, None)

    def _stop(self, run_id: str) -> None:
        if (task := self._tasks.get(run_id)) is not None:
            task.cancel()

    def _in_reach(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return what this process may claim now.

        A run whose files are elsewhere is left to the processes there, unless there are none, none of them takes it
        for a while, or the person wants its session to go on here.
        """
        if self._only_session is not None:
            return list(candidates)
        now_s, here = time.monotonic(), ("", self._place)
        away = [one for one in candidates if one.place not in here and self._stores.runs.is_inhabited(one.place)]
        self._left = {one: self._left.get(one, now_s) for one in away}
        return [one for one in candidates if now_s - self._left.get(one, -PREFER_S) >= PREFER_S]

    async def _adopt(self, owned: Sequence[Candidate]) -> list[Run]:
        """Go on with runs of this process that nobody works on, so that none is left with a living owner and no task.

        Such a one was started or claimed by a write whose outcome was in doubt, or its task failed.
        """
        worked_on, now_s = {one.run_no for one in self._executions.values()}, time.monotonic()
        self._orphans = {one: self._orphans.get(one, now_s) for one in owned if one.run_no not in worked_on}
        runs: list[Run] = []
        for candidate, since_s in list(self._orphans.items()):
            if now_s - since_s < ADOPT_S:
                continue
            run = await self._stores.runs.claim(candidate, events.run_resumed)
            del self._orphans[candidate]
            if run is None:
                continue
            if self._failures.get(run.id, 0) < MAX_FAILURES:
                self._launch(run)
                runs.append(run)
            else:
                await self._give_up(run)
        return runs

    async def _give_up(self, run: Run) -> None:
        """End a run that fails whenever it is worked on."""
        locale: Locale = "en"
        with suppress(Exception):  # it may be what fails
            locale = (await self._load_setup(run)).locale
        words = say("Madang failed again and again in this run. The log has the reason.")
        text = words.render(translator(locale))
        told = events.run_failed("internal", text, retry_helps=False)
        await self._stores.runs.commit(run, Step(state="failed", events=[told], error_code="internal", error=text))
        self._failures.pop(run.id, None)

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
        if self._orphans or self._left:
            return LOOK_EVERY_S
        if not self._wake_at:
            return MAX_LOOK_WAIT_S
        now = self._stores.runs.clock.timestamp()
        wait = (parse_timestamp(self._wake_at) - parse_timestamp(now)).total_seconds()
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
