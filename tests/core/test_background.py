"""Background tasks have an owner that ends them."""

from __future__ import annotations

import asyncio

import pytest
from anyio import fail_after

from madang.core import background as module
from madang.core.background import Background


async def test_closing_ends_what_runs_and_waits_for_it() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    background = Background()
    background.start(work(), "work")
    await asyncio.sleep(0)
    with fail_after(20):
        await background.close()

    assert ended.is_set()


async def test_a_failure_is_logged_and_ends_no_other(caplog: pytest.LogCaptureFixture) -> None:
    done = asyncio.Event()

    async def fail() -> None:
        raise RuntimeError("no")

    async def work() -> None:
        await asyncio.sleep(0)
        done.set()

    background = Background()
    background.start(fail(), "failing")
    background.start(work(), "working")
    with fail_after(20):
        await done.wait()
    await background.close()

    assert "failing failed" in caplog.text


async def test_one_that_does_not_end_is_named_and_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "CLOSE_S", 0.01)
    released = asyncio.Event()

    async def deaf() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    background = Background()
    background.start(deaf(), "deaf")
    await asyncio.sleep(0)
    with fail_after(20):
        await background.close()
    released.set()

    assert "deaf did not end" in caplog.text


async def test_nothing_is_started_after_the_end() -> None:
    background = Background()
    await background.close()
    ran = False

    async def work() -> None:
        nonlocal ran
        ran = True

    background.start(work(), "late")
    await asyncio.sleep(0)

    assert not ran


async def test_a_loop_that_fails_is_started_again_and_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madang.core.background.MIN_BACKOFF_S", 0.0)
    started, worked = 0, asyncio.Event()

    async def loop() -> None:
        nonlocal started
        started += 1
        if started < 4:
            raise ValueError("away")
        worked.set()
        await asyncio.Event().wait()

    background = Background()
    background.keep(loop, "a loop")
    async with asyncio.timeout(60):
        await worked.wait()
    await background.close()

    assert background.keep(loop, "late") is None
    assert (started, [record.getMessage() for record in caplog.records]) == (
        4,
        ["a loop failed, and is started again: away"],
    )
