"""A folder and everything in it, by descriptor. Its methods block: call them from a thread.

Only regular files are read and written; symbolic links are seen, never followed. Writes are atomic, also
across a crash: a draft in a folder beside this one is renamed into place.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

from madang.core.errors import InvalidPath, NotFound, ToolError
from madang.core.phrases import say
from madang.files.folders.entries import Entry, Keep, check_empty, entry_of, keep_every, walk_entries
from madang.files.folders.failures import changed_meanwhile, file_errors, require_regular
from madang.files.folders.git_fence import check_no_git
from madang.files.folders.journal import MovedPath
from madang.files.folders.kernel import directory_flags, open_beneath, reading_flags, rename_new, sync_disk, write_all
from madang.files.folders.paths import parse_path
from madang.files.folders.spelling import spelling_of
from madang.files.folders.staging import Staging
from madang.files.folders.states import (
    ABSENT,
    READ_BYTES,
    FileState,
    Fingerprint,
    file_state,
    fingerprint,
    state_at,
)

if TYPE_CHECKING:
    from madang.files.folders.recording import Recorder

WriteMode = Literal["overwrite", "create", "append"]

MAX_TREE_DEPTH = 64
"""How many folders deep a walk goes at most: each is a descriptor that is held open."""
EVERY = range(sys.maxsize)
"""All places of a walk."""


class CopiedStatus(NamedTuple):
    """What a copy of a file takes over, beside its bytes."""

    modified_ns: int
    is_executable: bool


class Folder:
    """A directory held open; its maker closes it. Without `staging` it is only for reading.

    With a `recorder`, what a run changes can be taken back. One that `is_personal` is the person's own: new files in it
    can be read by whoever can read the folder they are in, and what Git keeps there is not changed.
    """

    def __init__(
        self,
        fd: int,
        staging: Staging | None = None,
        *,
        recorder: Recorder | None = None,
        is_personal: bool = False,
    ) -> None:
        self.fd = fd
        self._staging = staging
        self._recorder = recorder
        self._is_personal = is_personal
        if recorder is not None:
            recorder.is_there = self.is_there

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
            require_regular(path, os.fstat(fd).st_mode)
            os.set_blocking(fd, True)
            with open(fd, "rb", buffering=0, closefd=False) as file:
                yield file
        finally:
            os.close(fd)

    def entry(self, path: str) -> Entry:
        """Return what is at a path; a link is told as a link."""
        names = parse_path(path, may_be_root=True)
        with file_errors(path), self._parent(names) as (parent_fd, name):
            return entry_of("/".join(names), os.stat(name, dir_fd=parent_fd, follow_symlinks=False))

    def is_there(self, path: str) -> bool:
        """Tell whether something is at a path, be it a link."""
        try:
            self.entry(path)
        except ToolError:
            return False
        return True

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

    def walk(
        self, path: str = "", *, depth: int, leave_out: str = "", with_status: range = EVERY, keep: Keep = keep_every
    ) -> Generator[Entry]:
        """Yield what is below a folder, each folder's names in order, a folder before what is in it.

        What disappears or may not be read meanwhile is left out; nothing is followed. Folders named `leave_out` are
        told and not entered; what `keep` refuses is neither. `with_status` are the places in the walk for which sizes
        and times are looked up: to ask the disk for each of two hundred thousand names takes longer than to list them.
        """
        top = "/".join(parse_path(path, may_be_root=True))
        with self.open_folder(path) as fd:
            yield from walk_entries(fd, top, min(depth, MAX_TREE_DEPTH), leave_out, with_status, count(), keep)

    def write(
        self,
        path: str,
        parts: Iterable[bytes],
        mode: WriteMode = "overwrite",
        *,
        like: CopiedStatus | None = None,
        permissions: int | None = None,
    ) -> Entry:
        """Write a regular file, making the folders above it; it is there whole or not at all.

        `like` is the status of the file that it is a copy of. Copies are many: `flush` makes all of them durable.

        Raises:
            Conflict: `create`, and something is there.
            ToolError: the path is none, what is there is not a regular file, or the disk refused.
        """
        names = self._changeable(path)
        with file_errors(path), self._writable().draft() as draft:
            is_new = not self._begin_like(path, names, draft.fd, with_content=mode == "append")
            for part in parts:
                write_all(draft.fd, part)
            if permissions is not None:
                os.fchmod(draft.fd, permissions)
            if like is not None:
                os.fchmod(draft.fd, 0o700 if like.is_executable else 0o600)
                os.utime(draft.fd, ns=(like.modified_ns, like.modified_ns))
            else:
                os.fsync(draft.fd)
            if mode == "create":
                self._check_free(path)
            seen = self._record(names, file_state(draft.fd)) if self._recorder else None
            # Folders are made last: a disk that is full must not leave empty ones behind.
            with self._created_parent(names) as (parent_fd, name):
                if is_new and self._is_personal and permissions is None and like is None:
                    os.fchmod(draft.fd, 0o600 | stat.S_IMODE(os.fstat(parent_fd).st_mode) & 0o044)
                if seen is not None and fingerprint(parent_fd, name) != seen:
                    raise changed_meanwhile(path)
                if mode == "create":
                    rename_new(draft.folder_fd, draft.name, parent_fd, name)
                else:
                    os.rename(draft.name, name, src_dir_fd=draft.folder_fd, dst_dir_fd=parent_fd)
                if like is None:
                    os.fsync(parent_fd)
            return entry_of("/".join(names), os.fstat(draft.fd))

    def make(self, path: str, state: FileState) -> None:
        """Make an empty folder, or a symbolic link, which nothing here ever follows.

        Raises:
            Conflict: something is there.
        """
        names = self._changeable(path)
        with file_errors(path):
            self._check_free(path)
            self._record(names, state)
            with self._created_parent(names) as (parent_fd, name):
                if state.kind == "folder":
                    os.mkdir(name, state.permissions, dir_fd=parent_fd)
                else:
                    os.symlink(state.target, name, dir_fd=parent_fd)
                os.fsync(parent_fd)

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
        from_names, to_names = self._changeable(source), self._changeable(target)
        if to_names[: len(from_names)] == from_names and to_names != from_names:
            raise InvalidPath(say("'{path}' cannot move into itself.", path=source))
        with file_errors(source), self._parent(from_names) as (from_fd, from_name):
            status = os.stat(from_name, dir_fd=from_fd, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                require_regular(source, status.st_mode)
            with (
                file_errors(target),
                self._recorded_move(from_names, to_names),
                self._created_parent(to_names) as (to_fd, to_name),
            ):
                rename_new(from_fd, from_name, to_fd, to_name)
                os.fsync(to_fd)
            os.fsync(from_fd)
            return entry_of("/".join(to_names), status)

    def delete(self, path: str) -> Entry:
        """Remove a file, a link (not what it points to), or an empty folder, and return what it was."""
        names = self._changeable(path)
        with file_errors(path), self._parent(names) as (parent_fd, name):
            entry = entry_of("/".join(names), os.stat(name, dir_fd=parent_fd, follow_symlinks=False))
            if self._recorder is not None:
                if entry.kind == "folder":
                    check_empty(parent_fd, name)
                seen = self._recorder.keep(entry.path, parent_fd, name, ABSENT)
                if fingerprint(parent_fd, name) != seen:
                    raise changed_meanwhile(path)
            if entry.kind == "folder":
                os.rmdir(name, dir_fd=parent_fd)
            else:
                os.unlink(name, dir_fd=parent_fd)
            os.fsync(parent_fd)
            return entry

    def was_changed(self) -> bool | None:
        """Tell whether the operation that this folder is open for has made its change, which was interrupted.

        None: somebody has changed the same since, so that it cannot be told.
        """
        change = self._recorder.find_change() if self._recorder is not None else None
        if change is None:
            return False
        if isinstance(change, MovedPath):
            return change.is_done is True  # opening the record has settled it
        now = self.state(change.path)
        if now.is_same(change.after):
            return True
        return False if now.is_same(change.before) else None

    def state(self, path: str) -> FileState:
        """Return what is at a path; a file is read to its end. Nothing is there where a folder above it is missing."""
        names = parse_path(path)
        try:
            with file_errors(path), self._parent(names) as (parent_fd, name):
                return state_at(parent_fd, name)
        except NotFound:
            return ABSENT

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's write lock, in this process and others, for a read, change and write.

        Raises:
            Unavailable: another writer has held it too long, perhaps because its process was stopped.
        """
        with self._writable().locked():
            yield

    def _writable(self) -> Staging:
        if self._staging is None:
            raise RuntimeError("This folder is only for reading.")
        return self._staging

    def _changeable(self, path: str) -> tuple[str, ...]:
        """Return the names along a path that may be changed.

        Raises:
            Denied: it belongs to Git, in a folder of the person's own.
        """
        names = parse_path(path)
        if self._is_personal:
            check_no_git(path, names, self.is_there)
        return names

    def _record(self, names: tuple[str, ...], after: FileState) -> Fingerprint | None:
        """Keep what is at a path for the run that will change it; return what tells it from something else."""
        if self._recorder is None:
            return None
        path, parents = "/".join(names), self._count_parents(names)
        if parents < len(names) - 1:
            self._recorder.keep_absent(path, "/".join(names[: parents + 1]), after)
            return ()
        with self._parent(names) as (parent_fd, name):
            return self._recorder.keep(path, parent_fd, name, after)

    @contextmanager
    def _recorded_move(self, source: tuple[str, ...], target: tuple[str, ...]) -> Iterator[None]:
        if self._recorder is None:
            yield
            return
        parents = self._count_parents(target)
        made_from = "/".join(target[: parents + 1]) if parents < len(target) - 1 else ""
        with self._recorder.moving("/".join(source), "/".join(target), made_from):
            yield

    def _count_parents(self, names: tuple[str, ...]) -> int:
        """Return how many of the folders above a path are there."""
        for parents in range(len(names) - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.close(self._open(names[:parents], directory_flags()))
                return parents
        return 0

    def _check_free(self, path: str) -> None:
        """Refuse a path that is taken, before anything is recorded of it; the kernel refuses it once more."""
        if self._recorder is not None and self.is_there(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

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
                below = open_beneath(at, (spelling_of(at, name),), directory_flags())
                os.close(at)
                at = below
            return open_beneath(at, (spelling_of(at, names[-1]),), flags)
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
            yield fd, spelling_of(fd, names[-1])
        finally:
            os.close(fd)

    @contextmanager
    def _created_parent(self, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """Do the same, and make the folders that are missing, each from the one above it."""
        at = os.dup(self.fd)
        try:
            for name in names[:-1]:
                spelling = spelling_of(at, name)
                with suppress(FileExistsError):
                    os.mkdir(spelling, self._folder_permissions(at), dir_fd=at)
                    os.fsync(at)
                below = open_beneath(at, (spelling,), directory_flags())
                os.close(at)
                at = below
            yield at, spelling_of(at, names[-1])
        finally:
            os.close(at)

    def _folder_permissions(self, parent_fd: int) -> int:
        return 0o700 | os.fstat(parent_fd).st_mode & 0o055 if self._is_personal else 0o700

    def _begin_like(self, path: str, names: tuple[str, ...], draft_fd: int, *, with_content: bool) -> bool:
        """Give a draft the permissions of the file it is to replace, and its content if wanted; False without one."""
        try:
            fd = self._open(names, reading_flags())
        except FileNotFoundError:
            return False
        try:
            mode = os.fstat(fd).st_mode
            require_regular(path, mode)
            os.fchmod(draft_fd, stat.S_IMODE(mode) & 0o777)
            while with_content and (part := os.read(fd, READ_BYTES)):
                write_all(draft_fd, part)
            return True
        finally:
            os.close(fd)
