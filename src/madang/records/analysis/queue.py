"""One analyzer for the whole process, and the texts that wait for it.

The analyzer is started when the first text waits, ended when none has for a while, and replaced after a failure. A text
that fails twice is split without it into words and pairs of characters, and the log says so: refusing it would leave
the index of its store incomplete for all its other texts, at every attempt.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from madang.core.errors import Unavailable
from madang.core.executor import HasOwner, StopSignal, WorkOwner, WorkStopped
from madang.core.phrases import say
from madang.records.analysis import frames
from madang.records.analysis.analyzer import Analyzer, AnalyzerCannotStart, AnalyzerFailed, TextRefused
from madang.records.analysis.turns import AnalysisJob, AnalysisTurns
from madang.text.search.queries import Query, Term, Tokens

START_S = 60.0
"""Loading takes half a second, and many times that on a busy machine, where the server goes first."""
BATCH_S = 30.0
STOP_POLL_S = 0.1
MAX_STARTS = 2

logger = logging.getLogger(__name__)

_WORDS = re.compile(r"\w+")


class AnalysisQueue:
    """Hands texts to the analyzer in small batches. Use it within one event loop, and `close` it there."""

    def __init__(self, name: str, stop: StopSignal, *, idle_s: float) -> None:
        self._name = name
        self._stop = stop
        self._idle_s = idle_s
        self._turns = AnalysisTurns()
        self._analyzer: Analyzer | None = None
        self._worker: asyncio.Task[None] | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def is_running(self) -> bool:
        """Whether an analyzer is there already."""
        return self._analyzer is not None

    async def tokenize(self, owner: HasOwner, texts: Sequence[str], *, has_hangul: bool) -> list[Tokens]:
        """Return the tokens of each text.

        Raises:
            AnalyzerCannotStart: there is no such process here.
            LimitExceeded, Unavailable: too much waits already, or the dictionary cannot be loaded.
            WorkStopped: the server is closing.
        """
        tokens: list[Tokens] = await self._run(owner, texts, is_query=False, has_hangul=has_hangul)
        return tokens

    async def parse_query(self, owner: HasOwner, text: str, *, has_hangul: bool) -> Query:
        """Return what to search for. Raises as `tokenize` does."""
        query: Query = await self._run(owner, [text], is_query=True, has_hangul=has_hangul)
        return query

    async def close(self) -> None:
        """End the analyzer, and what waits for it."""
        self._stop.set()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._worker is not None:
            self._worker.cancel()
            with suppress(asyncio.CancelledError):
                await self._worker
        await self._end_analyzer()
        if self._ending:
            await asyncio.wait(self._ending)

    async def _run(self, owner: HasOwner, texts: Sequence[str], *, is_query: bool, has_hangul: bool) -> Any:
        self._stop.check()
        future = asyncio.get_running_loop().create_future()
        job = AnalysisJob(WorkOwner(owner.user_id, owner.session_id), texts, is_query, has_hangul, future)
        self._turns.add(job)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work(), name="analysis")
        try:
            return await future
        finally:
            self._turns.discard(job)

    async def _work(self) -> None:
        """Give jobs their turns until none waits."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        try:
            while job := self._turns.next():
                await self._take_turn(job)
        except asyncio.CancelledError:
            self._settle_all(WorkStopped())
        except Exception as error:  # a defect of ours: whoever waits must not wait for ever
            logger.exception("The analysis of texts failed")
            self._settle_all(error)
        finally:
            self._worker = None
            if not self._stop.is_set():
                self._idle_timer = asyncio.get_running_loop().call_later(self._idle_s, self._end_idle)

    async def _take_turn(self, job: AnalysisJob) -> None:
        batch = job.batch()
        try:
            answer = await self._ask(job, batch)
        except AnalyzerCannotStart as error:
            self._settle_all(error)
        except (WorkStopped, Unavailable) as error:
            self._settle(job, error=error)
        except AnalyzerFailed as error:
            self._take_apart(job, batch, error)
        else:
            self._take_answer(job, answer)

    def _take_answer(self, job: AnalysisJob, answer: Query | list[Tokens]) -> None:
        if isinstance(answer, Query):
            self._settle(job, answer)
            return
        job.tokens += answer
        if len(job.tokens) == len(job.texts):
            self._settle(job, job.tokens)

    def _take_apart(self, job: AnalysisJob, batch: Sequence[str], error: AnalyzerFailed) -> None:
        """Try the texts of a failed batch one by one, and one that failed alone without the analyzer."""
        start = len(job.tokens)
        logger.warning("The analysis of %d texts failed: %s", len(batch), error)
        if start >= job.suspects_end:
            job.suspects_end = start + len(batch)
            return
        logger.warning("A text of %d characters is split into pairs instead", len(batch[0]))
        words = pair_words(batch[0])
        answer = Query(tuple(map(Term, dict.fromkeys(words)))) if job.is_query else [Tokens(words, [])]
        self._take_answer(job, answer)

    async def _ask(self, job: AnalysisJob, batch: Sequence[str]) -> Query | list[Tokens]:
        asking = asyncio.create_task(self._exchange(job, batch))
        try:
            # Another thread may tell the server to stop while this waits.
            while not (await asyncio.wait({asking}, timeout=STOP_POLL_S))[0]:
                self._stop.check()
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking})
        self._stop.check()
        return asking.result()

    async def _exchange(self, job: AnalysisJob, batch: Sequence[str]) -> Query | list[Tokens]:
        try:
            analyzer = await self._loaded_analyzer(job.has_hangul)
            kind = frames.QUERY if job.is_query else frames.TOKENS
            answer = await analyzer.ask(kind, frames.pack_texts(batch), BATCH_S)
            return frames.unpack_query(answer) if job.is_query else frames.unpack_tokens(answer, len(batch))
        except TextRefused:
            raise
        except (ValueError, TypeError) as error:
            await self._end_analyzer()
            raise AnalyzerFailed(f"its answer is malformed: {error}") from error
        except (AnalyzerFailed, asyncio.CancelledError):
            await self._end_analyzer()  # it may still be at it
            raise

    async def _loaded_analyzer(self, has_hangul: bool) -> Analyzer:
        if self._analyzer is not None and has_hangul > self._analyzer.has_dictionary:
            await self._end_analyzer()  # a confined process cannot load any more
        failure = None
        for _ in range(MAX_STARTS):
            if self._analyzer is not None:
                return self._analyzer
            self._analyzer = Analyzer(has_dictionary=has_hangul)
            try:
                await self._analyzer.load(self._name, START_S)
            except AnalyzerCannotStart:
                await self._end_analyzer()
                raise
            except AnalyzerFailed as error:
                logger.warning("The analyzer of texts did not start: %s", error)
                await self._end_analyzer()
                failure = error
            else:
                return self._analyzer
        raise _cannot_load() from failure

    async def _end_analyzer(self) -> None:
        analyzer, self._analyzer = self._analyzer, None
        if analyzer is not None:
            task = asyncio.create_task(analyzer.end())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            await asyncio.shield(task)

    def _end_idle(self) -> None:
        if self._worker is None:
            task = asyncio.create_task(self._end_analyzer())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def _settle(self, job: AnalysisJob, result: object = None, *, error: BaseException | None = None) -> None:
        self._turns.discard(job)
        if job.future.done():
            return  # the caller was cancelled
        if error is None:
            job.future.set_result(result)
        else:
            job.future.set_exception(error)

    def _settle_all(self, error: BaseException) -> None:
        while job := self._turns.next():
            self._settle(job, error=error)


def pair_words(text: str) -> list[str]:
    """Return words and, of those that are not ASCII, pairs of characters, in time that only the length decides."""
    words: list[str] = []
    for word in _WORDS.findall(text.casefold()):
        if word.isascii() or len(word) < 3:
            words.append(word[:64])
        else:
            words += [word[i : i + 2] for i in range(len(word) - 1)]
    return words


def _cannot_load() -> Unavailable:
    return Unavailable(
        say("The Korean dictionary of the search cannot be loaded. What was added is kept."),
        hint=say("It takes 300 MB of memory. Call again in a moment, or use 'read_content' to read what is there."),
    )
