"""A folder and everything in it, by descriptor. Its methods block: call them from a thread.

Only regular files are read and written; symbolic links are seen, never followed. Writes are atomic, also
across a crash: a draft in a folder beside this one is renamed into place.
"""

from __future__ import annotations

import os
import stat
import sys
import unicodedata
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import IO, Literal, NamedTuple

from madang.core.errors import InvalidPath, NotRegular, Unavailable
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.storage.folders.failures import file_errors
from madang.storage.folders.kernel import directory_flags, open_beneath, reading_flags, rename_new, sync_disk
from madang.storage.folders.paths import MAX_NAME_BYTES, parse_path
from madang.storage.locks import lock_within, try_lock

EntryKind = Literal["file", "folder", "link", "other"]
WriteMode = Literal["overwrite", "create", "append"]

_COPY_BYTES = 1 << 20
MAX_TREE_DEPTH = 64
"""How many folders deep a walk goes at most: each is a descriptor that is held open."""
EVERY = range(sys.maxsize)
"""All places of a walk."""
MAX_LOCK_WAIT_S = 4
"""How long a writer waits for another one before it fails."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a folder says about one of its names, without following it."""

    path: str
    kind: EntryKind
    size: int = 0
    modified_ns: int = 0

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


class CopiedStatus(NamedTuple):
    """What a copy of a file takes over, beside its bytes."""

    modified_ns: int
    is_executable: bool


class Folder:
    """A directory held open; its maker closes it. `temporary_fd` is a directory on the same disk for drafts."""

    def __init__(self, fd: int, temporary_fd: int | None = None) -> None:
        self.fd = fd
        self._temporary_fd = temporary_fd

    def close(self) -> None:
        os.close(self.fd)

    @contextmanager
    def open_file(self, path: str) -> Iterator[IO[bytes]]:
        """Open a regular file for reading.

        Raises:
            ToolError: the path is none, nothing is there, or it is not a regular file.
        """
        names = parse_path(path)
        with file_errors(path):
            fd = self._open(names, reading_flags())
        try:
            _require_regular(path, os.fstat(fd).st_mode)
            os.set_blocking(fd, True)
            with open(fd, "rb", buffering=0, closefd=False) as file:
                yield file
        finally:
            os.close(fd)

    def entry(self, path: str) -> Entry:
        """Return what is at a path; a link is told as a link."""
        names = parse_path(path, may_be_root=True)
        with file_errors(path), self._parent(names) as (parent_fd, name):
            return _entry("/".join(names), os.stat(name, dir_fd=parent_fd, follow_symlinks=False))

    @contextmanager
    def open_folder(self, path: str) -> Iterator[int]:
        """Open a folder inside this one (or this one) and give its descriptor, which is closed afterwards."""
        names = parse_path(path, may_be_root=True)
        with file_errors(path):
            fd = self._open(names, directory_flags())
        try:
            yield fd
        finally:
            os.close(fd)

    def walk(self, path: str = "", *, depth: int, leave_out: str = "", with_status: range = EVERY) -> Generator[Entry]:
        """Yield what is below a folder, each folder's names in order, a folder before what is in it.

        What disappears or may not be read meanwhile is left out; nothing is followed. Folders named `leave_out` are
        told and not entered. `with_status` are the places in the walk for which sizes and times are looked up: to
        ask the disk for each of two hundred thousand names takes longer than to list them.
        """
        top = "/".join(parse_path(path, may_be_root=True))
        with self.open_folder(path) as fd:
            yield from _walk(fd, top, min(depth, MAX_TREE_DEPTH), leave_out, with_status, count())

    def write(
        self, path: str, parts: Iterable[bytes], mode: WriteMode = "overwrite", *, like: CopiedStatus | None = None
    ) -> Entry:
        """Write a regular file, making the folders above it; it is there whole or not at all.

        `like` is the status of the file that it is a copy of. Copies are many: `flush` makes all of them durable.

        Raises:
            Conflict: `create`, and something is there.
            ToolError: the path is none, what is there is not a regular file, or the disk refused.
        """
        names = parse_path(path)
        with file_errors(path), self._draft() as (draft_fd, draft):
            self._begin_like(path, names, draft_fd, with_content=mode == "append")
            for part in parts:
                _write_all(draft_fd, part)
            if like is not None:
                os.fchmod(draft_fd, 0o700 if like.is_executable else 0o600)
                os.utime(draft_fd, ns=(like.modified_ns, like.modified_ns))
            else:
                os.fsync(draft_fd)
            # Folders are made last: a disk that is full must not leave empty ones behind.
            with self._created_parent(names) as (parent_fd, name):
                self._place(draft, parent_fd, name, may_replace=mode != "create")
                if like is None:
                    os.fsync(parent_fd)
            return _entry("/".join(names), os.fstat(draft_fd))

    def flush(self) -> None:
        """Make durable what was written as copies."""
        with file_errors(""):
            sync_disk(self.fd)

    def move(self, source: str, target: str) -> Entry:
        """Rename a file or folder inside this folder; what is at the target stays.

        Raises:
            Conflict: something is at the target.
            InvalidPath: a folder cannot move into itself.
        """
        from_names, to_names = parse_path(source), parse_path(target)
        if to_names[: len(from_names)] == from_names and to_names != from_names:
            raise InvalidPath(say("'{path}' cannot move into itself.", path=source))
        with file_errors(source), self._parent(from_names) as (from_fd, from_name):
            status = os.stat(from_name, dir_fd=from_fd, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                _require_regular(source, status.st_mode)
            with file_errors(target), self._created_parent(to_names) as (to_fd, to_name):
                rename_new(from_fd, from_name, to_fd, to_name)
                os.fsync(to_fd)
            os.fsync(from_fd)
            return _entry("/".join(to_names), status)

    def delete(self, path: str) -> Entry:
        """Remove a file, a link (not what it points to), or an empty folder, and return what it was."""
        names = parse_path(path)
        with file_errors(path), self._parent(names) as (parent_fd, name):
            entry = _entry("/".join(names), os.stat(name, dir_fd=parent_fd, follow_symlinks=False))
            if entry.kind == "folder":
                os.rmdir(name, dir_fd=parent_fd)
            else:
                os.unlink(name, dir_fd=parent_fd)
            os.fsync(parent_fd)
            return entry

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's write lock, in this process and others, for a read, change and write.

        Raises:
            Unavailable: another writer has held it too long, perhaps because its process was stopped.
        """
        if self._temporary_fd is None:
            raise RuntimeError("This folder is only for reading.")
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with file_errors("lock"):  # a disk may have no place for one more file, however small
            fd = os.open("lock", flags, 0o600, dir_fd=self._temporary_fd)
        try:
            if not lock_within(fd, MAX_LOCK_WAIT_S):
                raise workspace_busy()
            yield
        finally:
            os.close(fd)

    def _open(self, names: tuple[str, ...], flags: int) -> int:
        try:
            return open_beneath(self.fd, names, flags)
        except FileNotFoundError:
            if all(name.isascii() for name in names):
                raise
        # Macs write Hangul in parts (NFD); what a model or a person types is composed. Each name has its own spelling.
        at = os.dup(self.fd)
        try:
            for name in names[:-1]:
                below = open_beneath(at, (_spelling_of(at, name),), directory_flags())
                os.close(at)
                at = below
            return open_beneath(at, (_spelling_of(at, names[-1]),), flags)
        finally:
            os.close(at)

    @contextmanager
    def _parent(self, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """Give the folder that a path's last name is in, and the name as it is written there."""
        if not names:
            yield self.fd, "."
            return
        fd = self._open(names[:-1], directory_flags())
        try:
            yield fd, _spelling_of(fd, names[-1])
        finally:
            os.close(fd)

    @contextmanager
    def _created_parent(self, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """Do the same, and make the folders that are missing, each from the one above it."""
        at = os.dup(self.fd)
        try:
            for name in names[:-1]:
                spelling = _spelling_of(at, name)
                with suppress(FileExistsError):
                    os.mkdir(spelling, 0o700, dir_fd=at)
                    os.fsync(at)
                below = open_beneath(at, (spelling,), directory_flags())
                os.close(at)
                at = below
            yield at, _spelling_of(at, names[-1])
        finally:
            os.close(at)

    @contextmanager
    def _draft(self) -> Iterator[tuple[int, str]]:
        """Give a new file that is gone afterwards, unless it was placed. Its lock says that it is still written."""
        if self._temporary_fd is None:
            raise RuntimeError("This folder is only for reading.")
        name, fd = self._new_draft(self._temporary_fd)
        try:
            yield fd, name
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._temporary_fd)
            os.close(fd)

    @staticmethod
    def _new_draft(temporary_fd: int) -> tuple[str, int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            name = f"draft-{new_id()}"
            fd = os.open(name, flags, 0o600, dir_fd=temporary_fd)
            # A sweep may come between the two lines; then it has the lock, or the name is gone.
            if try_lock(fd) and os.fstat(fd).st_nlink:
                return name, fd
            os.close(fd)

    def _place(self, draft: str, parent_fd: int, name: str, *, may_replace: bool) -> None:
        assert self._temporary_fd is not None
        if may_replace:
            os.rename(draft, name, src_dir_fd=self._temporary_fd, dst_dir_fd=parent_fd)
        else:
            rename_new(self._temporary_fd, draft, parent_fd, name)

    def _begin_like(self, path: str, names: tuple[str, ...], draft_fd: int, *, with_content: bool) -> None:
        """Give a draft the permissions of the file it is to replace, and its content if wanted."""
        try:
            fd = self._open(names, reading_flags())
        except FileNotFoundError:
            return
        try:
            mode = os.fstat(fd).st_mode
            _require_regular(path, mode)
            os.fchmod(draft_fd, stat.S_IMODE(mode) & 0o777)
            while with_content and (part := os.read(fd, _COPY_BYTES)):
                _write_all(draft_fd, part)
        finally:
            os.close(fd)


def sweep(temporary_fd: int) -> None:
    """Remove the drafts of processes that were killed: those whose lock is free."""
    for name in os.listdir(temporary_fd):
        if not name.startswith("draft-"):
            continue
        with suppress(OSError):
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=temporary_fd)
            try:
                if try_lock(fd):
                    os.unlink(name, dir_fd=temporary_fd)
            finally:
                os.close(fd)


class WorkspaceBusy(Unavailable):
    """A writer timed out waiting for the lock."""


def workspace_busy() -> WorkspaceBusy:
    return WorkspaceBusy(
        say("Another write has kept this workspace locked for {seconds} s.", seconds=MAX_LOCK_WAIT_S),
        hint=say("Nothing was changed. Call again in a moment."),
    )


def _walk(fd: int, top: str, depth: int, leave_out: str, with_status: range, places: Iterator[int]) -> Generator[Entry]:
    prefix = f"{top}/" if top else ""
    with os.scandir(fd) as listing:
        # Names and kinds alone: two hundred thousand of them fit easily.
        names = sorted((item.name, _listed_kind(item)) for item in listing)
    for name, kind in names:
        # A name that is not Unicode is shown with replacements, and cannot be used: no text could carry it.
        path = prefix + (name if name.isascii() else os.fsencode(name).decode(errors="replace"))
        entry = Entry(path, kind)
        if next(places) in with_status:
            status = _stat(fd, name)
            if status is None:
                continue
            entry = _entry(path, status)
        yield entry
        if entry.kind == "folder" and depth > 1 and name != leave_out:
            try:
                below = open_beneath(fd, (name,), directory_flags())
            except OSError:
                continue
            try:
                yield from _walk(below, entry.path, depth - 1, leave_out, with_status, places)
            finally:
                os.close(below)


def _listed_kind(item: os.DirEntry[str]) -> EntryKind:
    try:
        if item.is_symlink():
            return "link"
        if item.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if item.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"


def _spelling_of(fd: int, name: str) -> str:
    """Return the spelling under which a name is there, or the name itself when it is not."""
    for form in ("NFC", "NFD"):
        other = unicodedata.normalize(form, name)
        if other != name and _fits(other) and _stat(fd, name) is None and _stat(fd, other) is not None:
            return other
    return name


def _fits(name: str) -> bool:
    """Tell whether a name can be one: Hangul in parts is two or three times as long, and then nothing is there."""
    return len(os.fsencode(name)) <= MAX_NAME_BYTES


def _stat(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None


def _entry(path: str, status: os.stat_result) -> Entry:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return Entry(path, "file", status.st_size, status.st_mtime_ns)
    kind: EntryKind = "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "other"
    return Entry(path, kind, 0, status.st_mtime_ns)


def _require_regular(path: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise NotRegular(
            say("'{path}' is a folder, not a file.", path=path),
            hint=say("Call Madang's 'list_directory' with path '{path}' to see what is in it.", path=path),
        )
    raise NotRegular(
        say("'{path}' is not a regular file: links, pipes, sockets and devices are not used.", path=path),
        hint=say("Call Madang's 'list_directory' to see what there is."),
    )


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
