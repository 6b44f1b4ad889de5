"""The files of a session: read, written, edited, listed, moved and deleted. Everything blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import IO

from madang.core.calls import Call
from madang.core.errors import InvalidArguments, InvalidPath, LimitExceeded, NotFound, NotRegular, OutOfRange, ToolError
from madang.core.phrases import say
from madang.core.texts import visible_name
from madang.services.workspace.domain.files import (
    CONTENT_BYTES,
    GIT,
    MAX_EDITED_BYTES,
    MAX_FILE_BYTES,
    MAX_FOUND_FILES,
    MAX_LINE_CHARS,
    Edit,
    Edited,
    Form,
    Found,
    LineEnding,
    Listing,
    Reading,
    Row,
    Written,
)
from madang.services.workspace.engine import edits as editing
from madang.services.workspace.engine import texts
from madang.services.workspace.engine.edits import too_large
from madang.services.workspace.engine.globs import Glob
from madang.services.workspace.engine.lines import COUNT_FOR_S, LineIndexes, read_lines
from madang.storage.clock import format_timestamp
from madang.storage.files import encodings
from madang.storage.files.encodings import EncodingName
from madang.storage.files.kinds import file_kind
from madang.storage.folders import Entry, Folder, Folders, WriteMode, parse_path
from madang.storage.folders.failures import translated
from madang.storage.folders.folder import EVERY, MAX_TREE_DEPTH

SAMPLE = 64 * 1024
FIRST_BYTES = 32
COPY = 1024 * 1024
WALK_FOR_S = 2.0
_EMPTY = Form("utf-8", "none")


class FileEngine:
    """Works on the folders of sessions. It keeps nothing but where lines were found in large files."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._indexes = LineIndexes()

    def read(self, call: Call, path: str, first: int, last: int | None) -> Reading:
        """Read lines of a text, or the first bytes of a binary file."""
        with self._folders.of(call) as session, session.files.open_file(path) as file, translated(path):
            fd, status = file.fileno(), os.fstat(file.fileno())
            sample = os.pread(fd, SAMPLE, 0)
            form = texts.form_of(sample, is_whole=len(sample) == status.st_size)
            encoding = form.encoding
            if encoding == "binary":
                return Reading(
                    path, status.st_size, form, first_bytes=sample[:FIRST_BYTES], kind=_kind_name(sample), total=0
                )
            index = self._indexes.of(status, encoding)
            index.extend(fd, time.monotonic() + COUNT_FOR_S)
            total = index.counted if index.is_complete else None
            if first > 1 and first > index.counted:
                raise _past_the_end(path, first, total, index.counted)
            lines = tuple(read_lines(fd, index, encoding, first, last, room=CONTENT_BYTES, longest=MAX_LINE_CHARS))
        return Reading(path, status.st_size, form, lines, (first, last), total, index.counted)

    def write(self, call: Call, path: str, content: str, mode: WriteMode) -> Written:
        """Write a text; over one that is there in the encoding and with the line ends it has."""
        with self._changing(call) as folder:
            there = _form_there(folder, path, mode)
            form = there if there and there != _EMPTY else Form("utf-8", _ending_of(content))
            if form.encoding == "binary":
                if mode == "append":
                    raise NotRegular(
                        say("'{path}' is a binary file: no text can be added to it.", path=visible_name(path)),
                        hint=say("Write to another path, or replace it with mode 'overwrite'."),
                    )
                form = Form("utf-8", _ending_of(content))
            text = texts.with_line_ending(content, form.line_ending)
            fallback: EncodingName | None = None
            try:
                data = encodings.encode(text, form.encoding, with_mark=mode != "append")
            except UnicodeEncodeError as error:
                if mode == "append":
                    raise cannot_carry(path, error, form.encoding) from None
                fallback, form = form.encoding, Form("utf-8", form.line_ending)
                data = text.encode()
            entry = folder.write(path, [data], mode)
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        return Written(entry.path, entry.size, form, lines, there is None, fallback)

    def edit(self, call: Call, path: str, edits: list[Edit]) -> Edited:
        """Apply edits to a text, all of them or none."""
        with self._changing(call) as folder:
            with folder.open_file(path) as file, translated(path):
                data = _read_whole(file, path, MAX_EDITED_BYTES)
            form = texts.form_of(data)
            if form.encoding == "binary":
                raise NotRegular(
                    say("'{path}' is a binary file, not a text.", path=visible_name(path)),
                    hint=say("Only texts can be edited; 'write_file' replaces a file."),
                )
            before = encodings.decode(data, form.encoding)
            outcome = editing.apply(path, before, edits)
            try:
                after = encodings.encode(outcome.text, form.encoding)
            except UnicodeEncodeError as error:
                raise cannot_carry(path, error, form.encoding) from None
            if len(after) > MAX_EDITED_BYTES:
                raise too_large(path, MAX_EDITED_BYTES)
            entry = folder.write(path, [after])
        difference = encodings.replace_surrogates(editing.diff(before, outcome.text))
        ending = texts.line_ending(after, form.encoding)
        return Edited(entry.path, entry.size, replace(form, line_ending=ending), outcome.changed, difference)

    def list(self, call: Call, path: str, depth: int, offset: int, limit: int) -> Listing:
        """List some of what is in a folder, and count the rest as far as there is time."""
        until = time.monotonic() + WALK_FOR_S
        rows: list[Row] = []
        counted = 0
        is_complete = True
        wanted = range(offset, offset + limit)
        with self._folders.of(call) as session, closing(_walk(session.files, path, depth, wanted)) as entries:
            for entry in entries:
                if counted in wanted:
                    rows.append(_row(entry))
                counted += 1
                if counted % 1000 == 0 and counted >= offset + limit and time.monotonic() > until:
                    is_complete = False
                    break
        top = "/".join(parse_path(path, may_be_root=True))
        if offset and offset >= counted:
            raise OutOfRange(
                say("There are only {count} entries in '{path}'.", count=counted, path=visible_name(top) or "."),
                hint=say("Use an offset from 0 to {most}.", most=max(counted - 1, 0)),
            )
        return Listing(top, depth, offset, tuple(rows), counted if is_complete else None, counted)

    def search(self, call: Call, pattern: str, path: str) -> Found:
        """Find files and folders whose path below `path` fits a pattern."""
        glob = Glob(pattern)
        until = time.monotonic() + WALK_FOR_S
        top = parse_path(path, may_be_root=True)
        found: list[Entry] = []
        searched = too_deep = total = 0
        is_complete = True
        prefix = len("/".join(top)) + 1 if top else 0
        with self._folders.of(call) as session:
            walk = session.files.walk(path, depth=MAX_TREE_DEPTH, leave_out=GIT, with_status=range(0))
            with closing(walk) as entries:
                for entry in entries:
                    searched += 1
                    inside = entry.path[prefix:]
                    if entry.kind == "folder":
                        too_deep += inside.count("/") == MAX_TREE_DEPTH - 1
                    elif glob.fits(inside):
                        total += 1
                        if len(found) < MAX_FOUND_FILES:
                            found.append(entry)
                    if time.monotonic() > until:  # each time: a pattern can be long
                        is_complete = False
                        break
            rows = tuple(_row_now(session.files, entry) for entry in found)
        return Found(pattern, "/".join(top), rows, total, searched, is_complete, too_deep)

    def move(self, call: Call, source: str, target: str) -> Entry:
        """Rename something; onto a folder that is there, it moves into it."""
        with self._changing(call) as folder:
            if _is_folder(folder, target) and parse_path(source) != parse_path(target, may_be_root=True):
                target = "/".join([*parse_path(target, may_be_root=True), parse_path(source)[-1]])
            return folder.move(source, target)

    def delete(self, call: Call, path: str) -> Entry:
        with self._changing(call) as folder:
            return folder.delete(path)

    def import_file(self, call: Call, source: str, path: str) -> Written:
        """Copy a file from a folder that the person allowed; nothing that is there is replaced."""
        if not self._folders.is_outside(call, source):
            raise InvalidPath(
                say("'{path}' does not name a file outside of the workspace.", path=visible_name(source)),
                hint=say("Give an absolute path in a folder that the person allowed; 'move_file' renames files here."),
            )
        with self._folders.source(call, source) as (outside, inside):
            target = path or PurePosixPath(inside).name
            with outside.open_file(inside) as file, translated(inside):
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    raise too_large(inside, MAX_FILE_BYTES)
                with self._changing(call) as folder:
                    if path and _is_folder(folder, path):
                        target = f"{path}/{PurePosixPath(inside).name}"
                    entry = folder.write(target, _parts(file, inside), "create")
                    with folder.open_file(target) as copy:
                        sample = os.pread(copy.fileno(), SAMPLE, 0)
        form = texts.form_of(sample, is_whole=len(sample) == entry.size)
        return Written(entry.path, entry.size, form, 0, True)

    def newest(self, call: Call, most: int) -> tuple[tuple[Row, ...], int, bool]:
        """Return the files that changed last, how many there are, and whether all were looked at."""
        until = time.monotonic() + WALK_FOR_S / 8
        newest: list[Entry] = []
        files = 0
        is_complete = True
        if not self._folders.has(call):
            return (), 0, True
        with self._folders.of(call) as session, closing(_walk(session.files, "", MAX_TREE_DEPTH)) as entries:
            for count, entry in enumerate(entries, start=1):
                if entry.kind == "file":
                    files += 1
                    newest.append(entry)
                    if len(newest) > 10 * most:
                        newest = _latest(newest, most)
                if count % 500 == 0 and time.monotonic() > until:
                    is_complete = False
                    break
        return tuple(map(_row, _latest(newest, most))), files, is_complete

    @contextmanager
    def _changing(self, call: Call) -> Iterator[Folder]:
        """Open the workspace for a change; one change at a time, over all processes."""
        with self._folders.of(call) as session, session.files.locked():
            yield session.files


def cannot_carry(path: str, error: UnicodeEncodeError, encoding: EncodingName) -> InvalidArguments:
    """Say which character a file's encoding has no place for."""
    char = error.object[error.start]
    return InvalidArguments(
        say(
            "'{path}' is in {encoding}, which has no '{char}' (U+{code}). Nothing was changed.",
            path=visible_name(path),
            encoding=encoding,
            char=char,
            code=f"{ord(char):04X}",
        ),
        hint=say("Write it with characters that {encoding} has, or the whole file as UTF-8.", encoding=encoding),
    )


def _form_there(folder: Folder, path: str, mode: WriteMode) -> Form | None:
    """Return how the file at a path is written, or None if there is none, or it does not matter."""
    if mode == "create":
        return None
    try:
        with folder.open_file(path) as file, translated(path):
            size = os.fstat(file.fileno()).st_size
            if size > MAX_FILE_BYTES and mode == "append":
                raise too_large(path, MAX_FILE_BYTES)
            if size <= MAX_EDITED_BYTES:
                return texts.form_of(_read_whole(file, path, MAX_EDITED_BYTES)) if size else _EMPTY
            return texts.form_of(os.pread(file.fileno(), SAMPLE, 0), is_whole=False)
    except NotFound:
        return None


def _kind_name(sample: bytes) -> str:
    """Return what a file is that cannot be shown as text, or nothing if that is not known."""
    kind = file_kind(sample)
    if kind is not None:
        return kind.name
    return "" if encodings.has_controls(sample) else "text in an unknown encoding"


def _past_the_end(path: str, first: int, total: int | None, counted: int) -> OutOfRange | LimitExceeded:
    if total is None:
        return LimitExceeded(
            say("Time was up after the first {count} lines of '{path}'.", count=counted, path=visible_name(path)),
            hint=say("Call again: counting goes on where it stopped. Or find the place with 'grep'."),
        )
    return OutOfRange(
        say(
            "Line {line} does not exist: '{path}' has {total} lines.", line=first, path=visible_name(path), total=total
        ),
        hint=say("Use a startLine from 1 to {total}.", total=max(total, 1)),
    )


def _read_whole(file: IO[bytes], path: str, limit: int) -> bytes:
    if os.fstat(file.fileno()).st_size > limit:
        raise too_large(path, limit)
    data = file.read(limit + 1)
    while len(data) <= limit and (more := file.read(limit + 1 - len(data))):
        data += more
    if len(data) > limit:
        raise too_large(path, limit)
    return data


def _parts(file: IO[bytes], path: str) -> Iterator[bytes]:
    left = MAX_FILE_BYTES
    while part := file.read(COPY):
        left -= len(part)
        if left < 0:  # it grew while it was read
            raise too_large(path, MAX_FILE_BYTES)
        yield part


def _ending_of(content: str) -> LineEnding:
    return texts.line_ending(content.encode(errors="replace"), "utf-8")


def _walk(folder: Folder, path: str, depth: int, with_status: range = EVERY) -> Generator[Entry]:
    # A folder of Git has thousands of names in it that nobody asked for; one who names it gets them.
    return folder.walk(path, depth=depth, leave_out=GIT, with_status=with_status)


def _row(entry: Entry) -> Row:
    modified = datetime.fromtimestamp(entry.modified_ns / 10**9, UTC)
    return Row(entry.path, entry.kind, entry.size, format_timestamp(modified))


def _latest(entries: list[Entry], most: int) -> list[Entry]:
    return sorted(entries, key=lambda entry: (-entry.modified_ns, entry.path))[:most]


def _row_now(folder: Folder, entry: Entry) -> Row:
    """Return a row with its size and time; a name that no path can carry is told without them."""
    try:
        return _row(folder.entry(entry.path))
    except ToolError:
        return Row(entry.path, entry.kind, 0, "")


def _is_folder(folder: Folder, path: str) -> bool:
    try:
        return folder.entry(path).kind == "folder"
    except NotFound:
        return False
