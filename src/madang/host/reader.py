"""The queue of one reader of a stream. It is bounded: a reader that is too slow is cut, and told to come again."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from madang.core.calls import Locale
from madang.core.run_events import DeltaMetadata, MessageContinued, ReasoningContinued
from madang.host.wire_events import LiveEvent, Resync, ResyncReason, ResyncValue

MAX_QUEUED_BYTES = 1024 * 1024
MAX_QUEUED_EVENTS = 256
CHUNK_BYTES = 64 * 1024
"""Of what is sent at once; one event may be larger."""
HEARTBEAT = b": \n\n"


def frame(event: Mapping[str, Any], seq: int | None = None) -> bytes:
    """Return an event as it is on the stream, with its number if it has one."""
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, as models write it
        data = json.dumps(event, separators=(",", ":")).encode()
    head = b"" if seq is None else f"id: {seq}\n".encode()
    return b"%bdata: %b\n\n" % (head, data)


def live_frame(event: LiveEvent | MessageContinued | ReasoningContinued) -> bytes:
    """Return what is live as it is on the stream."""
    return frame(event.model_dump())


def resync(reason: ResyncReason) -> bytes:
    """Return the last thing on a stream that does not go on."""
    return live_frame(Resync(value=ResyncValue(reason=reason)))


@dataclass(slots=True)
class LiveText:
    """A part of a message that is still being written: the characters of its text, or thinking, from `offset` on."""

    run_id: str
    message_no: int
    offset: int
    text: str
    is_thinking: bool = False

    def is_followed_by(self, other: LiveText) -> bool:
        """Tell whether the other begins where this one ends."""
        is_same = (self.run_id, self.message_no, self.is_thinking) == (
            other.run_id,
            other.message_no,
            other.is_thinking,
        )
        return is_same and self.offset + len(self.text) == other.offset

    def frame(self) -> bytes:
        kind = ReasoningContinued if self.is_thinking else MessageContinued
        metadata = DeltaMetadata(run_id=self.run_id, message_no=self.message_no, offset=self.offset)
        return live_frame(kind(message_id=f"{self.run_id}:{self.message_no}", delta=self.text, metadata=metadata))


class ReaderQueue:
    """What waits for one reader. Stored events wait for room, which costs nothing: they are read when there is some.

    What is live cannot wait: where there is no room for it, the reader is cut.
    """

    def __init__(self, locale: Locale = "en") -> None:
        self.locale = locale
        """What the reader's browser asks for; a session may have another one."""
        self._items: deque[bytes | LiveText] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self.end: bytes | None = None
        """What the stream ends with, once it is to end."""

    @property
    def size_bytes(self) -> int:
        return self._size

    async def put(self, item: bytes) -> None:
        """Add what can wait, once at least half of the queue is free."""
        while self.end is None and not self._has_room(len(item), 2):
            self._room.clear()
            await self._room.wait()
        self._add(item, len(item))

    def push(self, item: bytes) -> None:
        """Add what is live, or cut the reader."""
        if self._has_room(len(item)):
            self._add(item, len(item))
        else:
            self.cut("slow")

    def push_text(self, live: LiveText) -> None:
        """Add a part of a message. It joins the one before it, if that was not sent yet: models stream in syllables."""
        last = self._items[-1] if self._items else None
        size = len(live.text.encode("utf-8", "replace"))
        if isinstance(last, LiveText) and last.is_followed_by(live):
            if self._size + size > MAX_QUEUED_BYTES:
                self.cut("slow")
                return
            last.text += live.text
            self._size += size
        elif self._has_room(size):
            # A copy: it grows here, and others have the same.
            self._add(replace(live), size)
        else:
            self.cut("slow")

    def cut(self, reason: ResyncReason) -> None:
        """Drop what waits, and end the stream with the reason."""
        if self.end is None:
            self.end = resync(reason)
            self._items.clear()
            self._size = 0
            self._wake.set()
            self._room.set()

    async def take(self, timeout_s: float) -> bytes:
        """Return what waits, as much as is sent at once; a heartbeat if nothing comes in time. Empty at the end."""
        while not self._items:
            if self.end is not None:
                return b""
            self._wake.clear()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._wake.wait()
            except TimeoutError:
                return HEARTBEAT
        chunk: list[bytes] = []
        size = 0
        while self._items and size < CHUNK_BYTES:
            item = self._items.popleft()
            data = item if isinstance(item, bytes) else item.frame()
            self._size -= len(item) if isinstance(item, bytes) else len(item.text.encode("utf-8", "replace"))
            chunk.append(data)
            size += len(data)
        self._room.set()
        return b"".join(chunk)

    def _has_room(self, size: int, share: int = 1) -> bool:
        if not self._items:
            return True
        return self._size + size <= MAX_QUEUED_BYTES // share and len(self._items) < MAX_QUEUED_EVENTS // share

    def _add(self, item: bytes | LiveText, size: int) -> None:
        if self.end is None:
            self._items.append(item)
            self._size += size
            self._wake.set()
