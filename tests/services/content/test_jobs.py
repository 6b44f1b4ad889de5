"""What takes a while is in the state of the service: read files and indexes, queued, running and failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from madang.core.errors import InvalidArguments
from madang.core.phrases import say
from madang.services.content.context import ContentState, JobInState
from madang.services.content.engine.following import IndexFollower
from madang.services.content.engine.parsing import Parsed, Parser
from tests.asking import Asker
from tests.services.content.contents import EMBEDDED

PDF = "data:application/pdf;base64,"


class SlowParser:
    """In the place of the parser: it begins and ends when it is told."""

    def __init__(self) -> None:
        self.may_begin, self.may_end = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None
        self.was_cancelled = False

    async def parse(self, data: bytes, *, begin: Callable[[], None], **options: Any) -> Parsed:
        try:
            await self.may_begin.wait()
            begin()
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        if self.error is not None:
            raise self.error
        return Parsed("What it says", "text/plain", "utf-8")


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> SlowParser:
    slow = SlowParser()
    monkeypatch.setattr(Parser, "parse", slow.parse)
    monkeypatch.setattr("madang.services.content.engine.jobs.SHOWN_AFTER_S", 0.01)
    return slow


class Watch:
    """The jobs of a session, as they are told."""

    def __init__(self, asker: Asker) -> None:
        self._contexts = asker.provider.watch_contexts(asker.call)

    async def __aenter__(self) -> Watch:
        await anext(self._contexts)
        return self

    async def __aexit__(self, *_: object) -> None:
        async with aclosing(self._contexts):
            pass

    async def until(self, fits: Callable[[list[JobInState]], bool]) -> list[JobInState]:
        async with asyncio.timeout(30):
            async for changed in self._contexts:
                state = changed["content"].structured_state
                assert isinstance(state, ContentState)
                if fits(state.jobs):
                    return state.jobs
        raise EOFError


def is_in(state: str) -> Callable[[list[JobInState]], bool]:
    return lambda jobs: [job.state for job in jobs] == [state]


def add(asker: Asker) -> asyncio.Task[Any]:
    return asyncio.create_task(asker.ask("add_content", fileUrl="data:,x", metadata={"filename": "보고서.pdf"}))


async def test_a_file_that_is_read_is_told_from_the_queue_to_its_end(asker: Asker, parser: SlowParser) -> None:
    async with Watch(asker) as watch:
        adding = add(asker)
        [queued] = await watch.until(is_in("queued"))
        parser.may_begin.set()
        [running] = await watch.until(is_in("running"))
        parser.may_end.set()
        await watch.until(lambda jobs: not jobs)
        assert not (await adding).is_error

    assert (queued.kind, queued.name, queued.can_stop) == ("reading", "보고서.pdf", True)
    assert (running.job_id, running.started_at) == (queued.job_id, queued.started_at)


@pytest.mark.parametrize("is_begun", [False, True])
async def test_the_person_stops_the_reading_and_nothing_is_kept(
    asker: Asker, parser: SlowParser, is_begun: bool
) -> None:
    async with Watch(asker) as watch:
        adding = add(asker)
        if is_begun:
            parser.may_begin.set()
        [job] = await watch.until(is_in("running" if is_begun else "queued"))
        other = asker.with_call(session_id="another")
        assert (await other.done("stop_adding", jobId=job.job_id)).data["success"] is False
        assert (await asker.done("stop_adding", jobId=job.job_id)).data["success"] is True
        reply = await adding
        await watch.until(lambda jobs: not jobs)

    assert (reply.error_code, parser.was_cancelled) == ("conflict", True)
    assert (await asker.done("list_content")).data["total"] == 0


async def test_a_call_that_is_cancelled_takes_its_job_along(asker: Asker, parser: SlowParser) -> None:
    async with Watch(asker) as watch:
        adding = add(asker)
        await watch.until(is_in("queued"))
        adding.cancel()
        await asyncio.wait({adding})
        await watch.until(lambda jobs: not jobs)

    assert (adding.cancelled(), parser.was_cancelled) == (True, True)


async def test_a_failure_is_told_in_the_language_of_the_session_until_it_is_put_away(
    asker: Asker, parser: SlowParser
) -> None:
    asker = asker.with_call(locale="ko")
    parser.error = InvalidArguments(say("There is no such upload."))
    parser.may_begin.set()
    async with Watch(asker) as watch:
        adding = add(asker)
        await watch.until(is_in("running"))
        parser.may_end.set()
        [failed] = await watch.until(is_in("failed"))
        assert (await adding).error_code == "invalid_arguments"
        assert (await asker.done("stop_adding", jobId=failed.job_id)).data["success"] is True
        await watch.until(lambda jobs: not jobs)

    assert any("가" <= letter <= "힣" for letter in failed.error)
    assert failed.can_stop


async def test_what_is_there_at_once_is_no_job(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madang.services.content.engine.jobs.SHOWN_AFTER_S", 30.0)
    await asker.done("add_content", content="Tea")
    assert (await asker.ask("add_content", fileUrl=PDF)).is_error

    state = (await asker.provider.service_contexts(asker.call))["content"].structured_state
    assert isinstance(state, ContentState)
    assert state.jobs == []


@pytest.mark.parametrize("asker", EMBEDDED, indirect=True)
async def test_an_index_that_takes_a_while_is_told(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madang.services.content.engine.jobs.SHOWN_AFTER_S", 0.01)
    may_end, step = asyncio.Event(), IndexFollower._step

    async def wait(self: IndexFollower) -> bool:
        await may_end.wait()
        return await step(self)

    monkeypatch.setattr(IndexFollower, "_step", wait)
    async with Watch(asker) as watch:
        await asker.done("add_content", content="Tea")
        [job] = await watch.until(is_in("running"))
        may_end.set()
        await watch.until(lambda jobs: not jobs)

    assert (job.kind, job.name, job.can_stop) == ("indexing", "", False)
