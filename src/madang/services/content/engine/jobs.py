"""The work on contents in this process, as panels show it: what takes longer than a moment, and what failed after that.

It is in memory: what another process does shows there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from madang.core.background import Background
from madang.core.errors import MadangError
from madang.services.content.domain.jobs import Job, JobPlace, stopped_by_person

SHOWN_AFTER_S = 0.5
"""What takes less is not told: most of what is added is there at once."""
FAILED_S = 600.0
"""How long a failure is shown, unless the person puts it out of sight."""
MAX_FAILED = 100

ResultT = TypeVar("ResultT")


async def _tell_nobody(place: JobPlace) -> None:
    """For an index without a service around it."""


class Jobs:
    """What is under way. `tell` is called with the place of what has become visible, or has changed after that."""

    def __init__(self, tell: Callable[[JobPlace], Awaitable[None]] = _tell_nobody) -> None:
        self._tell = tell
        self._background = Background()
        self._jobs: dict[str, Job] = {}

    async def close(self) -> None:
        await self._background.close()

    def shown(self, places: Collection[JobPlace]) -> list[Job]:
        """Return what is shown of these places, oldest first."""
        self._forget_failed()
        return [job for job in self._jobs.values() if job.is_shown and job.place in places]

    @contextmanager
    def doing(self, job: Job) -> Iterator[Job]:
        """Have a job known while it is done. It is shown once it has taken a while, and stays if it fails then."""
        for before in list(self._jobs.values()):
            if before.state == "failed" and (before.kind, before.place, before.name) == (job.kind, job.place, job.name):
                del self._jobs[before.id]  # it is tried again
        self._jobs[job.id] = job
        loop = asyncio.get_running_loop()
        timer = loop.call_later(SHOWN_AFTER_S, self._show, job)
        try:
            yield job
        except MadangError as error:
            if not job.is_stopped:
                job.fail(error)
            raise
        finally:
            timer.cancel()
            job.ended_at = loop.time()
            if job.state != "failed" or not job.is_shown:
                self._jobs.pop(job.id, None)
            self._changed(job)

    async def run(self, job: Job, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Return what `work` returns, unless the person stops it meanwhile.

        Raises:
            Conflict: they did.
        """
        task = asyncio.ensure_future(work)
        job.stop = task.cancel
        try:
            return await task
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if job.is_stopped and own is not None and not own.cancelling():
                raise stopped_by_person(job.name) from None
            raise
        finally:
            job.stop = None

    def begin(self, job: Job) -> None:
        """Note that a job waits no longer."""
        job.state = "running"
        self._changed(job)

    def stop(self, place: JobPlace, id: str) -> Job | None:
        """Stop a job, or put one that failed out of sight; None if there is none that can be stopped."""
        job = self._jobs.get(id)
        if job is None or job.place != place or not job.can_stop:
            return None
        if job.state == "failed":
            del self._jobs[id]
            self._changed(job)
        elif job.stop is not None:
            job.is_stopped = True
            job.stop()
        return job

    def _show(self, job: Job) -> None:
        job.is_shown = True
        self._changed(job)

    def _changed(self, job: Job) -> None:
        if job.is_shown:
            self._background.start(self._tell_of(job), f"news of {job.kind} {job.id}")

    async def _tell_of(self, job: Job) -> None:
        with suppress(MadangError):  # a database that is locked: the next change is told with it
            await self._tell(job.place)

    def _forget_failed(self) -> None:
        failed = [job for job in self._jobs.values() if job.state == "failed"]
        now = asyncio.get_running_loop().time()
        for number, job in enumerate(reversed(failed)):
            if number >= MAX_FAILED or now - job.ended_at > FAILED_S:
                del self._jobs[job.id]
