"""Analysis beside the event loop: what a child does, and what happens when it crashes, hangs or is not needed."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from madang.core.errors import Unavailable
from madang.core.executor import Executor, WorkOwner, WorkStopped
from madang.records.analysis import analysis, analyzer
from madang.records.analysis import queue as analysis_queue
from madang.records.analysis.analysis import MAX_THREAD_CHARS, Analysis
from madang.text.search.queries import Tokens
from madang.text.search.tokens import Tokenizer

OWNER = WorkOwner("ann", "one")
OTHER = WorkOwner("bob", "two")
SENTENCE = "대한민국의 모든 권력은 국민으로부터 나온다. "
DEADLINE_S = 60
"""Far more than anything here takes: a ceiling, not a measurement."""

# An analyzer that dies of one text, never comes back from another, and cannot take a third.
HOSTILE = """
import os, sys, time; sys.path[:] = sys.argv.pop(1).split(os.pathsep)
import madang.records.analysis.analyzer_child as child
class Hostile(child.Tokenizer):
    def _check(self, text):
        if "CRASH" in text: os._exit(9)
        if "HANG" in text: time.sleep(1000)
        if "RAISE" in text: raise ValueError(text)
    def tokens(self, text):
        self._check(text)
        return super().tokens(text)
    def query(self, text):
        self._check(text)
        return super().query(text)
child.Tokenizer = Hostile
child.main()
"""


@pytest.fixture
async def analyzed() -> AsyncIterator[Analysis]:
    analyzed = Analysis(Executor())
    yield analyzed
    await analyzed.close()


@pytest.fixture
async def hostile(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Analysis]:
    monkeypatch.setattr(analyzer, "_START", HOSTILE)
    analyzed = Analysis(Executor())
    yield analyzed
    await analyzed.close()


def child_pid(analyzed: Analysis) -> int | None:
    queue = analyzed._queue
    return queue._analyzer.pid if queue is not None and queue._analyzer is not None else None


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while is_running(pid):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.01)


async def test_tokens_of_the_child_are_those_of_the_tokenizer(analyzed: Analysis) -> None:
    texts = [SENTENCE, "", "plain", "東京都 \ud800 x", unicodedata.normalize("NFD", SENTENCE), SENTENCE * 2_000]
    tokenizer = Tokenizer()

    assert await analyzed.tokenize(OWNER, texts) == [tokenizer.tokens(text) for text in texts]
    for text in ('서울의 "회의 시간이" 서울', "plain words", "은 는"):
        assert await analyzed.parse_query(OWNER, text) == tokenizer.query(text)
    assert analyzed.name == tokenizer.name


async def test_little_text_without_korean_starts_no_child(analyzed: Analysis) -> None:
    assert await analyzed.tokenize(OWNER, ["words"]) == [Tokens(["word"], [])]
    assert await analyzed.tokenize(OWNER, ["words “quoted” " * 1_000]) == [Tokens(["word", "quot"] * 1_000, [])]
    assert (await analyzed.parse_query(OWNER, "crème brûlée")).terms
    assert child_pid(analyzed) is None


async def test_long_text_without_korean_is_analyzed_in_a_child_without_the_dictionary(analyzed: Analysis) -> None:
    (tokens,) = await analyzed.tokenize(OWNER, ["word " * MAX_THREAD_CHARS])
    assert tokens.words == ["word"] * MAX_THREAD_CHARS
    first = child_pid(analyzed)
    assert first is not None
    assert resident_mib(first) < 100

    assert (await analyzed.parse_query(OWNER, "서울에서")).words == ["서울"]
    assert child_pid(analyzed) != first
    assert not is_running(first)


def test_whatever_becomes_korean_goes_to_the_child() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if any("\uac00" <= one <= "\ud7a3" for one in unicodedata.normalize("NFKC", character)):
            assert analysis._has_hangul(character), hex(code)
    assert analysis._has_hangul(unicodedata.normalize("NFD", "값"))


class NoDictionary(Tokenizer):
    """A tokenizer that must not load its dictionary: no other thread of its process would run meanwhile."""

    def _load(self) -> None:
        raise AssertionError("the dictionary is loaded in the server")


async def test_the_first_korean_does_not_stop_the_event_loop() -> None:
    analyzed = Analysis(Executor(), NoDictionary())
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.process_time()  # what this process did meanwhile, however busy the machine is
            await asyncio.sleep(0.005)
            longest = max(longest, time.process_time() - before)

    watching = asyncio.create_task(watch())
    await analyzed.parse_query(OWNER, "서울에서")
    await analyzed.tokenize(OWNER, [SENTENCE * 30] * 500)
    watching.cancel()
    await analyzed.close()

    assert longest < 1


async def test_a_query_overtakes_many_texts(analyzed: Analysis) -> None:
    await analyzed.parse_query(OWNER, "서울")
    bulk = asyncio.create_task(analyzed.tokenize(OWNER, [SENTENCE * 30] * 3_000))
    await asyncio.sleep(0.05)

    for _ in range(3):
        assert (await analyzed.parse_query(OTHER, "국민의 권력")).words == ["국민", "권력"]
    assert not bulk.done()
    assert (await analyzed.tokenize(OTHER, [SENTENCE]))[0].words
    assert not bulk.done(), "a session with one text waits for no session with many"
    bulk.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bulk


async def test_a_cancelled_call_leaves_the_child_to_others(analyzed: Analysis) -> None:
    await analyzed.parse_query(OWNER, "서울")
    pid = child_pid(analyzed)
    bulk = asyncio.create_task(analyzed.tokenize(OWNER, [SENTENCE * 30] * 3_000))
    await asyncio.sleep(0.05)
    bulk.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bulk

    async with asyncio.timeout(DEADLINE_S):
        assert (await analyzed.parse_query(OTHER, "서울")).words == ["서울"]
    assert child_pid(analyzed) == pid


@pytest.mark.parametrize("harm", ["CRASH", "RAISE", "HANG"])
async def test_a_text_that_fails_twice_becomes_pairs_and_its_neighbours_stay_whole(
    hostile: Analysis, harm: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(analysis_queue, "BATCH_S", 1.0)
    texts = ["서울에서 running", f"올림픽이 {harm}", "대한민국은 running"]

    with caplog.at_level(logging.WARNING):
        tokens = await hostile.tokenize(OWNER, texts)

    assert [one.words for one in tokens] == [
        Tokenizer().tokens(texts[0]).words,
        ["올림", "림픽", "픽이", harm.lower()],
        Tokenizer().tokens(texts[2]).words,
    ]
    assert "split into pairs" in caplog.text
    assert "올림" not in caplog.text
    assert (await hostile.parse_query(OWNER, f"올림픽이 {harm}")).words == ["올림", "림픽", "픽이", harm.lower()]
    assert (await hostile.parse_query(OWNER, "서울에서")).words == ["서울"]


async def test_a_child_that_is_killed_is_replaced_and_nothing_is_lost(analyzed: Analysis) -> None:
    await analyzed.parse_query(OWNER, "서울")
    pid = child_pid(analyzed)
    assert pid is not None
    texts = [SENTENCE * 30] * 300
    bulk = asyncio.create_task(analyzed.tokenize(OWNER, texts))
    await asyncio.sleep(0.05)
    os.kill(pid, signal.SIGKILL)

    assert await bulk == [Tokenizer().tokens(texts[0])] * 300
    assert child_pid(analyzed) not in (pid, None)


async def test_a_child_without_work_is_ended_and_started_again() -> None:
    analyzed = Analysis(Executor(), idle_s=0.05)
    try:
        for _ in range(2):
            assert (await analyzed.parse_query(OWNER, "서울에서")).words == ["서울"]
            pid = child_pid(analyzed)
            assert pid is not None
            await until_gone(pid)
            assert child_pid(analyzed) is None
    finally:
        await analyzed.close()


async def test_closing_ends_the_child_and_what_waits_for_it(hostile: Analysis) -> None:
    await hostile.parse_query(OWNER, "서울")
    pid = child_pid(hostile)
    assert pid is not None
    waiting = [asyncio.create_task(hostile.tokenize(OWNER, ["HANG 서울"])) for _ in range(3)]
    await asyncio.sleep(0.05)

    await hostile.close()

    assert not is_running(pid)
    for task in waiting:
        with pytest.raises(WorkStopped):
            await task
    with pytest.raises(WorkStopped):
        await hostile.parse_query(OWNER, "서울")


async def test_work_ends_when_the_executor_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer, "_START", HOSTILE)
    executor = Executor()
    analyzed = Analysis(executor)
    waiting = asyncio.create_task(analyzed.tokenize(OWNER, ["HANG 서울"]))
    await asyncio.sleep(0.2)

    executor.stop()

    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(WorkStopped):
            await waiting
    await analyzed.close()


@pytest.mark.parametrize("start", ["raise SystemExit(1)", "import os; os.abort()"])
async def test_where_no_child_can_be_started_a_thread_does_it(
    start: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, analyzed: Analysis
) -> None:
    monkeypatch.setattr(analyzer, "_START", start)

    answers = await asyncio.gather(*(analyzed.parse_query(OWNER, "서울에서") for _ in range(3)))
    (tokens,) = await analyzed.tokenize(OWNER, ["서울에서"])

    assert [answer.words for answer in answers] == [["서울"]] * 3
    assert tokens.words == ["서울"]
    assert caplog.text.count("are analyzed in this process") == 1


async def test_no_process_at_all_is_the_same(monkeypatch: pytest.MonkeyPatch, analyzed: Analysis) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert (await analyzed.parse_query(OWNER, "서울에서")).words == ["서울"]


async def test_a_child_with_another_tokenizer_is_not_used(monkeypatch: pytest.MonkeyPatch, analyzed: Analysis) -> None:
    other = HOSTILE.replace("class Hostile", "child.Tokenizer.name = 'other'\nclass Hostile")
    monkeypatch.setattr(analyzer, "_START", other)
    assert (await analyzed.parse_query(OWNER, "서울에서")).words == ["서울"]
    assert child_pid(analyzed) is None


async def test_a_dictionary_that_kills_the_child_is_not_loaded_into_the_server(
    monkeypatch: pytest.MonkeyPatch, analyzed: Analysis
) -> None:
    monkeypatch.setattr(analyzer, "_START", HOSTILE.replace("CRASH", "한국어"))

    with pytest.raises(Unavailable, match="dictionary"):
        await analyzed.parse_query(OWNER, "서울에서")
    assert (await analyzed.parse_query(OWNER, "plain")).words == ["plain"]


async def test_the_child_has_nothing_of_ours(analyzed: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MADANG_TOKEN", "secret")
    with open(os.devnull) as file:
        os.set_inheritable(file.fileno(), True)
        await analyzed.parse_query(OWNER, "서울")
    pid = child_pid(analyzed)

    assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    assert sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2"]
    limits = Path(f"/proc/{pid}/limits").read_text()
    assert [line.split()[-3:-1] for line in limits.splitlines() if line.startswith("Max open files")] == [["3", "3"]]


async def test_memory_goes_back_after_much_work() -> None:
    analyzed = Analysis(Executor(), idle_s=0.2)
    try:
        await analyzed.parse_query(OWNER, "서울")
        before = resident_mib(os.getpid())
        for number in range(5):
            await analyzed.tokenize(OWNER, [f"{number} {SENTENCE * 30}"] * 500)
        pid = child_pid(analyzed)
        assert pid is not None
        assert resident_mib(pid) < 400
        await until_gone(pid)
        assert resident_mib(os.getpid()) - before < 100
    finally:
        await analyzed.close()


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
