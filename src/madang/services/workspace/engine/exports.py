"""Makes exports: a file's copy, or a package of several files, whole or not at all.

Exports are files alone, in a folder beside the workspace. What goes in is read through the workspace's folder, so no
path, link or race leads out of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.services.workspace.domain.exports import (
    Export,
    KeptExport,
    PackedFile,
    file_name,
    kept_name,
    package_name,
    parse_kept_name,
)
from madang.services.workspace.engine.packing import CHUNK, Manifest, check_size, packed
from madang.storage.folders import Folders

MAX_RUNNING_EXPORTS = 2
"""How many exports are made at a time: each keeps a thread and a processor busy."""


class Stopped(Exception):
    """Nobody waits for this export any more."""


class Exports:
    """Makes, lists and reads the exports of sessions."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._slots = asyncio.Semaphore(MAX_RUNNING_EXPORTS)

    async def file(self, call: Call, path: str, name: str) -> Export:
        """Copy a file of the workspace."""

        def make(stop: threading.Event) -> Export:
            with self._folders.of(call) as session, session.files.open_file(path) as file:
                check_size(os.fstat(file.fileno()).st_size)
                id, shown = new_id(), file_name(name, path)
                digest = _Digest(stop)
                target = kept_name(id, shown)
                made = session.exports.write(target, digest.seen(_parts(file)), mode="create")
                files = (PackedFile(path="/".join(_names(path)), size=made.size),)
                where = str(session.path / "exports" / target)
                return Export(id, "file", shown, where, made.size, digest.sha256, files, 1)

        return await self._made(call, make)

    async def zip(self, call: Call, paths: Iterable[str], name: str) -> Export:
        """Pack files and folders of the workspace.

        Raises:
            ToolError: nothing could be packed, or too much.
        """

        def make(stop: threading.Event) -> Export:
            with self._folders.of(call) as session:
                id, shown = new_id(), package_name(name)
                digest, manifest = _Digest(stop), Manifest()
                target = kept_name(id, shown)
                parts = packed(session.files, paths, manifest, digest.check)
                made = session.exports.write(target, digest.seen(parts), mode="create")
                where = str(session.path / "exports" / target)
                return Export(
                    id,
                    "zip",
                    shown,
                    where,
                    made.size,
                    digest.sha256,
                    tuple(manifest.files),
                    manifest.file_count,
                    tuple(manifest.skipped.values()),
                    manifest.skipped_count,
                )

        return await self._made(call, make)

    async def kept(self, call: Call) -> list[KeptExport]:
        """Return the exports of a session, the newest first."""
        return await asyncio.to_thread(self._list, call)

    async def read(self, call: Call, kept: KeptExport) -> bytes:
        """Return the bytes of an export."""

        def read() -> bytes:
            with self._folders.of(call) as session, session.exports.open_file(kept.kept_name) as file:
                return b"".join(_parts(file))

        return await asyncio.to_thread(read)

    async def find(self, call: Call, id: str) -> KeptExport:
        """Return one export of a session.

        Raises:
            NotFound: there is none with this id.
        """
        for kept in await self.kept(call):
            if kept.id == id:
                return kept
        raise NotFound(say("There is no export '{id}'.", id=id[:100]))

    def _list(self, call: Call) -> list[KeptExport]:
        with self._folders.of(call) as session:
            found = []
            for entry in session.exports.walk(depth=1):
                parsed = parse_kept_name(entry.path)
                if entry.kind == "file" and parsed:
                    found.append(KeptExport(*parsed, entry.size))
            return found[::-1]

    async def _made(self, call: Call, make: Callable[[threading.Event], Export]) -> Export:
        """Run `make` in a thread. When the caller is cancelled, it is told to stop, and nothing is left of it."""
        async with self._slots:
            stop = threading.Event()
            making = asyncio.ensure_future(asyncio.to_thread(make, stop))
            making.add_done_callback(lambda made: made.cancelled() or made.exception())  # somebody has looked at it
            try:
                return await asyncio.shield(making)
            except asyncio.CancelledError:
                stop.set()
                await asyncio.wait([making])
                if not making.cancelled() and making.exception() is None:
                    # It was finished in the same moment, and nobody will ever hear of it.
                    await asyncio.to_thread(self._remove, call, making.result())
                raise

    def _remove(self, call: Call, export: Export) -> None:
        with self._folders.of(call) as session, suppress(NotFound):
            session.exports.delete(kept_name(export.id, export.name))


class _Digest:
    """Sees the parts of an export on their way to the disk."""

    def __init__(self, stop: threading.Event) -> None:
        self._hash = hashlib.sha256()
        self._stop = stop

    def seen(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for part in parts:
            self.check()
            self._hash.update(part)
            yield part
        self.check()

    def check(self) -> None:
        if self._stop.is_set():
            raise Stopped

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    """Yield what is in a file now: one that grows faster than it is read would never end."""
    left = os.fstat(file.fileno()).st_size
    while left and (part := file.read(min(left, CHUNK))):
        left -= len(part)
        yield part


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]
