"""Archives of sessions as ZIP files: written whole or not at all, and read as if an enemy had made them.

Each service has a folder of its own in the archive. An archive that is read is checked before anything of it is used:
names, links, overlapping entries, and how much it says it expands to; while it is read, no entry gives more than that.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from pydantic import ValidationError

from madang.core.archives import DocumentT
from madang.core.arguments import invalid_arguments
from madang.core.documents import Document
from madang.core.errors import Conflict, InvalidArguments, InvalidPath, LimitExceeded, Unavailable
from madang.core.phrases import Phrase, layout, say
from madang.files.folders.paths import parse_path
from madang.files.part_files import PartFile

MAX_DOCUMENT_BYTES = 4 * 1024**2
RATIO_FREE_BYTES = 10 * 1024**2
"""An archive that expands to no more is no bomb, however well it is packed: a file of zeros is."""
MAX_DIRECTORY_BYTES_PER_ENTRY = 700

_ENTRY_HEADER_BYTES = 30
_IS_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may hold that is read."""

    max_bytes: int = 256 * 1024**2
    """What all entries expand to."""
    max_entries: int = 10_000
    max_ratio: int = 100
    """What they expand to, in sizes of the archive."""


NO_LIMITS = ArchiveLimits(max_bytes=1 << 62, max_entries=10_000_000, max_ratio=1 << 62)
"""For an archive that the person made."""


class ZipArchiveWriter:
    """Writes below one folder of an archive."""

    def __init__(self, archive: zipfile.ZipFile, folder: str = "") -> None:
        self._archive = archive
        self._folder = folder

    def below(self, folder: str) -> ZipArchiveWriter:
        """Return the writer of a folder in this one."""
        return ZipArchiveWriter(self._archive, f"{self._folder}{folder}/")

    def add(self, name: str, document: Document) -> None:
        with self.create(name) as file:
            file.write(document.model_dump_json().encode())

    def add_all(self, name: str, documents: Iterable[Document]) -> None:
        lines = (document.model_dump_json().encode() + b"\n" for document in documents)
        first = next(iter(lines), None)
        if first is None:
            return
        with self.create(name) as file:
            file.write(first)
            for line in lines:
                file.write(line)

    @contextmanager
    def create(self, name: str) -> Iterator[IO[bytes]]:
        entry = zipfile.ZipInfo(self._folder + name)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (stat.S_IFREG | 0o600) << 16
        # Sizes are not known before, and a file may be larger than the older format can say.
        with self._archive.open(entry, "w", force_zip64=True) as file:
            yield file


class NewArchive:
    """An archive that is being written, in a file beside the one that it becomes. Everything blocks."""

    def __init__(self, path: Path) -> None:
        """Begin to write.

        Raises:
            Conflict: there is something at the path.
            Unavailable: nothing can be written there.
        """
        self._path = path
        if path.exists():
            raise _is_taken(path)
        with _disk_errors(path):
            self.part = PartFile(path)
        self._archive = zipfile.ZipFile(self.part.file, "w", zipfile.ZIP_DEFLATED)
        self.writer = ZipArchiveWriter(self._archive)

    def finish(self) -> ArchiveSize:
        """Write the rest, and put the archive into its place.

        Raises:
            Conflict: something has come there.
            Unavailable: the disk is full.
        """
        with _disk_errors(self._path):
            self._archive.close()
            size = self.part.file.seek(0, os.SEEK_END)
            self.part.rename(self._path)
        entries = self._archive.infolist()
        return ArchiveSize(len(entries), sum(entry.file_size for entry in entries), size)

    def discard(self) -> None:
        """Remove what was written."""
        with suppress(OSError, ValueError):
            self._archive.close()
        self.part.discard()


@dataclass(frozen=True, slots=True)
class ArchiveSize:
    """How large an archive is: its entries, what they expand to, and the file itself."""

    entries: int
    expanded_bytes: int
    file_bytes: int

    def exceeds(self, limits: ArchiveLimits) -> Phrase | None:
        """Return which limit this is beyond, in words, or None."""
        if self.entries > limits.max_entries:
            return say("it has more than {max} entries", max=limits.max_entries)
        if self.expanded_bytes > limits.max_bytes:
            return say("it expands to more than {max} MiB", max=limits.max_bytes // 1024**2)
        if self.expanded_bytes > max(RATIO_FREE_BYTES, limits.max_ratio * self.file_bytes):
            return say("it expands to more than {max} times its size", max=limits.max_ratio)
        return None


class ZipArchiveReader:
    """Reads below one folder of an archive that was checked."""

    def __init__(self, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], folder: str = "") -> None:
        self._archive = archive
        self._entries = entries
        self._folder = folder

    def below(self, folder: str) -> ZipArchiveReader:
        """Return the reader of a folder in this one."""
        return ZipArchiveReader(self._archive, self._entries, f"{self._folder}{folder}/")

    def has(self, name: str) -> bool:
        return self._folder + name in self._entries

    @property
    def folders(self) -> set[str]:
        """The folders in this one."""
        names = (name[len(self._folder) :] for name in self._entries if name.startswith(self._folder))
        return {name.partition("/")[0] for name in names if "/" in name}

    def read(self, name: str, kind: type[DocumentT]) -> DocumentT | None:
        if not self.has(name):
            return None
        with self.open(name) as file:
            return self._parsed(name, kind, file.read(MAX_DOCUMENT_BYTES + 1))

    def read_all(self, name: str, kind: type[DocumentT], max_bytes: int | None = None) -> Iterator[DocumentT]:
        if not self.has(name):
            return
        with self.open(name) as file:
            while line := file.readline((max_bytes or MAX_DOCUMENT_BYTES) + 1):
                yield self._parsed(name, kind, line, max_bytes)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        entry = self._entries.get(self._folder + name)
        if entry is None:
            raise not_an_archive(say("'{name}' is missing in it", name=self._folder + name))
        with _format_errors(), self._archive.open(entry) as file:
            yield file

    def _parsed(self, name: str, kind: type[DocumentT], data: bytes, max_bytes: int | None = None) -> DocumentT:
        max_bytes = max_bytes or MAX_DOCUMENT_BYTES
        if len(data) > max_bytes:
            raise _too_large(say("a document in it has more than {max} MiB", max=max_bytes // 1024**2))
        try:
            return kind.model_validate_json(data)
        except ValidationError as error:
            reason = invalid_arguments(error).message
            raise not_an_archive(layout("{name}: {reason}", name=self._folder + name, reason=reason)) from None


@contextmanager
def open_archive(path: Path, limits: ArchiveLimits) -> Iterator[ZipArchiveReader]:
    """Open an archive that may be hostile. It blocks.

    Raises:
        InvalidArguments: it is no archive, or one that nobody makes in good faith.
        LimitExceeded: it is larger than the limits.
        Unavailable: the file cannot be read.
    """
    with _disk_errors(path), open(path, "rb") as file:
        bounded = _BoundedReads(file, max(1 << 16, limits.max_entries * MAX_DIRECTORY_BYTES_PER_ENTRY))
        with _format_errors(), zipfile.ZipFile(cast(IO[bytes], bounded)) as archive:
            entries = _checked(archive.infolist(), os.fstat(file.fileno()).st_size, limits)
            yield ZipArchiveReader(archive, entries)


class _BoundedReads:
    """A file that refuses to read much at once: the directory of an archive is read in one go, before any check."""

    def __init__(self, file: IO[bytes], max_bytes: int) -> None:
        self._file = file
        self._max_bytes = max_bytes

    def read(self, size: int = -1, /) -> bytes:
        if size < 0 or size > self._max_bytes:
            left = os.fstat(self._file.fileno()).st_size - self._file.tell()
            if left > self._max_bytes:
                raise _too_large(say("its directory is too large"))
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _checked(entries: list[zipfile.ZipInfo], size: int, limits: ArchiveLimits) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name, without those of folders."""
    reason = ArchiveSize(len(entries), sum(entry.file_size for entry in entries), size).exceeds(limits)
    if reason is not None:
        raise _too_large(reason)
    by_name: dict[str, zipfile.ZipInfo] = {}
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        # Entries that share bytes are how a bomb gets past a ratio.
        if entry.header_offset < end:
            raise not_an_archive(say("entries in it overlap"))
        end = entry.header_offset + _ENTRY_HEADER_BYTES + entry.compress_size
        if entry.is_dir():
            continue
        _check_entry(entry)
        if entry.filename in by_name:
            raise not_an_archive(say("it has '{name}' twice", name=entry.filename[:200]))
        by_name[entry.filename] = entry
    return by_name


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    try:
        is_path = "/".join(parse_path(name)) == name
    except InvalidPath:
        is_path = False
    # Not the mode alone: one that was packed on Windows has none. A link would lead writes out of the folder.
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if not is_path or name != entry.orig_filename or kind not in (0, stat.S_IFREG):
        raise not_an_archive(say("'{name}' in it is no file inside of it", name=name[:200]))
    if entry.flag_bits & _IS_ENCRYPTED:
        raise not_an_archive(say("it is encrypted"))
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise not_an_archive(say("'{name}' in it is packed in an unknown way", name=name[:200]))


@contextmanager
def _format_errors() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, EOFError, UnicodeDecodeError) as error:
        raise not_an_archive(say("it is damaged, or no ZIP file")) from error


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise _is_taken(path) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise Unavailable(say("'{path}' cannot be used: {reason}.", path=str(path), reason=reason)) from error


def _is_taken(path: Path) -> Conflict:
    return Conflict(
        say("There is something at '{path}' already. Nothing was changed.", path=str(path)),
        hint=say("Name another file."),
    )


def not_an_archive(reason: Phrase) -> InvalidArguments:
    """Return the error for a file that is no archive of a session, with the reason."""
    return InvalidArguments(
        say("This is no archive of a session: {reason}.", reason=reason),
        hint=say("Take a file that 'madang sessions export' made, unchanged."),
    )


def _too_large(reason: Phrase) -> LimitExceeded:
    return LimitExceeded(
        say("The archive is too large: {reason}.", reason=reason),
        hint=say("If you made it yourself, import it with --trust."),
    )
