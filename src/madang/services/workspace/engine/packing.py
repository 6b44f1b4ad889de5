"""Packs files of a folder into a ZIP archive, part by part, without ever holding a whole file.

Links are never followed nor packed; what is left out is written down with its reason.
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

from madang.core.errors import InvalidPath, LimitExceeded, NotFound, NotRegular, ToolError
from madang.core.phrases import say
from madang.core.texts import visible_name
from madang.services.workspace.domain.exports import (
    MAX_EXPORT_BYTES,
    MAX_LISTED_FILES,
    PackedFile,
    SkippedFile,
    SkipReason,
)
from madang.storage.folders import Entry, Folder, parse_path
from madang.storage.folders.folder import MAX_TREE_DEPTH

if TYPE_CHECKING:
    import zipfile

CHUNK = 256 * 1024
MAX_PACKED_FILES = 100_000

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_LAST_DATE = (2107, 12, 31, 23, 59, 58)


@dataclass(slots=True)
class Manifest:
    """What went into an archive, with as many bytes as went in, and what did not.

    The first of them are named and the others counted: an archive of a gigabyte may hold very many.
    """

    files: list[PackedFile] = field(default_factory=list)
    skipped: dict[str, SkippedFile] = field(default_factory=dict)
    bytes: int = 0
    file_count: int = 0
    skipped_count: int = 0

    def take(self, path: str, size: int) -> None:
        self.bytes += size
        self.file_count += 1
        if self.file_count <= MAX_LISTED_FILES:
            self.files.append(PackedFile(path=path, size=size))

    def skip(self, path: str, reason: SkipReason) -> None:
        if path in self.skipped:
            return  # it was named twice
        self.skipped_count += 1
        if self.skipped_count <= MAX_LISTED_FILES:
            self.skipped[path] = SkippedFile(path=path, reason=reason)


def packed(folder: Folder, paths: Iterable[str], manifest: Manifest, check: Callable[[], None]) -> Iterator[bytes]:
    """Yield the parts of the archive. `check` is called now and then, and raises when nobody waits any more.

    Raises:
        InvalidPath: a path cannot be one, whatever is there.
        NotFound, NotRegular: nothing of all this could be packed.
        LimitExceeded: there are too many files.
    """
    import zipfile  # here, because a server that packs nothing should not start slower for it

    wanted = ["/".join(parse_path(path, may_be_root=True)) for path in paths]
    sink = _Sink()
    # To a stream that cannot go back: sizes then come after the data, and a file may shrink while it is read.
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(folder, wanted, manifest):
            check()
            try:
                with folder.open_file(path) as file:
                    check_size(manifest.bytes + os.fstat(file.fileno()).st_size)
                    size = yield from _pack(archive, sink, path, file, check)
            except LimitExceeded:
                raise
            except ToolError as error:
                manifest.skip(path, _reason(error))
                continue
            manifest.take(path, size)
            if manifest.file_count > MAX_PACKED_FILES:
                raise LimitExceeded(
                    say("There are more than {most} files.", most=MAX_PACKED_FILES),
                    hint=say("Pack some of the folders by themselves: call 'export_zip' once for each."),
                )
        if not manifest.files:
            raise _nothing(manifest)
    yield sink.take()


def check_size(size: int) -> None:
    """Refuse what would be too much for one export.

    Raises:
        LimitExceeded: it is.
    """
    if size > MAX_EXPORT_BYTES:
        raise LimitExceeded(
            say("An export takes in at most {most} bytes, and this is more.", most=MAX_EXPORT_BYTES),
            hint=say("Export fewer files: call 'export_zip' once for each part."),
        )


class _Sink:
    """Takes what the archive writes until it is taken away."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def write(self, data: bytes, /) -> int:
        # One buffer: the directory at the end is written in two small parts for each file, all at once.
        self._buffer += data
        return len(data)

    def flush(self) -> None:
        """Nothing waits here that is not taken anyway."""

    def close(self) -> None:
        """Nothing to close."""

    @property
    def is_full(self) -> bool:
        return len(self._buffer) >= CHUNK

    def take(self) -> bytes:
        data = bytes(self._buffer)
        self._buffer.clear()
        return data


def _files(folder: Folder, paths: list[str], manifest: Manifest) -> Iterator[str]:
    """Yield the files to pack, each once, whichever way it was named."""
    taken: dict[str, str] = {}
    for path in paths:
        for found in _found(folder, path, manifest):
            if found.kind == "folder":
                _check_folder(folder, path, found, manifest)
                continue
            if found.kind != "file":
                manifest.skip(found.path, "link" if found.kind == "link" else "not_regular")
                continue
            # Two spellings of the same Hangul are one file to whoever unpacks it on a Mac.
            key = unicodedata.normalize("NFC", found.path)
            if key not in taken:
                taken[key] = found.path
                yield found.path
            elif taken[key] != found.path:
                manifest.skip(found.path, "duplicate")
            elif "\N{REPLACEMENT CHARACTER}" in found.path:
                manifest.skip(found.path, "name")  # two names that are not Unicode look the same


def _found(folder: Folder, path: str, manifest: Manifest) -> Iterator[Entry]:
    """Yield what is at a path or below it; what is not there, or not any more, is written down."""
    try:
        entry = folder.entry(path)
        if entry.kind == "folder":
            yield from folder.walk(path, depth=MAX_TREE_DEPTH)
        else:
            yield entry
    except ToolError as error:
        manifest.skip(path, "link" if _leads_through_link(folder, path) else _reason(error))


def _leads_through_link(folder: Folder, path: str) -> bool:
    """Tell whether a link stands on the way to a path; for the system that may be the same as nothing there."""
    names = path.split("/")
    with suppress(ToolError):
        for end in range(1, len(names)):
            if folder.entry("/".join(names[:end])).kind == "link":
                return True
    return False


def _check_folder(folder: Folder, top: str, found: Entry, manifest: Manifest) -> None:
    """Write down a folder that the walk does not look into."""
    below = found.path.removeprefix(f"{top}/" if top else "")
    if below.count("/") + 1 >= MAX_TREE_DEPTH:
        manifest.skip(found.path, "too_deep")
        return
    try:
        with folder.open_folder(found.path):
            pass
    except ToolError as error:
        manifest.skip(found.path, _reason(error))


def _pack(
    archive: zipfile.ZipFile, sink: _Sink, path: str, file: IO[bytes], check: Callable[[], None]
) -> Generator[bytes, None, int]:
    """Put one file in, yield what is ready to be written, and return how many bytes of the file are in.

    It is read up to the size it had when it was opened: what is appended meanwhile does not belong to it yet.
    """
    from zipfile import ZIP_DEFLATED, ZipInfo

    status = os.fstat(file.fileno())
    info = ZipInfo(path, _date(int(status.st_mtime)))
    info.compress_type = ZIP_DEFLATED
    info.external_attr = _attributes(status.st_mode)
    info.create_system = 3
    info.file_size = status.st_size  # so that large ones get the headers of ZIP64
    done = 0
    with archive.open(info, "w") as entry:
        while done < status.st_size and (part := file.read(min(CHUNK, status.st_size - done))):
            entry.write(part)
            done += len(part)
            check()
            if sink.is_full:
                yield sink.take()
    return done


# The archive keeps these of every file up to its end, and most files have them in common.


@lru_cache(maxsize=256)
def _attributes(mode: int) -> int:
    return (stat.S_IFREG | stat.S_IMODE(mode) & 0o777) << 16


@lru_cache(maxsize=1024)
def _date(modified_s: int) -> tuple[int, int, int, int, int, int]:
    """Return a time as archives have it: local, and between 1980 and 2107."""
    try:
        date = time.localtime(modified_s)[:6]
    except (OverflowError, ValueError, OSError):
        return _FIRST_DATE if modified_s < 0 else _LAST_DATE
    return min(max(date, _FIRST_DATE), _LAST_DATE)


def _reason(error: ToolError) -> SkipReason:
    cause = error.__cause__
    number = cause.errno if isinstance(cause, OSError) else None
    if number in (errno.ELOOP, errno.EXDEV):
        return "link"
    if isinstance(error, NotFound) or number == errno.ENOTDIR:
        return "missing"
    if isinstance(error, NotRegular):
        return "not_regular"
    return "name" if isinstance(error, InvalidPath) else "unreadable"


def _nothing(manifest: Manifest) -> ToolError:
    names = ", ".join(f"'{visible_name(path)}'" for path in list(manifest.skipped)[:10])
    look = say("Use 'list_directory' to see what there is.")
    if all(skipped.reason == "missing" for skipped in manifest.skipped.values()):
        if not manifest.skipped:
            return NotFound(say("There are no files there. Nothing was exported."), hint=look)
        return NotFound(say("None of the files is there: {names}. Nothing was exported.", names=names), hint=look)
    return NotRegular(
        say("Nothing there can be packed: {names}. Links and special files are never packed.", names=names), hint=look
    )
