"""Hearing of writes to files without polling: inotify, where the kernel tells of every writer.

It tells of writes through this kernel only, so what another machine writes to a network file system stays unseen.
There, on other platforms, and where the user's watches are used up, there is no watch, and the caller polls.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Self

_IN_MODIFY, _IN_CREATE, _IN_MOVED_TO = 0x2, 0x100, 0x80
_IN_IGNORED, _IN_Q_OVERFLOW, _IN_MOVE_SELF = 0x8000, 0x4000, 0x800
_IN_ONLYDIR = 0x1000000
_WATCHED = _IN_MODIFY | _IN_CREATE | _IN_MOVED_TO | _IN_MOVE_SELF | _IN_ONLYDIR
_EVENT = struct.Struct("iIII")
_READ_BYTES = 64 * 1024

_LOCAL_FILE_SYSTEMS = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # XFS
        0x9123683E,  # Btrfs
        0x01021994,  # tmpfs
        0xF2F52010,  # F2FS
        0x2FC12FC1,  # ZFS
        0xCA451A4E,  # bcachefs
        0x794C7630,  # overlayfs, whose writers in one container share a kernel and a mount
    }
)
"""An allow-list: shares of a virtual machine's host and new network file systems are not told apart otherwise."""


class FileWatch:
    """Calls `on_write` in the event loop when one of the named files in a folder was written, until it is closed.

    `on_lost` is called once when nothing more can be heard: the folder was removed or moved.
    """

    def __init__(self, fd: int, names: Collection[str], on_write: Callable[[], None], on_lost: Callable[[], None]):
        self._fd = fd
        self._names = frozenset(os.fsencode(name) for name in names)
        self._on_write = on_write
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._read)

    @classmethod
    def open(
        cls, folder: Path, names: Collection[str], on_write: Callable[[], None], on_lost: Callable[[], None]
    ) -> Self | None:
        """Return a watch; None where the kernel cannot tell of every write."""
        if sys.platform != "linux" or not _is_local(folder):
            return None
        libc = ctypes.CDLL(None, use_errno=True)
        fd: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if fd < 0:
            return None
        try:
            if libc.inotify_add_watch(fd, os.fsencode(folder), _WATCHED) >= 0:
                return cls(fd, names, on_write, on_lost)
        except NotImplementedError:  # an event loop that watches no descriptors
            pass
        os.close(fd)
        return None

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> None:
        with suppress(BlockingIOError):
            events = _parse(os.read(self._fd, _READ_BYTES))
            if any(mask & (_IN_IGNORED | _IN_MOVE_SELF) for mask, _ in events):
                self.close()
                self._on_lost()
            elif any(mask & _IN_Q_OVERFLOW or name in self._names for mask, name in events):
                self._on_write()


def _parse(data: bytes) -> list[tuple[int, bytes]]:
    """Return the masks and file names of events."""
    events, place = [], 0
    while place < len(data):
        _, mask, _, size = _EVENT.unpack_from(data, place)
        place += _EVENT.size
        events.append((mask, data[place : place + size].rstrip(b"\0")))
        place += size
    return events


def _is_local(folder: Path) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    # `struct statfs` is shorter on every platform; its first field is the type.
    buffer = ctypes.create_string_buffer(256)
    if libc.statfs(os.fsencode(folder), buffer) != 0:
        return False
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF in _LOCAL_FILE_SYSTEMS
