"""Runs in the database: one owner at a time, by compare-and-set on the epoch.

Every write of a run requires its epoch and that it is running; if that changes no row, nothing of the unit is written.
So liveness may err: an owner that was taken for dead writes nothing more. What a step changes and the events that tell
of it are one unit. Units lock rows in one order: run, pause, run_live, session.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from madang.core.calls import Call
from madang.core.ids import UserId, new_id
from madang.storage.clock import timestamp
from madang.storage.database import Database, Transaction
from madang.storage.events import EventLog, NewEvent
from madang.storage.liveness import Liveness
from madang.storage.pauses import PauseStore, await_pauses, clear_awaited, write_expired
from madang.storage.runs.deltas import read_written
from madang.storage.runs.journal import (
    NO_ROWS,
    JournalRows,
    RunNews,
    find_queued,
)
from madang.storage.runs.journal_tables import JOURNAL_MIGRATIONS
from madang.storage.runs.live import check_no_live_run
from madang.storage.runs.records import LIVE_STATES, SELECT_RUN, Candidate, Run, RunState, parse_run
from madang.storage.runs.rows import (
    FIND_DUE,
    FIND_IN_SESSION,
    FIND_NUDGED,
    FIND_OWNED,
    FIND_OWNERS,
    clear,
    compare_and_set,
    find_answered_late,
    find_awaited,
    find_open,
    find_pauses,
    find_run,
    first_expiry,
    has_news,
    mark_used,
    postpone,
    set_end,
    set_live,
    write_step,
)
from madang.storage.runs.tables import RUN_MIGRATIONS
from madang.storage.runs.usage import USAGE_MIGRATIONS
from madang.storage.runs.words import MessageAnalysis
from madang.storage.sessions import ensure_ready_session, taint_session
from madang.storage.subscriptions import topic

MAX_CANDIDATES = 64
MAX_ERROR_CHARS = 2000


class RunStore:
    """Runs in the database, and this process as their owner."""

    def __init__(self, database: Database, liveness: Liveness, analysis: MessageAnalysis | None = None) -> None:
        """Keep runs of a database. Without an `analysis`, messages get their words from the first search."""
        self._database = database
        self._liveness = liveness
        self._analysis = analysis

    async def open(self) -> None:
        """Make the tables, and this process an owner."""
        await open_run_tables(self._database)
        await self._liveness.open()

    async def start(
        self,
        call: Call,
        events: Sequence[NewEvent],
        *,
        model: str = "",
        title: str = "",
        deadline_at: str = "",
        rows: JournalRows = NO_ROWS,
        began: Callable[[Run], NewEvent] | None = None,
    ) -> Run:
        """Start a run in the call's session, with this process as its owner. `began` tells of it, before `events`.

        A session without messages gets the `title`, unless it has one.

        Raises:
            Conflict: the session has one that is not over, or is being deleted.
        """
        id, me = new_id(), self._liveness.me
        rows = await self._analyzed(call, rows)

        async def work(tx: Transaction) -> Run:
            session_no = await ensure_ready_session(tx, call)
            await check_no_live_run(tx, call.user_id, session_no)
            row = await tx.one(
                "INSERT INTO run (user_id, id, session_no, assistant_id, model, state, epoch, owner, deadline_at) "
                "VALUES (?1, ?2, ?3, ?4, ?5, 'running', 1, ?6, ?7) RETURNING no",
                call.user_id,
                id,
                session_no,
                call.assistant_id or "",
                model,
                me,
                deadline_at or None,
            )
            assert row is not None
            await tx.run(
                "INSERT INTO run_live (user_id, run_no, state, owner) VALUES (?1, ?2, 'running', ?3)",
                call.user_id,
                row[0],
                me,
            )
            run = await find_run(tx, call.user_id, row[0])
            first = [began(run)] if began else []
            await mark_used(tx, call, session_no, title)
            await write_step(tx, self._database.dialect, run, [*first, *events], rows, 0, skip=len(first))
            await tx.notify(run_topic(run))
            return run

        return await self._database.write(work, user_id=call.user_id)

    async def save(
        self,
        run: Run,
        events: Sequence[NewEvent] = (),
        *,
        turn: int | None = None,
        calls: int = 0,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost: float = 0.0,
        is_tainted: bool = False,
        noted: Sequence[str] = (),
        rows: JournalRows = NO_ROWS,
    ) -> Run:
        """Write what one step of a run changes, and return it as it then is. Counts are added to what is there.

        `noted` are the ids of pauses whose outcome is kept by this step: a next owner is not told of them again.

        Raises:
            LostRun: it is no longer this process's. Nothing is written.
        """
        rows = await self._analyzed(run.call(), rows)

        async def work(tx: Transaction) -> Run:
            await compare_and_set(
                tx,
                run,
                "turn = ?5, calls = calls + ?6, input_tokens = input_tokens + ?7, output_tokens = output_tokens + ?8, "
                "cost = cost + ?9, tainted = CASE WHEN ?10 = 1 THEN 1 ELSE tainted END",
                run.turn if turn is None else turn,
                calls,
                input_tokens,
                output_tokens,
                cost,
                int(is_tainted),
            )
            if is_tainted and not run.is_tainted:
                await taint_session(tx, run.call())
            await clear_awaited(tx, run.user_id, noted)
            await write_step(tx, self._database.dialect, run, events, rows, run.turn if turn is None else turn)
            return await find_run(tx, run.user_id, run.no)

        return await self._database.write(work, user_id=run.user_id)

    async def wait(
        self,
        run: Run,
        pause_ids: Sequence[str],
        events: Sequence[NewEvent] = (),
        *,
        noted: Sequence[str] = (),
        rows: JournalRows = NO_ROWS,
    ) -> Run:
        """Let a run wait until all these pauses of it are settled or have expired. It has no owner meanwhile.

        Raises:
            LostRun: it is no longer this process's. Nothing is written.
        """
        ids = list(dict.fromkeys(pause_ids))

        async def work(tx: Transaction) -> Run:
            own = [pause for pause in await find_pauses(tx, run) if pause.id in ids]
            if not ids or len(own) != len(ids):
                raise ValueError("a run waits for pauses of its own")
            wake_at = first_expiry(own)
            await compare_and_set(tx, run, "state = 'waiting', owner = '', wake_at = ?5", wake_at)
            await clear_awaited(tx, run.user_id, [id for id in noted if id not in ids])
            await await_pauses(tx, run.user_id, ids)
            # What was settled before has nudged a run that did not wait yet: so the row says here what is so now.
            is_nudged = not find_open(own) or await has_news(tx, run)
            await set_live(tx, run, "waiting", wake_at=wake_at, is_nudged=is_nudged)
            await write_step(tx, self._database.dialect, run, events, rows, run.turn)
            await tx.notify(run_topic(run))
            return await find_run(tx, run.user_id, run.no)

        return await self._database.write(work, user_id=run.user_id)

    async def finish(self, run: Run, events: Sequence[NewEvent] = (), *, rows: JournalRows = NO_ROWS) -> Run:
        """End a run that did what it should; what it still has open is withdrawn.

        If the person wrote something meanwhile, nothing is done: the run that is returned is still running.

        Raises:
            LostRun: it is no longer this process's. Nothing is written.
        """
        return await self._end(run, "finished", events, rows=await self._analyzed(run.call(), rows))

    async def fail(self, run: Run, code: str, error: str, events: Sequence[NewEvent] = ()) -> Run:
        """End a run that cannot go on; what it still has open is withdrawn.

        Raises:
            LostRun: it is no longer this process's. Nothing is written.
        """
        return await self._end(run, "failed", events, code, error[:MAX_ERROR_CHARS])

    async def _end(
        self,
        run: Run,
        state: RunState,
        events: Sequence[NewEvent],
        code: str = "",
        error: str = "",
        rows: JournalRows = NO_ROWS,
    ) -> Run:
        async def work(tx: Transaction) -> Run:
            if state == "finished" and await has_news(tx, run):
                return await find_run(tx, run.user_id, run.no)
            changes = "state = ?5, owner = '', wake_at = NULL, error_code = ?6, error = ?7"
            await compare_and_set(tx, run, changes, state, code, error)
            last_seq = await write_step(tx, self._database.dialect, run, events, rows, run.turn)
            await set_end(tx, run, last_seq)
            await clear(tx, run)
            await tx.notify(run_topic(run))
            return await find_run(tx, run.user_id, run.no)

        return await self._database.write(work, user_id=run.user_id)

    async def read_news(self, run: Run) -> RunNews:
        """Return what the run's model is to be given before its next request."""

        async def work(tx: Transaction) -> RunNews:
            queued = await find_queued(tx, run.user_id, run.session_id)
            return RunNews(queued, tuple(await find_answered_late(tx, run)))

        return await self._database.read(work, user_id=run.user_id, brief=True)

    async def _analyzed(self, call: Call, rows: JournalRows) -> JournalRows:
        return rows if self._analysis is None else await self._analysis.add_words(call, rows)

    async def cancel(
        self,
        user_id: UserId,
        run_id: str,
        end: Callable[[Run, str], tuple[Sequence[NewEvent], JournalRows]] | None = None,
    ) -> Run | None:
        """End a run from whatever process, for good; None if there is none that is not over.

        `end` tells of it, given the run as it was, and what its model has written of an answer.
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
            await clear(tx, run)
            events, rows = end(run, written) if end else ((), NO_ROWS)
            await set_end(tx, run, await write_step(tx, self._database.dialect, run, events, rows, run.turn))
            await tx.notify(run_topic(run))
            return await find_run(tx, user_id, run.no)

        return await self._database.write(work, user_id=user_id)

    async def look(self) -> list[Candidate]:
        """Return runs that may be claimed, in random order: their owner died, they have news, or a pause has expired.

        Nothing is lost by not looking: what is to be found stays to be found. It is about all users.
        """
        owners = [row[0] for row in await self._database.find(FIND_OWNERS)]
        dead = sorted(await self._liveness.find_dead(owners))[:MAX_CANDIDATES]
        queries = [FIND_NUDGED, FIND_DUE]
        if dead:
            queries.append(FIND_OWNED.format(owners=", ".join(f"?{number}" for number in range(2, len(dead) + 2))))
        each = (f"SELECT * FROM ({sql} LIMIT {MAX_CANDIDATES}) AS part" for sql in queries)
        rows = await self._database.find(" UNION ALL ".join(each), timestamp(), *dead)
        candidates = [Candidate(*row) for row in dict.fromkeys(rows)]
        random.shuffle(candidates)
        return candidates

    async def look_in(self, call: Call) -> list[Candidate]:
        """Do the same for the call's session alone."""
        rows = await self._database.find(FIND_IN_SESSION, call.user_id, call.session, timestamp(), user_id=call.user_id)
        dead = await self._liveness.find_dead([owner for _, _, owner in rows if owner])
        return [Candidate(*row) for row in rows if not row[2] or row[2] in dead]

    async def claim(
        self, candidate: Candidate, events: Callable[[Run], Sequence[NewEvent]] | None = None
    ) -> Run | None:
        """Make this process the owner of a run that a look found, and return it with what it waited for.

        Of several processes one gets it, the others None; so do all if it waits for something that is still open,
        unless the person has written something meanwhile. `events` are written in the same unit.
        """

        async def work(tx: Transaction) -> Run | None:
            by_no = f"{SELECT_RUN} WHERE run.user_id = ?1 AND run.no = ?2"
            row = await tx.one(by_no, candidate.user_id, candidate.run_no)
            run = None if row is None else parse_run(row)
            if run is None or run.state not in LIVE_STATES or run.owner != candidate.owner:
                return None
            pauses = await find_awaited(tx, run)
            if run.state == "waiting" and find_open(pauses) and not await has_news(tx, run):
                await postpone(tx, run, first_expiry(pauses))
                return None
            count = await tx.run(
                "UPDATE run SET state = 'running', epoch = epoch + 1, owner = ?4, wake_at = NULL, updated_at = ?5 "
                "WHERE user_id = ?1 AND no = ?2 AND epoch = ?3",
                run.user_id,
                run.no,
                run.epoch,
                self._liveness.me,
                timestamp(),
            )
            if not count:
                return None
            settled = [await write_expired(tx, run.user_id, pause.id) or pause for pause in pauses]
            await set_live(tx, run, "running", owner=self._liveness.me)
            claimed = await find_run(tx, run.user_id, run.no)
            claimed = replace(claimed, was_interrupted=run.state == "running", pauses=tuple(settled))
            await write_step(
                tx, self._database.dialect, claimed, events(claimed) if events else (), NO_ROWS, claimed.turn
            )
            await tx.notify(run_topic(claimed))
            return claimed

        return await self._database.write(work, user_id=candidate.user_id)

    async def next_wake_at(self) -> str:
        """Return when a look is worth it even if nothing changes: the next expiry that a run waits for, or empty."""
        sql = "SELECT min(wake_at) AS wake_at FROM run_live WHERE owner = '' AND wake_at IS NOT NULL"
        rows = await self._database.find(sql)
        return rows[0][0] or ""

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

    def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the topics of runs, of all users, that have news."""
        return self._database.changes(topic("run"))


async def open_run_tables(database: Database) -> None:
    """Make the tables of runs, messages and usage, and those that they need."""
    await EventLog(database).open()
    for migrations in (RUN_MIGRATIONS, JOURNAL_MIGRATIONS, USAGE_MIGRATIONS):
        await database.prepare(migrations)
    await PauseStore(database).open()


def run_topic(run: Run) -> str:
    return topic("run", run.user_id, run.session_id, run.id)
