"""The files of a session: read, written, edited, listed, moved and deleted. Everything blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO

from madang.core.calls import Call
from madang.core.errors import Conflict, NotFound
from madang.core.executor import StopSignal, yield_gil
from madang.core.limits import MAX_EXCERPT_BYTES
from madang.core.texts import visible_name
from madang.files.folders import Entry, Folder, Folders, LeftOut, WriteMode, parse_path
from madang.files.folders.failures import file_errors
from madang.files.folders.folder import EVERY
from madang.files.folders.paths import GIT
from madang.services.workspace.domain.files import (
    MAX_COPIED_FILE_BYTES,
    MAX_EDITED_BYTES,
    MAX_LINE_CHARS,
    UNKNOWN_ENCODING,
    DirectoryEntry,
    DirectoryListing,
    Edit,
    EditedFile,
    FileExcerpt,
    LineEnding,
    RecentFiles,
    TextFormat,
    TextLine,
    WrittenFile,
    directory_entry,
)
from madang.services.workspace.domain.topics import changed_paths
from madang.services.workspace.engine import edits as editing
from madang.services.workspace.engine import texts
from madang.services.workspace.engine.errors import (
    cannot_append_to_binary,
    cannot_edit_binary,
    cannot_encode,
    column_out_of_range,
    column_too_far,
    file_exists,
    file_too_large,
    line_not_counted,
    line_out_of_range,
    no_such_source,
    not_outside,
    offset_out_of_range,
)
from madang.services.workspace.engine.lines import (
    MAX_COUNT_S,
    LineIndex,
    LineIndexes,
    OutOfTime,
    ShortLine,
    read_line_from,
    read_lines,
)
from madang.services.workspace.engine.snapshots import Snapshots
from madang.services.workspace.engine.suggestions import suggest_path
from madang.text import encodings
from madang.text.encodings import EncodingName
from madang.text.kinds import file_kind

SAMPLE_BYTES = 64 * 1024
MAX_BINARY_PREVIEW_BYTES = 32
COPY_CHUNK_BYTES = 1024 * 1024
MAX_WALK_S = 2.0
MAX_COUNTED_BYTES = 4 * 1024 * 1024
MAX_PATH_MENTIONS = 3
"""In an answer about lines: its heading and two notes name the file."""
MAX_SHORT_PATH_BYTES = 150
"""Bytes of a path for which an excerpt leaves room, at each mention."""
_EMPTY = TextFormat("utf-8", "none")


class FileEngine:
    """Works on the folders of sessions. It caches where lines begin in large files, and which files there are."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._indexes = LineIndexes()
        self.snapshots = Snapshots()

    def read(self, call: Call, path: str, first: int, last: int | None, column: int = 1) -> FileExcerpt:
        """Read lines of a text, or one from a column on, or the first bytes of a binary file."""
        with (
            self._folders.reading(call) as session,
            suggest_path(session.files, path),
            session.files.open_file(path) as file,
            file_errors(path),
        ):
            fd, status = file.fileno(), os.fstat(file.fileno())
            sample = os.pread(fd, SAMPLE_BYTES, 0)
            text_format = texts.format_of(sample, is_whole=len(sample) == status.st_size)
            encoding = text_format.encoding
            if encoding == "binary":
                return FileExcerpt(
                    path,
                    status.st_size,
                    text_format,
                    first_bytes=sample[:MAX_BINARY_PREVIEW_BYTES],
                    kind=_kind_name(sample),
                    total=0,
                )
            index = self._indexes.of(status, encoding)
            index.extend(fd, time.monotonic() + MAX_COUNT_S)
            total = index.counted if index.is_complete else None
            if first > 1 and first > index.counted:
                raise line_not_counted(path, index.counted) if total is None else line_out_of_range(path, first, total)
            max_bytes = _max_excerpt_bytes(path)
            if column > 1:
                lines: tuple[TextLine, ...] = (_line_from(path, fd, index, encoding, first, column, max_bytes),)
            else:
                lines = tuple(
                    read_lines(fd, index, encoding, first, last, max_bytes=max_bytes, max_chars=MAX_LINE_CHARS)
                )
        return FileExcerpt(path, status.st_size, text_format, lines, (first, last), total, index.counted, column=column)

    def write(self, call: Call, path: str, content: str, mode: WriteMode) -> WrittenFile:
        """Write a text. A file that is replaced or appended to keeps its encoding and line ends."""
        with self._changing(call) as folder:
            existing = _existing_format(folder, path, mode)
            text_format = existing if existing and existing != _EMPTY else TextFormat("utf-8", _ending_of(content))
            if text_format.encoding == "binary":
                if mode == "append":
                    raise cannot_append_to_binary(path)
                text_format = TextFormat("utf-8", _ending_of(content))
            text = texts.with_line_ending(content, text_format.line_ending)
            fallback: EncodingName | None = None
            try:
                data = encodings.encode(text, text_format.encoding, with_mark=mode != "append")
            except UnicodeEncodeError as error:
                if mode == "append":
                    raise cannot_encode(path, error, text_format.encoding) from None
                fallback, text_format = text_format.encoding, TextFormat("utf-8", text_format.line_ending)
                data = text.encode()
            try:
                entry = folder.write(path, [data], mode)
            except Conflict as error:
                raise file_exists(path) from error
            self._report(call, entry.path)
            total = self._count_lines(folder, entry, text_format) if mode == "append" else None
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        return WrittenFile(entry.path, entry.size, text_format, lines, existing is None, fallback, total)

    def _count_lines(self, folder: Folder, entry: Entry, text_format: TextFormat) -> int | None:
        """Return how many lines a file has, unless it is so large that appending to it would cost a reading of it."""
        if entry.size > MAX_COUNTED_BYTES:
            return None
        with folder.open_file(entry.path) as file:
            index = self._indexes.of(os.fstat(file.fileno()), text_format.encoding)
            index.extend(file.fileno(), time.monotonic() + MAX_COUNT_S)
        return index.counted if index.is_complete else None

    def edit(self, call: Call, path: str, edits: list[Edit], stop: StopSignal | None = None) -> EditedFile:
        """Apply edits to a text, all of them or none."""
        with self._changing(call) as folder:
            with suggest_path(folder, path), folder.open_file(path) as file, file_errors(path):
                data = _read_whole(file, path, MAX_EDITED_BYTES)
            text_format = texts.format_of(data)
            if text_format.encoding == "binary":
                raise cannot_edit_binary(path)
            before = encodings.decode(data, text_format.encoding)
            outcome = editing.apply(path, before, edits, stop)
            try:
                after = encodings.encode(outcome.text, text_format.encoding)
            except UnicodeEncodeError as error:
                raise cannot_encode(path, error, text_format.encoding) from None
            if len(after) > MAX_EDITED_BYTES:
                raise file_too_large(path, MAX_EDITED_BYTES)
            entry = folder.write(path, [after])
            self._report(call, entry.path)
        diff = encodings.replace_surrogates(editing.diff(before, outcome.text, yield_gil))
        ending = texts.line_ending(after, text_format.encoding)
        text_format = replace(text_format, line_ending=ending)
        return EditedFile(entry.path, entry.size, text_format, outcome.replacements, diff, outcome.taken_as_equal)

    def list(
        self, call: Call, path: str, depth: int, offset: int, limit: int, stop: StopSignal | None = None
    ) -> DirectoryListing:
        """List a page of what is in a folder, and count all of it within MAX_WALK_S."""
        until = time.monotonic() + MAX_WALK_S
        page: list[DirectoryEntry] = []
        counted = 0
        is_complete = True
        places = range(offset, offset + limit)
        hidden = LeftOut(call.hides)
        with (
            self._folders.reading(call) as session,
            suggest_path(session.files, path),
            closing(_walk(session.files, path, depth, hidden, places)) as entries,
        ):
            for entry in entries:
                if counted in places:
                    page.append(directory_entry(entry))
                counted += 1
                if counted % 100 == 0:
                    if stop is not None:
                        stop.checkpoint()
                    if counted >= offset + limit and time.monotonic() > until:
                        is_complete = False
                        break
        top = "/".join(parse_path(path, may_be_root=True))
        if offset and offset >= counted:
            raise offset_out_of_range(top, counted)
        return DirectoryListing(
            top, depth, offset, tuple(page), counted if is_complete else None, counted, hidden.count
        )

    def move(self, call: Call, source: str, target: str) -> Entry:
        """Move or rename a file or folder; a target that is a folder receives it."""
        with self._changing(call) as folder:
            if _is_folder(folder, target):
                source_names, target_names = parse_path(source), parse_path(target, may_be_root=True)
                if source_names != target_names:
                    target = "/".join([*target_names, source_names[-1]])
            with suggest_path(folder, source):
                entry = folder.move(source, target)
            self._report(call, "/".join(parse_path(source)), entry.path)
            return entry

    def delete(self, call: Call, path: str) -> Entry:
        with self._changing(call) as folder, suggest_path(folder, path):
            entry = folder.delete(path)
            self._report(call, entry.path)
            return entry

    def import_file(self, call: Call, source: str, path: str) -> WrittenFile:
        """Copy a file from a folder that the person allowed. It never replaces anything."""
        if not self._folders.is_outside(call, source):
            raise not_outside(source)
        with self._folders.source(call, source) as (outside, inside):
            target = path or PurePosixPath(inside).name
            with _source_file(outside, inside, source) as file, file_errors(inside):
                if os.fstat(file.fileno()).st_size > MAX_COPIED_FILE_BYTES:
                    raise file_too_large(inside, MAX_COPIED_FILE_BYTES)
                with self._changing(call) as folder:
                    if path and _is_folder(folder, path):
                        target = f"{path}/{PurePosixPath(inside).name}"
                    entry = folder.write(target, _chunks(file, inside), "create")
                    self._report(call, entry.path)
                    with folder.open_file(target) as copy:
                        sample = os.pread(copy.fileno(), SAMPLE_BYTES, 0)
        text_format = texts.format_of(sample, is_whole=len(sample) == entry.size)
        return WrittenFile(entry.path, entry.size, text_format, 0, True)

    def was_changed(self, call: Call) -> bool | None:
        """Tell whether an operation of a run that was interrupted has made its change; None if it cannot be told."""
        if not self._folders.has(call):
            return False
        with self._changing(call) as folder:
            return folder.was_changed()

    def recent(self, call: Call, max_newest: int, max_folders: int, max_names: int) -> RecentFiles:
        """Return the files that changed last, and the folders with such files, each with the names of some."""
        if not self._folders.has(call):
            return RecentFiles()
        with self._folders.of(call) as session, file_errors(""):
            return self.snapshots.of(call).look(session.files, max_newest, max_folders, max_names)

    def write_upload(self, call: Call, path: str, url: str) -> WrittenFile:
        """Copy what the person uploads into the workspace; a file that is there is not replaced."""
        with self._folders.open_upload(call, url) as fd, open(fd, "rb", buffering=0, closefd=False) as file:
            with self._changing(call) as folder:
                try:
                    entry = folder.write(path, _chunks(file, path), "create")
                except Conflict as error:
                    raise file_exists(path) from error
                self._report(call, entry.path)
            sample = os.pread(fd, SAMPLE_BYTES, 0)
        text_format = texts.format_of(sample, is_whole=len(sample) == entry.size)
        return WrittenFile(entry.path, entry.size, text_format, 0, True)

    def personal(self, call: Call) -> Path | None:
        """Return the folder of the person's own that the call's session works in, if it does."""
        return self._folders.personal(call)

    def report_changes(self, call: Call, topics: Iterable[str]) -> None:
        """Take note of what notices say has changed, in whatever process."""
        for topic in topics:
            paths = changed_paths(call, topic)
            if paths is not None:
                self._report(call, *paths)

    def forget_session(self, call: Call) -> None:
        """Forget what is known of a session's files: they are deleted."""
        self.snapshots.drop(call)

    def _report(self, call: Call, *paths: str) -> None:
        snapshot = self.snapshots.find(call)
        if snapshot is not None:
            snapshot.report(paths)

    @contextmanager
    def _changing(self, call: Call) -> Iterator[Folder]:
        """Open the workspace for a change; one change at a time, over all processes."""
        with self._folders.of(call) as session, session.files.locked():
            yield session.files


def _line_from(
    path: str, fd: int, index: LineIndex, encoding: EncodingName, line: int, column: int, max_chars: int
) -> TextLine:
    until = time.monotonic() + MAX_COUNT_S
    try:
        return read_line_from(fd, index, encoding, line, column, max_chars=max_chars, until=until)
    except ShortLine as short:
        raise column_out_of_range(path, line, column, short.args[0]) from None
    except OutOfTime:
        raise column_too_far(path, line, column) from None


def _max_excerpt_bytes(path: str) -> int:
    """Return how many bytes of lines fit into an answer: fewer where the path itself is long."""
    excess = len(visible_name(path).encode()) - MAX_SHORT_PATH_BYTES
    return MAX_EXCERPT_BYTES - MAX_PATH_MENTIONS * max(excess, 0)


def _existing_format(folder: Folder, path: str, mode: WriteMode) -> TextFormat | None:
    """Return the format of the file at a path, or None if there is none or it is not replaced."""
    if mode == "create":
        return None
    try:
        with folder.open_file(path) as file, file_errors(path):
            size = os.fstat(file.fileno()).st_size
            if size > MAX_COPIED_FILE_BYTES and mode == "append":
                raise file_too_large(path, MAX_COPIED_FILE_BYTES)
            if size <= MAX_EDITED_BYTES:
                return texts.format_of(_read_whole(file, path, MAX_EDITED_BYTES)) if size else _EMPTY
            return texts.format_of(os.pread(file.fileno(), SAMPLE_BYTES, 0), is_whole=False)
    except NotFound:
        return None


def _kind_name(sample: bytes) -> str:
    """Return what a file is that cannot be shown as text, or nothing if that is not known."""
    kind = file_kind(sample)
    if kind is not None:
        return kind.name
    return "" if encodings.has_controls(sample) else UNKNOWN_ENCODING


def _read_whole(file: IO[bytes], path: str, limit: int) -> bytes:
    if os.fstat(file.fileno()).st_size > limit:
        raise file_too_large(path, limit)
    data = file.read(limit + 1)
    while len(data) <= limit and (more := file.read(limit + 1 - len(data))):
        data += more
    if len(data) > limit:
        raise file_too_large(path, limit)
    return data


@contextmanager
def _source_file(outside: Folder, path: str, source: str) -> Iterator[IO[bytes]]:
    """Open a file outside of the workspace, whose folder cannot be listed."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(outside.open_file(path))
        except NotFound as error:
            raise no_such_source(source) from error
        yield file


def _chunks(file: IO[bytes], path: str) -> Iterator[bytes]:
    left = MAX_COPIED_FILE_BYTES
    while chunk := file.read(COPY_CHUNK_BYTES):
        left -= len(chunk)
        if left < 0:  # it has grown since its size was checked
            raise file_too_large(path, MAX_COPIED_FILE_BYTES)
        yield chunk


def _ending_of(content: str) -> LineEnding:
    return texts.line_ending(content.encode(errors="replace"), "utf-8")


def _walk(folder: Folder, path: str, depth: int, hidden: LeftOut, with_status: range = EVERY) -> Generator[Entry]:
    # `.git` holds thousands of names of no interest; with it as the path they are listed.
    return folder.walk(path, depth=depth, leave_out=GIT, with_status=with_status, keep=hidden.keeps)


def _is_folder(folder: Folder, path: str) -> bool:
    try:
        return folder.entry(path).kind == "folder"
    except NotFound:
        return False
