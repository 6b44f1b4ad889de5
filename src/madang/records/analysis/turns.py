"""Whose texts are analyzed next: queries before texts, users and their sessions in turn. Pure."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from madang.core.executor import MAX_QUEUED, MAX_QUEUED_PER_SESSION, WorkOwner, session_busy, too_busy
from madang.text.search.queries import Tokens

MAX_BATCH_CHARS = 16_000
"""Up to 48 KB, and some 20 ms of the analyzer: no query waits longer for the texts before it."""
MAX_QUERIES_IN_A_ROW = 16


@dataclass(slots=True, eq=False)
class AnalysisJob:
    """Texts of one call, of which a batch is analyzed at a time; or its query."""

    owner: WorkOwner
    texts: Sequence[str]
    is_query: bool
    has_hangul: bool
    future: Any
    """Settled with a list of tokens, or with a query."""
    tokens: list[Tokens] = field(default_factory=list)
    suspects_end: int = 0
    """Texts before this one were in a batch that failed: they are tried again one by one."""

    def batch(self) -> Sequence[str]:
        """Return the next texts: at least one, and not much more than `MAX_BATCH_CHARS`."""
        start = len(self.tokens)
        if start < self.suspects_end:
            return self.texts[start : start + 1]
        end, chars = start, 0
        while end < len(self.texts) and (end == start or chars + len(self.texts[end]) <= MAX_BATCH_CHARS):
            chars += len(self.texts[end])
            end += 1
        return self.texts[start:end]


class _Rotation:
    """Jobs by user and session: each user in turn, and of a user each session."""

    def __init__(self) -> None:
        self.count = 0
        self._users: OrderedDict[str, OrderedDict[WorkOwner, deque[AnalysisJob]]] = OrderedDict()

    def add(self, job: AnalysisJob) -> None:
        sessions = self._users.setdefault(job.owner.user_id, OrderedDict())
        jobs = sessions.setdefault(job.owner, deque())
        if len(jobs) >= MAX_QUEUED_PER_SESSION:
            raise session_busy()
        jobs.append(job)
        self.count += 1

    def discard(self, job: AnalysisJob) -> None:
        sessions = self._users.get(job.owner.user_id, OrderedDict())
        jobs = sessions.get(job.owner, deque())
        if job not in jobs:
            return
        jobs.remove(job)
        self.count -= 1
        if not jobs:
            del sessions[job.owner]
        if not sessions:
            del self._users[job.owner.user_id]

    def next(self) -> AnalysisJob | None:
        """Return the first job of the next user's next session. It stays until it is discarded."""
        if not self._users:
            return None
        user_id, sessions = next(iter(self._users.items()))
        owner, jobs = next(iter(sessions.items()))
        self._users.move_to_end(user_id)
        sessions.move_to_end(owner)
        return jobs[0]


class AnalysisTurns:
    """What waits for the analyzer. Texts get a turn after many queries, so that these cannot keep them from it."""

    def __init__(self) -> None:
        self._queries, self._texts = _Rotation(), _Rotation()
        self._queries_in_a_row = 0

    def add(self, job: AnalysisJob) -> None:
        """Let a job wait for its turns.

        Raises:
            LimitExceeded, Unavailable: too much waits already.
        """
        if self._queries.count + self._texts.count >= MAX_QUEUED:
            raise too_busy()
        (self._queries if job.is_query else self._texts).add(job)

    def discard(self, job: AnalysisJob) -> None:
        """Forget a job that is done, or not wanted any more."""
        (self._queries if job.is_query else self._texts).discard(job)

    def next(self) -> AnalysisJob | None:
        """Return the job whose turn it is, or None. It stays until it is discarded."""
        query_first = self._queries_in_a_row < MAX_QUERIES_IN_A_ROW
        self._queries_in_a_row += 1
        if query_first and (job := self._queries.next()):
            return job
        self._queries_in_a_row = 0
        return self._texts.next() or self._queries.next()
