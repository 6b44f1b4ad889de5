"""Locks between processes: fair ones, and what a removed folder and a closed file mean to them."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from anyio import fail_after
from anyio.lowlevel import checkpoint

from madang.system.locks import FairFileLock, lock_within, try_lock


async def test_a_waiter_gets_the_lock_before_its_previous_holder(tmp_path: Path) -> None:
    order: list[str] = []
    holder, waiter = FairFileLock(tmp_path / "a"), FairFileLock(tmp_path / "a")
    await holder.acquire(60)
    assert not holder.has_waiter()

    async def wait() -> None:
        await waiter.acquire(60)
        order.append("waiter")
        waiter.release()

    waiting = asyncio.create_task(wait())
    with fail_after(60):
        while not holder.has_waiter():
            await checkpoint()
        holder.release()
        await holder.acquire(60)
        order.append("holder")
        await waiting
    holder.release()

    assert order == ["waiter", "holder"]


async def test_acquiring_twice_is_once(tmp_path: Path) -> None:
    lock = FairFileLock(tmp_path / "a")
    await lock.acquire(60)
    await lock.acquire(60)
    lock.release()

    with fail_after(60):
        await FairFileLock(tmp_path / "a").acquire(60)


async def test_a_lock_in_a_folder_that_was_removed_keeps_nobody_out(tmp_path: Path) -> None:
    old, new = FairFileLock(tmp_path / "a"), FairFileLock(tmp_path / "a")
    await old.acquire(60)
    shutil.rmtree(tmp_path / "a")

    with fail_after(60):
        await new.acquire(60)

    assert (tmp_path / "a" / "lock").exists()
    old.release()
    new.release()


async def test_a_cancelled_waiter_leaves_the_queue(tmp_path: Path) -> None:
    holder, waiter = FairFileLock(tmp_path / "a"), FairFileLock(tmp_path / "a")
    await holder.acquire(60)
    waiting = asyncio.create_task(waiter.acquire(60))
    with fail_after(60):
        while not holder.has_waiter():
            await checkpoint()
        waiting.cancel()
        while holder.has_waiter():
            await checkpoint()
    holder.release()


def test_waiting_ends_at_its_time_and_closing_releases(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert try_lock(first)
    assert not lock_within(second, 0.01)

    os.close(first)

    assert lock_within(second, 10)
    os.close(second)
