"""The processes that read: how they die, and that none stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from anyio import CancelScope, create_task_group, fail_after
from anyio.lowlevel import checkpoint

from madang.core.errors import InvalidArguments, LimitExceeded, Unavailable
from madang.services.content.engine.parsing import Parsed, Parser, children
from tests.documents import docx, pdf_of_pages
from tests.services.content.parsing.processes import children as readers
from tests.services.content.parsing.processes import confined, is_gone

LONG = pdf_of_pages(15_000)
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHORT = docx(["짧은 글"])


@pytest.fixture(autouse=True)
async def nobody_stays(parser: Parser) -> AsyncIterator[None]:
    """Whatever a test does: after `close` there is no process, not even a zombie."""
    yield
    await parser.close()
    assert readers() == set()


async def reading(count: int = 1) -> set[int]:
    """Wait until so many documents are being read."""
    while len(pids := readers()) < count:
        await checkpoint()
    for pid in pids:
        await confined(pid)
    return pids


async def refused(parser: Parser, errors: list[Exception], data: bytes = LONG) -> None:
    try:
        await parser.parse(data, filename="긴 글.pdf")
    except (Unavailable, LimitExceeded, InvalidArguments) as error:
        errors.append(error)


async def test_a_child_killed_from_outside_is_an_error_that_says_so_and_the_next_works(parser: Parser) -> None:
    errors: list[Exception] = []
    with fail_after(60):
        async with create_task_group() as tasks:
            tasks.start_soon(refused, parser, errors)
            (pid,) = await reading()
            os.kill(pid, signal.SIGKILL)

        assert [(type(error), "stopped from outside" in str(error)) for error in errors] == [(Unavailable, True)]
        assert is_gone(pid)
        assert (await parser.parse(SHORT, filename="a.docx")).text == "짧은 글\n"


@pytest.mark.parametrize("sign", [signal.SIGSEGV, signal.SIGBUS])
async def test_a_child_that_crashes_means_a_broken_file(parser: Parser, sign: signal.Signals) -> None:
    errors: list[Exception] = []
    with fail_after(60):
        async with create_task_group() as tasks:
            tasks.start_soon(refused, parser, errors)
            os.kill((await reading()).pop(), sign)

    assert [(type(error), "is broken" in str(error)) for error in errors] == [(InvalidArguments, True)]


async def test_a_cancelled_caller_leaves_no_child(parser: Parser) -> None:
    stopped: set[int] = set()
    with fail_after(60):
        async with create_task_group() as tasks:
            with CancelScope() as scope:
                tasks.start_soon(cancel_once_reading, scope, stopped)
                await parser.parse(LONG, filename="a.pdf")
        assert scope.cancelled_caught
        await gone(stopped)
        assert (await parser.parse(SHORT, filename="a.docx")).text == "짧은 글\n"


async def cancel_once_reading(scope: CancelScope, stopped: set[int]) -> None:
    """Cancel, with a child that would never end by itself."""
    for pid in await reading():
        os.kill(pid, signal.SIGSTOP)
        stopped.add(pid)
    scope.cancel()


async def gone(pids: set[int]) -> None:
    """Wait until these are gone; those that are not are ended here, so that the test fails and nothing else hangs."""
    try:
        with fail_after(60):
            while not all(is_gone(pid) for pid in pids):
                await checkpoint()
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def test_a_caller_cancelled_while_it_waits_its_turn_leaves_the_others(parser: Parser) -> None:
    errors: list[Exception] = []
    with fail_after(60):
        async with create_task_group() as tasks:
            tasks.start_soon(refused, parser, errors)
            tasks.start_soon(refused, parser, errors)
            pids = await reading(2)
            with CancelScope() as scope:
                async with create_task_group() as waiting:
                    waiting.start_soon(refused, parser, errors)
                    await checkpoint()
                    scope.cancel()
            # No third one was started for it.
            assert readers() == pids
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    assert len(errors) == 2


async def test_the_spare_reads_the_next_document_and_is_replaced(parser: Parser) -> None:
    with fail_after(60):
        await parser.parse(SHORT, filename="a.docx")
        while not (spares := readers()):
            await checkpoint()
        assert await parser.parse(SHORT, filename="a.docx") == Parsed("짧은 글\n", DOCX, "")
        while len(replaced := readers()) != 1 or replaced == spares:
            await checkpoint()


async def test_a_spare_that_died_is_not_asked(parser: Parser) -> None:
    with fail_after(60):
        await parser.parse(SHORT, filename="a.docx")
        while not (spares := readers()):
            await checkpoint()
        (spare,) = spares
        os.kill(spare, signal.SIGKILL)
        while not is_gone(spare):
            await checkpoint()
        assert (await parser.parse(SHORT, filename="a.docx")).text == "짧은 글\n"


async def test_a_spare_nobody_needs_goes_away() -> None:
    parser = Parser(spare_s=0)
    with fail_after(60):
        await parser.parse(SHORT, filename="a.docx")
        await checkpoint()
        while readers():
            await checkpoint()
    await parser.close()


async def test_a_child_that_cannot_be_started_is_an_error_that_says_why(
    monkeypatch: pytest.MonkeyPatch, parser: Parser
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(Unavailable, match="could not be started: No such file or directory"):
        await parser.parse(SHORT, filename="a.docx")
    monkeypatch.undo()

    assert (await parser.parse(SHORT, filename="a.docx")).text == "짧은 글\n"


async def test_closing_ends_what_is_being_read_and_what_waits(parser: Parser) -> None:
    errors: list[Exception] = []
    with fail_after(60):
        async with create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(refused, parser, errors)
            await reading(2)
            await parser.close()

    assert [type(error) for error in errors] == [Unavailable] * 3


async def test_an_answer_that_no_reader_gives_is_not_taken(monkeypatch: pytest.MonkeyPatch, parser: Parser) -> None:
    """A document that took its reader over can say what it likes, and gets no further than an error."""
    for answer in (
        b"\xff\xff\xff\xff",
        b"\0\0\0\x02[]",
        b"\0\0\0\x04nope",
        framed('{"size": 99999999999, "mime_type": "a", "page_lines": []}'),
        framed('{"size": 1, "mime_type": "a", "page_lines": [3, 2]}') + b"a",
        framed('{"size": 1, "mime_type": "a", "page_lines": [99]}') + b"a",
        framed('{"size": 1, "mime_type": "a", "page_lines": ["1"]}') + b"a",
        framed('{"size": 1, "mime_type": "a", "page_lines": []}') + b"\xff",
        framed('{"size": true, "mime_type": "a", "page_lines": []}'),
        framed('{"refused": {"a": 1}, "count": "9"}'),
    ):
        monkeypatch.setattr(children, "_START", f"import os; os.write(1, {answer!r}); os.read(0, 1)")
        with fail_after(60), pytest.raises(InvalidArguments, match="is broken"):
            await parser.parse(SHORT, filename="a.docx")
        # The spare was started with the same lie.
        parser._drop_spare()


def framed(header: str) -> bytes:
    return len(header).to_bytes(4, "big") + header.encode()


async def test_when_madang_is_killed_its_children_die_with_it() -> None:
    code = """
import asyncio, sys
from madang.services.content.engine.parsing import Parser
from tests.documents import docx, pdf_of_pages
from tests.services.content.parsing.processes import children, confined

async def main():
    parser = Parser()
    await parser.parse(docx(["a"]), filename="a.docx")
    work = [asyncio.create_task(parser.parse(pdf_of_pages(15_000), filename="a.pdf")) for _ in range(2)]
    while len(pids := children()) < 2:
        await asyncio.sleep(0)
    for pid in pids:
        await confined(pid)
    print(*pids, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as madang:
        assert madang.stdout is not None
        pids = {int(pid) for pid in madang.stdout.readline().split()}
        assert len(pids) == 2
        # They would neither end by themselves nor notice that nobody listens any more.
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        madang.kill()
    await gone(pids)
