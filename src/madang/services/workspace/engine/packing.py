"""Packs files of a folder into a ZIP archive, chunk by chunk, without ever holding a whole file.

Symlinks are never followed nor packed; what is left out is recorded with its reason.
"""

from __future__ import annotations

import errno
import os
import stat
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import IO, TYPE_CHECKING

from madang.core.calls import PathFilter
from madang.core.errors import InvalidPath, LimitExceeded, NotFound, NotRegular, ToolError
from madang.files.folders import Entry, Folder, LeftOut, parse_path
from madang.files.folders.folder import MAX_TREE_DEPTH
from madang.services.workspace.domain.exports import (
    MAX_EXPORT_BYTES,
    MAX_LISTED_FILES,
    PackedFile,
    RenamedFile,
    SkippedFile,
    SkipReason,
    packed_path,
)
from madang.services.workspace.engine.errors import export_takes_too_much, nothing_to_export, too_many_files

if TYPE_CHECKING:
    import zipfile

EXPORT_CHUNK_BYTES = 256 * 1024
MAX_PACKED_FILES = 100_000
MAX_NOTED_FILES = 20
"""Names with a note each: those that were cleaned, and those that differ by case alone."""

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_LAST_DATE = (2107, 12, 31, 23, 59, 58)


@dataclass(slots=True)
class Manifest:
    """What went into an archive, and what was skipped. The first are named, the rest counted."""

    files: list[PackedFile] = field(default_factory=list)
    skipped: dict[str, SkippedFile] = field(default_factory=dict)
    bytes: int = 0
    file_count: int = 0
    skipped_count: int = 0
    renamed: list[RenamedFile] = field(default_factory=list)
    case_twins: list[tuple[str, str]] = field(default_factory=list)

    def add(self, path: str, size: int) -> None:
        self.bytes += size
        self.file_count += 1
        if self.file_count <= MAX_LISTED_FILES:
            self.files.append(PackedFile(path=path, size=size))

    def skip(self, path: str, reason: SkipReason) -> None:
        if path in self.skipped:
            return  # the same path was given twice
        self.skipped_count += 1
        if self.skipped_count <= MAX_LISTED_FILES:
            self.skipped[path] = SkippedFile(path=path, reason=reason)


def pack(
    folder: Folder,
    paths: Iterable[str],
    manifest: Manifest,
    check_stop: Callable[[], None],
    hides: PathFilter | None = None,
) -> Iterator[bytes]:
    """Yield the chunks of the archive. `check_stop` is called regularly and raises once the call is cancelled.

    What `hides` tells of is skipped.

    Raises:
        InvalidPath: a text is no path.
        NotFound, NotRegular: nothing could be packed.
        LimitExceeded: there are too many files, or they are too large.
    """
    import zipfile  # on use: it would slow every start down

    # All of them before the first is packed: a bad path is an error, not a skipped file.
    sources = ["/".join(parse_path(path, may_be_root=True)) for path in paths]
    sink = _Sink()
    # An unseekable stream: sizes then follow the data, so a file may shrink while it is read.
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(folder, sources, manifest, hides):
            check_stop()
            try:
                with folder.open_file(path) as file:
                    status = os.fstat(file.fileno())
                    check_export_size(manifest.bytes + status.st_size)
                    if is_hard_link(status):
                        manifest.skip(path, "hard_link")
                        continue
                    size = yield from _pack_file(archive, sink, packed_path(path), file, check_stop)
            except LimitExceeded:
                raise
            except ToolError as error:
                manifest.skip(path, _skip_reason(error))
                continue
            manifest.add(packed_path(path), size)
            if manifest.file_count > MAX_PACKED_FILES:
                raise too_many_files(MAX_PACKED_FILES)
        if not manifest.files:
            raise nothing_to_export(list(manifest.skipped.values()))
    yield sink.take()


def is_hard_link(status: os.stat_result) -> bool:
    """Tell whether a file has another name: that may be one outside of the workspace, whose content is not ours."""
    return status.st_nlink > 1


def check_export_size(size: int) -> None:
    """Check that `size` bytes fit into one export.

    Raises:
        LimitExceeded: they do not.
    """
    if size > MAX_EXPORT_BYTES:
        raise export_takes_too_much()


class _Sink:
    """A write-only file for the archive: a buffer that is emptied chunk by chunk."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def write(self, data: bytes, /) -> int:
        # One buffer, not a list: the central directory is written in two small pieces per file.
        self._buffer += data
        return len(data)

    def flush(self) -> None:
        """Nothing to do: the buffer is read directly."""

    def close(self) -> None:
        """Nothing to close."""

    @property
    def is_full(self) -> bool:
        return len(self._buffer) >= EXPORT_CHUNK_BYTES

    def take(self) -> bytes:
        data = bytes(self._buffer)
        self._buffer.clear()
        return data


def _files(folder: Folder, paths: list[str], manifest: Manifest, hides: PathFilter | None) -> Iterator[str]:
    """Yield the files to pack, each once, whatever paths lead to it."""
    paths_by_name: dict[str, str] = {}
    paths_by_case: dict[str, str] = {}
    for path in paths:
        for entry in _entries_at(folder, path, manifest, hides):
            if entry.kind == "folder":
                _check_folder(folder, path, entry, manifest)
                continue
            if entry.kind != "file":
                manifest.skip(entry.path, "link" if entry.kind == "link" else "not_regular")
                continue
            # macOS unpacks two spellings of the same Hangul (NFC, NFD) into one file.
            name = packed_path(entry.path)
            key = unicodedata.normalize("NFC", name)
            if key not in paths_by_name:
                paths_by_name[key] = entry.path
                twin = paths_by_case.setdefault(key.casefold(), entry.path)
                if twin != entry.path and len(manifest.case_twins) < MAX_NOTED_FILES:
                    manifest.case_twins.append((twin, entry.path))
                if name != entry.path and len(manifest.renamed) < MAX_NOTED_FILES:
                    manifest.renamed.append(RenamedFile(entry.path, name))
                yield entry.path
            elif paths_by_name[key] != entry.path:
                manifest.skip(entry.path, "duplicate")
            elif "\N{REPLACEMENT CHARACTER}" in entry.path:
                manifest.skip(entry.path, "name")  # two names that are not Unicode look the same


def _entries_at(folder: Folder, path: str, manifest: Manifest, hides: PathFilter | None) -> Iterator[Entry]:
    """Yield what is at a path or below it; what is not there, or not any more, is recorded as skipped."""

    def is_skipped(path: str) -> bool:
        is_hidden = hides is not None and hides(path)
        if is_hidden:
            manifest.skip(path, "rule")
        return is_hidden

    try:
        entry = folder.entry(path)
        if entry.kind == "folder":
            yield from folder.walk(path, depth=MAX_TREE_DEPTH, keep=LeftOut(is_skipped).keeps)
        else:
            yield entry
    except ToolError as error:
        manifest.skip(path, "link" if _leads_through_link(folder, path) else _skip_reason(error))


def _leads_through_link(folder: Folder, path: str) -> bool:
    """Tell whether a symlink is on the way to a path; the system may call that a missing file too."""
    names = path.split("/")
    with suppress(ToolError):
        for end in range(1, len(names)):
            if folder.entry("/".join(names[:end])).kind == "link":
                return True
    return False


def _check_folder(folder: Folder, top: str, entry: Entry, manifest: Manifest) -> None:
    """Record a folder that the walk does not enter."""
    below = entry.path.removeprefix(f"{top}/" if top else "")
    if below.count("/") + 1 >= MAX_TREE_DEPTH:
        manifest.skip(entry.path, "too_deep")
        return
    try:
        with folder.open_folder(entry.path):
            pass
    except ToolError as error:
        manifest.skip(entry.path, _skip_reason(error))


def _pack_file(
    archive: zipfile.ZipFile, sink: _Sink, path: str, file: IO[bytes], check_stop: Callable[[], None]
) -> Generator[bytes, None, int]:
    """Pack one file, yield the chunks that are ready, and return how many bytes of the file were read.

    It is read up to the size it had when it was opened: what is appended meanwhile does not belong to it yet.
    """
    from zipfile import ZIP_DEFLATED, ZipInfo

    status = os.fstat(file.fileno())
    info = ZipInfo(path, _date(int(status.st_mtime)))
    info.compress_type = ZIP_DEFLATED
    info.external_attr = _attributes(status.st_mode)
    info.create_system = 3
    info.file_size = status.st_size  # large ones need the headers of ZIP64
    done = 0
    with archive.open(info, "w") as entry:
        while done < status.st_size and (chunk := file.read(min(EXPORT_CHUNK_BYTES, status.st_size - done))):
            entry.write(chunk)
            done += len(chunk)
            check_stop()
            if sink.is_full:
                yield sink.take()
    return done


# Cached: the archive holds these for every file until it is closed, and most files share them.


@lru_cache(maxsize=256)
def _attributes(mode: int) -> int:
    return (stat.S_IFREG | stat.S_IMODE(mode) & 0o777) << 16


@lru_cache(maxsize=1024)
def _date(modified_s: int) -> tuple[int, int, int, int, int, int]:
    """Return a time as ZIP has it: local, from 1980 to 2107."""
    try:
        date = time.localtime(modified_s)[:6]
    except (OverflowError, ValueError, OSError):
        return _FIRST_DATE if modified_s < 0 else _LAST_DATE
    return min(max(date, _FIRST_DATE), _LAST_DATE)


def _skip_reason(error: ToolError) -> SkipReason:
    cause = error.__cause__
    number = cause.errno if isinstance(cause, OSError) else None
    if number in (errno.ELOOP, errno.EXDEV):
        return "link"
    if isinstance(error, NotFound) or number == errno.ENOTDIR:
        return "missing"
    if isinstance(error, NotRegular):
        return "not_regular"
    return "name" if isinstance(error, InvalidPath) else "unreadable"
