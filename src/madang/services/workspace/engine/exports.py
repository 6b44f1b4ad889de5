"""Makes exports: a copy of a file, or a package of several, whole or not at all.

Exports are plain files, in a folder beside the workspace. Sources are read through the workspace's folder, so no path,
symlink or race leads out of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO

from madang.core.calls import Call
from madang.core.errors import NotFound, ToolError
from madang.core.executor import Executor, StopSignal
from madang.core.ids import is_made_by, new_id
from madang.core.phrases import say
from madang.files.downloads import Downloads
from madang.files.folders import Folder, Folders, parse_path
from madang.services.workspace.domain.exports import (
    Export,
    PackedFile,
    StoredExport,
    file_name,
    package_name,
    parse_stored_name,
    stored_name,
)
from madang.services.workspace.engine.errors import cannot_export_hard_link, export_not_found
from madang.services.workspace.engine.packing import EXPORT_CHUNK_BYTES, Manifest, check_export_size, is_hard_link, pack
from madang.services.workspace.engine.suggestions import suggest_path

REPORT_S = 0.2
"""How often the progress of a package is looked at while a thread packs it."""


class Exports:
    """Makes, lists and reads the exports of sessions. Without `downloads` they have no address for browsers."""

    def __init__(self, folders: Folders, downloads: Downloads | None = None, executor: Executor | None = None) -> None:
        self._folders = folders
        self._downloads = downloads
        self._executor = executor or Executor()

    async def export_file(self, call: Call, path: str, name: str) -> Export:
        """Copy a file of the workspace."""

        def make(stop: StopSignal) -> Export:
            source = "/".join(parse_path(path))
            with (
                self._folders.of(call) as session,
                suggest_path(session.files, source),
                session.files.open_file(source) as file,
            ):
                status = os.fstat(file.fileno())
                check_export_size(status.st_size)
                if is_hard_link(status):
                    raise cannot_export_hard_link(source)
                _delete_repeated(call, session.exports)
                id, export_name = new_id(call.operation_id), file_name(name, source)
                hasher = _Hasher(stop)
                target = stored_name(id, export_name)
                entry = session.exports.write(target, hasher.pass_through(_chunks(file)), mode="create")
                return Export(
                    id=id,
                    kind="file",
                    name=export_name,
                    path=str(session.path / "exports" / target),
                    size=entry.size,
                    sha256=hasher.sha256,
                    files=(PackedFile(path=source, size=entry.size),),
                    file_count=1,
                )

        return await self._run(call, make)

    async def export_zip(self, call: Call, paths: Iterable[str], name: str) -> Export:
        """Pack files and folders of the workspace.

        Raises:
            ToolError: nothing could be packed, or too much.
        """

        manifest = Manifest()

        def make(stop: StopSignal) -> Export:
            with self._folders.of(call) as session:
                _delete_repeated(call, session.exports)
                id, export_name = new_id(call.operation_id), package_name(name)
                hasher = _Hasher(stop)
                target = stored_name(id, export_name)
                chunks = pack(session.files, paths, manifest, stop.check, call.hides)
                entry = session.exports.write(target, hasher.pass_through(chunks), mode="create")
                return Export(
                    id=id,
                    kind="zip",
                    name=export_name,
                    path=str(session.path / "exports" / target),
                    size=entry.size,
                    sha256=hasher.sha256,
                    files=tuple(manifest.files),
                    file_count=manifest.file_count,
                    skipped=tuple(manifest.skipped.values()),
                    skipped_count=manifest.skipped_count,
                    renamed=tuple(manifest.renamed),
                    case_twins=tuple(manifest.case_twins),
                )

        return await self._run(call, make, manifest)

    def download_url(self, call: Call, id: str, name: str) -> str:
        """Return an address at which a browser can fetch an export for a while, or nothing without HTTP."""
        return self._downloads.address(call, stored_name(id, name), name) if self._downloads else ""

    async def list_stored(self, call: Call) -> list[StoredExport]:
        """Return the exports of a session, the newest first."""
        return await self._executor.reads.run(call, self._list, call)

    def newest(self, call: Call, most: int) -> tuple[list[StoredExport], int]:
        """Return the newest exports of a session, at most `most`, and how many there are. It blocks, as folders do."""
        if not self._folders.has(call):
            return [], 0
        with self._folders.of(call) as session:
            # Their ids, with which the names begin, are ordered by time. Sizes are asked for those alone that are told.
            names = [entry.path for entry in session.exports.walk(depth=1, with_status=range(0))]
            ids_and_names = [parsed for name in names if (parsed := parse_stored_name(name))]
            exports = []
            for id, name in ids_and_names[: -most - 1 : -1]:
                with suppress(ToolError):  # it is gone again
                    exports.append(StoredExport(id, name, session.exports.entry(stored_name(id, name)).size))
            return exports, len(ids_and_names)

    def was_made(self, call: Call) -> bool:
        """Tell whether the call's operation has made an export. It blocks, as folders do."""
        if not self._folders.has(call):
            return False
        with self._folders.of(call) as session:
            return bool(list(_made_by(call, session.exports)))

    async def read(self, call: Call, export: StoredExport) -> bytes:
        """Return the bytes of an export."""

        def read() -> bytes:
            with self._folders.reading(call) as session, session.exports.open_file(export.stored_name) as file:
                return b"".join(_chunks(file))

        return await self._executor.native.run(call, read)

    async def find(self, call: Call, id: str) -> StoredExport:
        """Return one export of a session.

        Raises:
            NotFound: there is none with this id.
        """
        for export in await self.list_stored(call):
            if export.id == id:
                return export
        raise export_not_found(id)

    def _list(self, call: Call) -> list[StoredExport]:
        with self._folders.reading(call) as session:
            exports = []
            for entry in session.exports.walk(depth=1):
                id_and_name = parse_stored_name(entry.path)
                if entry.kind == "file" and id_and_name:
                    exports.append(StoredExport(*id_and_name, entry.size))
            return exports[::-1]

    async def _run(self, call: Call, make: Callable[[StopSignal], Export], manifest: Manifest | None = None) -> Export:
        """Run `make` in a thread. When the caller is cancelled, it is told to stop, and nothing is left of it.

        What it writes into `manifest` meanwhile is reported as progress.
        """
        lane = self._executor.native
        stop = lane.stop_signal()
        job = lane.submit(call, make, stop)
        try:
            if manifest is not None:
                await _report(call, manifest, job.future)
            return await asyncio.shield(job.future)
        except asyncio.CancelledError:
            stop.set()
            if not job.drop():
                await asyncio.wait([job.future])
                if job.future.exception() is None:
                    # It was finished at the same moment, and no answer will ever name it.
                    await lane.run_accepted(call, self._remove, call, job.future.result())
            raise

    def _remove(self, call: Call, export: Export) -> None:
        with self._folders.of(call) as session, suppress(NotFound):
            session.exports.delete(stored_name(export.id, export.name))


async def _report(call: Call, manifest: Manifest, making: asyncio.Future[Export]) -> None:
    """Report how many files are packed, until all are. How many there are is known only then."""
    while call.progress is not None and not making.done():
        await asyncio.wait([making], timeout=REPORT_S)
        if manifest.file_count:
            await call.report_progress(
                manifest.file_count, message=say("Files packed: {count}", count=manifest.file_count)
            )


class _Hasher:
    """Hashes the chunks of an export on their way to the disk, until the call is cancelled."""

    def __init__(self, stop: StopSignal) -> None:
        self._hash = hashlib.sha256()
        self._stop = stop

    def pass_through(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._stop.check()
            self._hash.update(chunk)
            yield chunk
        self._stop.check()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def _delete_repeated(call: Call, exports: Folder) -> None:
    """Delete what the same operation has made before it was interrupted: nobody was told of that."""
    for path in list(_made_by(call, exports)):
        exports.delete(path)


def _made_by(call: Call, exports: Folder) -> Iterator[str]:
    """Yield the paths of what the call's operation has exported."""
    if call.operation_id:
        for entry in exports.walk(depth=1, with_status=range(0)):
            parsed = parse_stored_name(entry.path)
            if parsed and is_made_by(parsed[0], call.operation_id):
                yield entry.path


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield what is in a file now: one that grows faster than it is read would never end."""
    left = os.fstat(file.fileno()).st_size
    while left and (chunk := file.read(min(left, EXPORT_CHUNK_BYTES))):
        left -= len(chunk)
        yield chunk
