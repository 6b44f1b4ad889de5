"""Merging several asynchronous streams into one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

ValueT = TypeVar("ValueT")


async def merge_streams(streams: Sequence[AsyncIterator[ValueT]]) -> AsyncIterator[list[ValueT]]:
    """Yield the values of all streams until each has ended.

    The first list comes when every stream has given its first value; later ones hold the values that are ready.
    """
    stream_by_task = {_next_value(stream): stream for stream in streams}
    return_when = asyncio.ALL_COMPLETED
    try:
        while stream_by_task:
            done, _ = await asyncio.wait(stream_by_task, return_when=return_when)
            return_when = asyncio.FIRST_COMPLETED
            values: list[ValueT] = []
            for task in done:
                stream = stream_by_task.pop(task)
                if value := task.result():
                    values += value
                    stream_by_task[_next_value(stream)] = stream
            if values:
                yield values
    finally:
        for task in stream_by_task:
            task.cancel()
        await asyncio.gather(*stream_by_task, return_exceptions=True)


def _next_value(stream: AsyncIterator[ValueT]) -> asyncio.Task[list[ValueT]]:
    """Return a task for the next value of `stream`: a list of one, or an empty one at its end."""

    async def take() -> list[ValueT]:
        async for value in stream:
            return [value]
        return []

    return asyncio.create_task(take())
