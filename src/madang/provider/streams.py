"""Several streams of changes as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

ValueT = TypeVar("ValueT")


async def merged(streams: Sequence[AsyncIterator[ValueT]]) -> AsyncIterator[list[ValueT]]:
    """Yield what several streams give, until all have ended; the first value comes when each has given its first."""
    waiting = {_next(stream): stream for stream in streams}
    until = asyncio.ALL_COMPLETED
    try:
        while waiting:
            done, _ = await asyncio.wait(waiting, return_when=until)
            until = asyncio.FIRST_COMPLETED
            values: list[ValueT] = []
            for task in done:
                stream = waiting.pop(task)
                given = task.result()
                if given:
                    values += given
                    waiting[_next(stream)] = stream
            if values:
                yield values
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _next(stream: AsyncIterator[ValueT]) -> asyncio.Task[list[ValueT]]:
    async def following() -> list[ValueT]:
        async for value in stream:
            return [value]
        return []

    return asyncio.create_task(following())
