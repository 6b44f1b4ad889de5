"""The thread that writes to an embedded database: group commit, and waiting for a lock that another process holds.

It tries for the lock in short attempts on behalf of all waiting units at once, and between two attempts it refuses
those whose time is over: however long the lock is held, none waits longer because others wait as well.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice

import apsw

from madang.database.port import OPTIONAL_WAIT_S
from madang.database.sqlite.errors import translate_sqlite_error
from madang.database.sqlite.units import Job, SqliteStatements, finish_unit, settle_jobs

MAX_BATCH_WRITES = 64
LOCK_ATTEMPT_S = 0.2


class SqliteWriter:
    """Runs the units of a queue on one connection, until it takes a None.

    `on_notices` is called after notices were committed, with the number of the last one and their topics in order.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        jobs: queue.SimpleQueue[Job | None],
        on_notices: Callable[[int, Sequence[str]], None],
    ) -> None:
        self._connection = connection
        self._jobs = jobs
        self._on_notices = on_notices
        self._waiting: deque[Job] = deque()
        self._locked_since: float | None = None
        """Since when the lock has been seen held by another process, and by no attempt free."""

    def run(self) -> None:
        is_stopping = False
        while not is_stopping or self._waiting:
            is_stopping = is_stopping or self._take_jobs()
            if not self._waiting:
                continue
            try:
                has_lock = self._begin()
            except apsw.Error as error:
                self._refuse(list(islice(self._waiting, MAX_BATCH_WRITES)), error)
                continue
            if has_lock:
                self._write_batch()
        with suppress(apsw.Error):  # a full disk has no room for the last checkpoint; the log holds what was committed
            self._connection.close()

    def _take_jobs(self) -> bool:
        """Take what is in the queue, waiting only if nothing else is to be done; tell whether a None was in it."""
        with suppress(queue.Empty):
            if not self._waiting:
                job = self._jobs.get()
                if job is None:
                    return True
                self._waiting.append(job)
            while True:
                job = self._jobs.get_nowait()
                if job is None:
                    return True
                self._waiting.append(job)
        return False

    def _begin(self) -> bool:
        """Begin a transaction, unless the lock is held: then refuse the units whose time is over, and return False."""
        patience_s = max(map(self._deadline, self._waiting)) - time.monotonic()
        self._connection.set_busy_timeout(int(1000 * max(0.0, min(patience_s, LOCK_ATTEMPT_S))))
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            now = time.monotonic()
            if self._locked_since is None:
                self._locked_since = now
            # A caller that gave up has its unit taken back: it must not be done when nobody expects it any more.
            over = [job for job in self._waiting if self._deadline(job) <= now or job.future.cancelled()]
            self._refuse(over, error)
            return False
        self._locked_since = None
        return True

    def _deadline(self, job: Job) -> float:
        # An optional unit does not wait for a lock that others have waited for long enough already.
        if job.is_optional and self._locked_since is not None:
            return min(job.deadline, self._locked_since + OPTIONAL_WAIT_S)
        return job.deadline

    def _refuse(self, jobs: list[Job], error: Exception) -> None:
        if not jobs:
            return
        for job in jobs:
            job.error = translate_sqlite_error(error)
        refused = set(map(id, jobs))
        self._waiting = deque(job for job in self._waiting if id(job) not in refused)
        settle_jobs(jobs)

    def _write_batch(self) -> None:
        jobs = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_BATCH_WRITES))]
        topics = self._commit(jobs)
        settle_jobs(jobs)
        if topics:
            self._on_notices(self._connection.last_insert_rowid(), topics)

    def _commit(self, jobs: list[Job]) -> list[str]:
        """Run the units of a batch in the transaction that was begun, so that they share one flush to disk.

        Return the topics of the notices, which are the last rows that it writes.

        A savepoint around each keeps a failing unit from taking its neighbours along.
        """
        connection = self._connection
        statements = SqliteStatements(connection)
        try:
            for job in jobs:
                topic_count = len(statements.topics)
                connection.execute("SAVEPOINT unit")
                try:
                    job.result = finish_unit(job.work, statements)
                except Exception as error:
                    job.error = error
                    del statements.topics[topic_count:]
                    if isinstance(error, apsw.Error) and not connection.in_transaction:
                        raise  # SQLite has rolled everything back by itself, as it does when the disk is full
                    connection.execute("ROLLBACK TO unit")
                connection.execute("RELEASE unit")
            topics = list(dict.fromkeys(statements.topics))
            if topics:
                connection.executemany("INSERT INTO notice (topic) VALUES (?1)", [(topic,) for topic in topics])
            connection.execute("COMMIT")
        except Exception as error:  # whatever it is: a writer thread that died would leave every later caller waiting
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for job in jobs:
                if job.error is None or isinstance(job.error, apsw.Error):
                    job.error = translate_sqlite_error(error)
            return []
        for job in jobs:
            if isinstance(job.error, apsw.Error):
                job.error = translate_sqlite_error(job.error)
        return topics
