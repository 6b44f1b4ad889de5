"""Runs in the database: one owner at a time, by compare-and-set on the epoch.

Every write of a run requires its epoch and that it is running; if that changes no row, nothing of the unit is written.
So liveness may err: an owner that was taken for dead writes nothing more. What a step changes and the events that tell
of it are one unit. Units lock rows in one order: run, pause, run_live, session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from madang.core.calls import Call
from madang.core.ids import LOCAL_USER, UserId, new_id
from madang.core.pauses import PauseRecord, first_expiry
from madang.database.liveness import Liveness
from madang.database.port import Database, Transaction
from madang.database.subscriptions import topic
from madang.records.events import EventLog, NewEvent
from madang.records.live_runs import check_no_live_run
from madang.records.pauses import PauseStore, await_pauses, clear_awaited, withdraw_pauses, write_expired
from madang.records.run_journal_tables import JOURNAL_MIGRATIONS
from madang.records.run_tables import RUN_MIGRATIONS
from madang.records.runs.claimable import find_claimable, find_claimable_in, release_runs
from madang.records.runs.deltas import read_written
from madang.records.runs.journal import RunNews, Step, find_queued
from madang.records.runs.offers import OFFER_MIGRATIONS
from madang.records.runs.records import LIVE_STATES, SELECT_RUN, Candidate, Look, LostRun, Run, parse_run, run_topic
from madang.records.runs.rows import (
    FIND_LAST_RUN,
    clear,
    compare_and_set,
    find_answered_late,
    find_awaited,
    find_open,
    find_pauses,
    find_run,
    has_answers,
    has_news,
    keep_answers,
    mark_used,
    postpone,
    set_end,
    set_live,
    set_place,
    write_step,
)
from madang.records.runs.usage import USAGE_MIGRATIONS
from madang.records.runs.words import MessageAnalysis
from madang.records.sessions import ensure_ready_session
from madang.system.clock import SteadyClock, timestamp

MAX_ERROR_CHARS = 2000


class RunStore:
    """Runs in the database, and this process as their owner.

    It takes over runs of one user alone: another's would go on with this process's model, keys and folders.
    """

    def __init__(
        self,
        database: Database,
        liveness: Liveness,
        analysis: MessageAnalysis | None = None,
        *,
        user_id: UserId = LOCAL_USER,
        place: str = "",
    ) -> None:
        """Keep runs of a database. Without an `analysis`, messages get their words from the first search.

        `place` is where this process has the files of sessions (`files.place`); empty if that is one for all.
        """
        self.user_id = user_id
        self.clock = SteadyClock()
        """By it, what a run waits for expires."""
        self._database = database
        self._liveness = liveness
        self._analysis = analysis
        self._place = place
        self._is_draining = False

    async def open(self) -> None:
        """Make the tables, and this process an owner."""
        await open_run_tables(self._database)
        await self._liveness.open()

    async def start(
        self,
        call: Call,
        step: Step,
        *,
        model: str = "",
        title: str = "",
        deadline_at: str = "",
        began: Callable[[Run], NewEvent] | None = None,
    ) -> Run:
        """Start a run in the call's session with its first step, and this process as its owner.

        `began` tells of it, before the events of the step.

        A session without messages gets the `title`, unless it has one.

        Raises:
            Conflict: the session has one that is not over, or is being deleted.
        """
        step = await self._analyzed(call, step)

        async def work(tx: Transaction) -> Run:
            session_no = await ensure_ready_session(tx, call)
            await check_no_live_run(tx, call.user_id, session_no)
            run = await self._insert(tx, call.user_id, session_no, call.assistant_id or "", model, deadline_at)
            await mark_used(tx, call, session_no, title)
            await write_step(tx, self._database.dialect, run, step, began=began(run) if began else None)
            await tx.notify(run_topic(run))
            return run

        return await self._database.write(work, user_id=call.user_id)

    async def _insert(
        self, tx: Transaction, user_id: UserId, session_no: int, assistant_id: str, model: str, deadline_at: str = ""
    ) -> Run:
        row = await tx.one(
            "INSERT INTO run (user_id, id, session_no, assistant_id, model, state, epoch, owner, deadline_at, place) "
            "VALUES (?1, ?2, ?3, ?4, ?5, 'running', 1, ?6, ?7, ?8) RETURNING no",
            user_id,
            new_id(),
            session_no,
            assistant_id,
            model,
            self._liveness.me,
            deadline_at or None,
            self._place,
        )
        assert row is not None
        await tx.run(
            "INSERT INTO run_live (user_id, run_no, state, owner, place) VALUES (?1, ?2, 'running', ?3, ?4)",
            user_id,
            row[0],
            self._liveness.me,
            self._place,
        )
        await keep_answers(tx, user_id, session_no)
        return await find_run(tx, user_id, row[0])

    async def commit(self, run: Run, step: Step) -> Run:
        """Write a step of a run in one transaction, and return the run as it then is.

        A run that waits has no owner until all that it awaits is settled or has expired. A run that is to finish goes
        on running if the person wrote something meanwhile: nothing is written then. The unit may be run again after
        its outcome was in doubt: it is written once.

        Raises:
            LostRun: it is no longer this process's. Nothing is written, unless it was its last step here.
        """
        step, step_id = await self._analyzed(run.call(), step), new_id()

        async def work(tx: Transaction) -> Run:
            if step.state == "finished" and await has_news(tx, run):
                return await find_run(tx, run.user_id, run.no)
            awaited = await self._awaited(tx, run, step)
            if not await self._set_run(tx, run, step, step_id, first_expiry(awaited)):
                return await find_run(tx, run.user_id, run.no)
            await withdraw_pauses(tx, run.user_id, step.withdrawn)
            await clear_awaited(tx, run.user_id, [id for id in step.noted if id not in step.awaited])
            if step.state == "waiting":
                await await_pauses(tx, run.user_id, [pause.id for pause in awaited])
                # What was settled before has nudged a run that did not wait yet: so the row says here what is so now.
                is_nudged = not find_open(awaited) or await has_news(tx, run)
                await set_live(tx, run, "waiting", wake_at=first_expiry(awaited), is_nudged=is_nudged)
            last_seq = await write_step(tx, self._database.dialect, run, step)
            if step.state in ("finished", "failed"):
                await set_end(tx, run, last_seq)
                await clear(tx, run)
            if step.state != "running":
                await tx.notify(run_topic(run))
            return await find_run(tx, run.user_id, run.no)

        written = await self._database.write(work, user_id=run.user_id)
        if self._is_draining and written.state == "running":
            raise LostRun(run.id)  # it is about to be given up; whoever claims it goes on after this step
        return written

    async def _awaited(self, tx: Transaction, run: Run, step: Step) -> list[PauseRecord]:
        """Return the pauses that a run is to wait for."""
        if step.state != "waiting":
            return []
        ids = set(step.awaited)
        own = [pause for pause in await find_pauses(tx, run) if pause.id in ids]
        if not ids or len(own) != len(ids):
            raise ValueError("a run waits for pauses of its own")
        return own

    async def _set_run(self, tx: Transaction, run: Run, step: Step, step_id: str, wake_at: str | None) -> bool:
        usage = step.usage
        return await compare_and_set(
            tx,
            run,
            step_id,
            "state = ?6, owner = CASE WHEN ?6 = 'running' THEN owner ELSE '' END, wake_at = ?7, turn = ?8, "
            "calls = calls + ?9, input_tokens = input_tokens + ?10, output_tokens = output_tokens + ?11, "
            "cost = cost + ?12, tainted = CASE WHEN ?13 = 1 THEN 1 ELSE tainted END, error_code = ?14, error = ?15",
            step.state,
            wake_at,
            run.turn if step.turn is None else step.turn,
            step.ended_calls,
            usage.input_tokens if usage else 0,
            usage.output_tokens if usage else 0,
            (usage.cost or 0.0) if usage else 0.0,
            int(bool(step.shown_origins)),
            step.error_code,
            step.error[:MAX_ERROR_CHARS],
        )

    async def read_news(self, run: Run) -> RunNews:
        """Return what the run's model is to be given before its next request."""

        async def work(tx: Transaction) -> RunNews:
            queued = await find_queued(tx, run.user_id, run.session_id)
            return RunNews(queued, tuple(await find_answered_late(tx, run)))

        return await self._database.read(work, user_id=run.user_id, brief=True)

    async def _analyzed(self, call: Call, step: Step) -> Step:
        return step if self._analysis is None else await self._analysis.add_words(call, step)

    async def cancel(
        self,
        user_id: UserId,
        run_id: str,
        end: Callable[[Run, str, Sequence[str]], Step] | None = None,
    ) -> Run | None:
        """End a run from whatever process, for good; None if there is none that is not over.

        `end` tells of it, given the run as it was, what its model has written of an answer, and the ids of what it had
        open.
        Its owner hears of it by the run's topic, and by its next write, which is refused.
        """

        async def work(tx: Transaction) -> Run | None:
            row = await tx.one(f"{SELECT_RUN} WHERE run.user_id = ?1 AND run.id = ?2", user_id, run_id)
            run = None if row is None else parse_run(row)
            if run is None or run.state not in LIVE_STATES:
                return None
            await tx.run(
                "UPDATE run SET state = 'cancelled', epoch = epoch + 1, owner = '', wake_at = NULL, updated_at = ?3 "
                "WHERE user_id = ?1 AND no = ?2",
                user_id,
                run.no,
                timestamp(),
            )
            written = await read_written(tx, run, run.turn + 1)
            withdrawn = await clear(tx, run, is_stopped=True)
            step = end(run, written, [pause.id for pause in withdrawn]) if end else Step()
            await set_end(tx, run, await write_step(tx, self._database.dialect, run, step))
            await tx.notify(run_topic(run))
            return await find_run(tx, user_id, run.no)

        return await self._database.write(work, user_id=user_id)

    async def look(self) -> Look:
        """Return runs that may be claimed: their owner died or gave them up, they have news, or a pause has expired.

        And sessions in which the person has answered what a run had asked that is over.

        Nothing is lost by not looking: what is to be found stays to be found.
        """
        return await find_claimable(self._database, self._liveness, self.user_id, self.clock.timestamp())

    async def look_in(self, call: Call) -> Look:
        """Do the same for the call's session alone."""
        return await find_claimable_in(self._database, self._liveness, call, self.clock.timestamp())

    def drain(self) -> None:
        """Begin to hand runs over: a step that is written is the last one of its run here."""
        self._is_draining = True

    async def release(self) -> int:
        """Give up all runs of this process, for others to claim at once, and return how many there were.

        Raises:
            Unavailable: the database is away. They are free when this process has ended.
        """
        return await release_runs(self._database, self._liveness, self.user_id)

    async def claim(
        self, candidate: Candidate, events: Callable[[Run], Sequence[NewEvent]] | None = None
    ) -> Run | None:
        """Make this process the owner of a run that a look found, and return it with what it waited for.

        A session whose answers wait for a run gets one, with the assistant and the model of its last. Of several
        processes one gets it, the others None; so do all if it waits for something that is still open,
        unless the person has written something meanwhile; and so do all that work for another user. `events` are
        written in the same unit.
        """
        if candidate.user_id != self.user_id:
            return None
        now = self.clock.timestamp()

        async def start(tx: Transaction) -> Run | None:
            last = await tx.one(FIND_LAST_RUN, candidate.user_id, candidate.session_no)
            if last is None or last[0] in LIVE_STATES or not await has_answers(tx, candidate):
                return None
            run = await self._insert(tx, candidate.user_id, candidate.session_no, *last[1:])
            await mark_used(tx, run.call(), candidate.session_no, "")
            await write_step(tx, self._database.dialect, run, Step(events=events(run) if events else ()))
            await tx.notify(run_topic(run))
            return run

        async def work(tx: Transaction) -> Run | None:
            by_no = f"{SELECT_RUN} WHERE run.user_id = ?1 AND run.no = ?2"
            row = await tx.one(by_no, candidate.user_id, candidate.run_no)
            run = None if row is None else parse_run(row)
            if run is None or run.state not in LIVE_STATES or run.owner != candidate.owner:
                return None
            pauses = await find_awaited(tx, run, now)
            if run.state == "waiting" and find_open(pauses) and not await has_news(tx, run):
                await postpone(tx, run, first_expiry(pauses))
                return None
            count = await tx.run(
                "UPDATE run SET state = 'running', epoch = epoch + 1, owner = ?4, wake_at = NULL, updated_at = ?5, "
                "place = ?6 WHERE user_id = ?1 AND no = ?2 AND epoch = ?3",
                run.user_id,
                run.no,
                run.epoch,
                self._liveness.me,
                timestamp(),
                self._place,
            )
            if not count:
                return None
            settled = [await write_expired(tx, run.user_id, pause.id, now) or pause for pause in pauses]
            await set_live(tx, run, "running", owner=self._liveness.me)
            await set_place(tx, run, self._place)
            claimed = await find_run(tx, run.user_id, run.no)
            was_interrupted, has_moved = run.state == "running", run.place not in ("", self._place)
            claimed = replace(claimed, was_interrupted=was_interrupted, has_moved=has_moved, pauses=tuple(settled))
            await write_step(tx, self._database.dialect, claimed, Step(events=events(claimed) if events else ()))
            await tx.notify(run_topic(claimed))
            return claimed

        return await self._database.write(start if candidate.session_no else work, user_id=candidate.user_id)

    async def get(self, user_id: UserId, run_id: str) -> Run | None:
        """Return a run as it is now."""
        sql = f"{SELECT_RUN} WHERE run.user_id = ?1 AND run.id = ?2"
        rows = await self._database.find(sql, user_id, run_id, user_id=user_id)
        return parse_run(rows[0]) if rows else None

    async def get_live(self, call: Call) -> Run | None:
        """Return the run of the call's session that is not over."""
        live = "run.state IN ('running', 'waiting')"
        sql = f"{SELECT_RUN} WHERE run.user_id = ?1 AND session.id = ?2 AND {live}"
        rows = await self._database.find(sql, call.user_id, call.session, user_id=call.user_id)
        return parse_run(rows[0]) if rows else None

    async def is_held(self, run: Run) -> bool:
        """Tell whether another process that is alive works on a run."""
        return self.is_elsewhere(run) and await self._liveness.is_alive(run.owner)

    def is_elsewhere(self, run: Run) -> bool:
        """Tell whether a run that is running belongs to another process, alive or not."""
        return run.state == "running" and run.owner not in ("", self._liveness.me)

    async def list_live(self, user_id: UserId) -> list[Run]:
        """Return the user's runs that are not over, oldest first: at most one for each session."""
        sql = f"{SELECT_RUN} WHERE run.user_id = ?1 AND run.state IN ('running', 'waiting') ORDER BY run.no"
        return [parse_run(row) for row in await self._database.find(sql, user_id, user_id=user_id)]

    def is_inhabited(self, place: str) -> bool:
        """Tell whether another process that has its files at a place is alive, as far as is known."""
        return self._liveness.is_inhabited(place)

    def listen_deaths(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Hear that a process has gone, whose runs a look may find; call what is returned to stop."""
        return self._liveness.listen(listener)

    def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the topics of the user's runs that have news."""
        return self._database.changes(topic("run", self.user_id))


async def open_run_tables(database: Database) -> None:
    """Make the tables of runs, messages and usage, and those that they need."""
    await EventLog(database).open()
    for migrations in (RUN_MIGRATIONS, JOURNAL_MIGRATIONS, USAGE_MIGRATIONS, OFFER_MIGRATIONS):
        await database.prepare(migrations)
    await PauseStore(database).open()
