"""Copies of files as they were before a run changed them, by their digest, each content once in a session.

They lie in the data folder beside the session's files, readable by their owner only. Everything blocks.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from madang.core.errors import LimitExceeded, NotFound
from madang.core.phrases import say
from madang.files.folders.entries import stat_name
from madang.files.folders.failures import changed_meanwhile
from madang.files.folders.kernel import open_beneath, reading_flags, write_all
from madang.files.folders.staging import SessionStaging
from madang.files.folders.states import ABSENT, FileState, Fingerprint, fingerprint_of, other_state, read_parts

MAX_COPIES_BYTES = 4 * 1024**3
"""Of one session. What does not fit is not changed: a copy is given up only by age, or by the person."""

_totals: dict[tuple[int, int], tuple[int, int]] = {}
"""The bytes in a directory of copies when it was last changed, by device and inode: to count is to ask for each."""
MAX_TOTALS = 1_000


class Copies:
    """The copies in a directory that is held open by its user. Without `staging` they are only read."""

    def __init__(self, fd: int, staging: SessionStaging | None = None) -> None:
        self._fd = fd
        self._staging = staging

    def keep(self, path: str, parent_fd: int, name: str) -> tuple[FileState, Fingerprint]:
        """Return what is under a name in a directory; of a file, a copy is durable then.

        Raises:
            Conflict: somebody changes it at this moment.
            LimitExceeded: there are too many copies already.
            OSError: the disk is full.
        """
        status = stat_name(parent_fd, name)
        if status is None:
            return ABSENT, ()
        if not stat.S_ISREG(status.st_mode):
            return other_state(parent_fd, name, status), fingerprint_of(status)
        fd = open_beneath(parent_fd, (name,), reading_flags())
        try:
            opened = os.fstat(fd)
            if not stat.S_ISREG(opened.st_mode):
                raise changed_meanwhile(path)
            state = self._copy(path, fd, opened)
            if fingerprint_of(os.fstat(fd)) != fingerprint_of(opened):
                raise changed_meanwhile(path)
            return state, fingerprint_of(opened)
        finally:
            os.close(fd)

    def _copy(self, path: str, fd: int, status: os.stat_result) -> FileState:
        total = self._total()
        if total + status.st_size > MAX_COPIES_BYTES:
            raise _too_many_copies(path)
        digest = hashlib.sha256()
        size = 0
        assert self._staging is not None
        with self._staging.draft() as draft:
            for part in read_parts(fd):
                digest.update(part)
                size += len(part)
                write_all(draft.fd, part)
            name = digest.hexdigest()
            if stat_name(self._fd, name) is None:
                os.fsync(draft.fd)
                os.rename(draft.name, name, src_dir_fd=draft.folder_fd, dst_dir_fd=self._fd)
                os.fsync(self._fd)
                self._remember_total(total + size)
        return FileState("file", name, size, stat.S_IMODE(status.st_mode) & 0o777)

    @contextmanager
    def open(self, path: str, state: FileState) -> Iterator[Iterator[bytes]]:
        """Give the parts of a copy. A copy that was damaged is told before its last part is used.

        Raises:
            NotFound: it is there no longer, or not as it was.
        """
        try:
            fd = open_beneath(self._fd, (state.sha256,), reading_flags())
        except OSError:
            raise _copy_lost(path) from None
        try:
            yield _verified(path, state, fd)
        finally:
            os.close(fd)

    def remove_unused(self, used: set[str]) -> int:
        """Remove the copies of all contents but the `used` ones, and return how many these were."""
        count = 0
        for name in os.listdir(self._fd):
            if name not in used:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._fd)
                    count += 1
        return count

    def _total(self) -> int:
        status = os.fstat(self._fd)
        known = _totals.get((status.st_dev, status.st_ino))
        if known is not None and known[0] == status.st_mtime_ns:
            return known[1]
        with os.scandir(self._fd) as listing:
            return sum(item.stat(follow_symlinks=False).st_size for item in listing)

    def _remember_total(self, total: int) -> None:
        if len(_totals) >= MAX_TOTALS:
            _totals.clear()
        status = os.fstat(self._fd)
        _totals[status.st_dev, status.st_ino] = (status.st_mtime_ns, total)


def _verified(path: str, state: FileState, fd: int) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for part in read_parts(fd):
        digest.update(part)
        yield part
    if digest.hexdigest() != state.sha256:
        raise _copy_lost(path)


def _copy_lost(path: str) -> NotFound:
    return NotFound(say("The copy of '{path}' is damaged or gone. The file stays as it is.", path=path))


def _too_many_copies(path: str) -> LimitExceeded:
    return LimitExceeded(
        say(
            "No copy of '{path}' can be kept: the copies of this session would take more than {limit} GiB.",
            path=path,
            limit=MAX_COPIES_BYTES // 1024**3,
        ),
        hint=say("Ask the person to delete copies that they no longer need: 'madang sessions undo SESSION --forget'."),
    )
