"""Files that are being written beside the one that they become, so that nobody meets half of it.

A part is locked for as long as its writer lives: the operating system drops the lock however the process ends. Whoever
writes in the same folder next removes the parts that nobody holds any more.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import shutil
import stat
import time
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from madang.core.ids import new_id
from madang.system.locks import is_at, try_lock

MAX_NAME_CHARS = 40
"""Of the target's name in that of its part: a name has 255 bytes, a letter up to four, and the id takes 60."""
MAX_ATTEMPTS = 3
UNLOCKED_S = 24 * 3600
"""How long a part of another machine is left alone: a network drive may not tell of the locks there."""

_PART = re.compile(
    r"\..+\.(?P<host>[0-9a-f]{8})-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.part", re.DOTALL
)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class PartFile:
    """A part and what is made beside it, which are gone once this is renamed, discarded, or out of use.

    Also at the end of the interpreter: a thread may make one for a task that was cancelled meanwhile. It all blocks.
    """

    def __init__(self, target: Path) -> None:
        """Create the part of a target.

        Raises:
            OSError: nothing can be written there.
        """
        remove_dead_parts(target.parent)
        self.path, fd = _create(target)
        self.file: IO[bytes] = os.fdopen(fd, "w+b")
        self._remove = weakref.finalize(self, _remove_open, self.path, self.file)

    def beside(self, name: str) -> Path:
        """Return a path for a file or folder that is needed meanwhile."""
        return self.path.with_name(f"{self.path.name}-{name}")

    def remove_beside(self) -> None:
        """Remove what is beside the part."""
        _remove_beside(self.path)

    def rename(self, target: Path) -> None:
        """Give the part the name of its target, which is not replaced.

        Raises:
            FileExistsError: there is something.
            OSError: it cannot be renamed.
        """
        self._complete()
        _rename_new(self.path, target)
        self._remove()

    def replace(self, target: Path) -> None:
        """Put the part into the place of its target.

        Raises:
            OSError: it cannot be renamed.
        """
        self._complete()
        self.path.replace(target)
        self._remove()

    def _complete(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        if os.name != "posix":
            self.file.close()  # Windows renames no file that is open; elsewhere the lock has to outlive the name

    def discard(self) -> None:
        """Remove the part and what is beside it. Discarding twice, or after the rename, is harmless."""
        self._remove()


def replace_file(target: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file whole or not at all, in the place of what was there. It blocks.

    Raises:
        OSError: it cannot be written.
    """
    part = PartFile(target)
    try:
        part.file.write(data)
        if mode != 0o600:
            part.path.chmod(mode)
        part.replace(target)
    finally:
        part.discard()


def remove_dead_parts(folder: Path) -> None:
    """Remove the parts in a folder whose writers have died, and what was beside them."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if match := _PART.fullmatch(name):
                with suppress(OSError):
                    _remove_if_dead(folder / name, is_from_here=match["host"] == _host())


def is_part_name(name: str) -> bool:
    """Tell whether a file of this name is a part, or is beside one."""
    return _PART.match(name) is not None


def _create(target: Path) -> tuple[Path, int]:
    for attempt in range(MAX_ATTEMPTS):
        path = target.with_name(f".{target.name[:MAX_NAME_CHARS]}.{_host()}-{new_id()}.part")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        # Between the two lines, another process may have taken it for one of the dead, and removed it.
        if (_lock(fd) and is_at(fd, path)) or attempt == MAX_ATTEMPTS - 1:
            break
        os.close(fd)
        path.unlink(missing_ok=True)
    return path, fd


def _lock(fd: int) -> bool:
    try:
        return try_lock(fd)
    except OSError:  # this file system has no locks: nobody can take the part for a dead one either
        return True


def _remove_if_dead(path: Path, *, is_from_here: bool) -> None:
    fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or (os.name == "posix" and status.st_uid != os.geteuid()):
            return
        # On Windows the lock is let go before the rename, so that it proves nothing of a young one.
        is_young = time.time() - status.st_mtime < UNLOCKED_S
        if is_young and not (is_from_here and os.name == "posix"):
            return
        if not try_lock(fd) or not is_at(fd, path):
            return
        if os.name == "posix":
            _remove(path)  # under the lock: two that look at once do not get in each other's way
            return
    finally:
        os.close(fd)
    _remove(path)


def _remove_open(path: Path, file: IO[bytes]) -> None:
    try:
        if os.name != "posix":
            file.close()  # before: Windows removes no file that is open
        _remove(path)
    finally:
        with suppress(OSError):  # a full disk once more
            file.close()


def _remove(path: Path) -> None:
    # The part last: without it nobody would know whose the others are.
    _remove_beside(path)
    path.unlink(missing_ok=True)


def _remove_beside(path: Path) -> None:
    with os.scandir(path.parent) as entries:
        beside = [entry for entry in entries if entry.name.startswith(f"{path.name}-")]
    for entry in beside:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            with suppress(FileNotFoundError):
                os.unlink(entry.path)


def _rename_new(source: Path, target: Path) -> None:
    """Rename without replacing anything, as far as the file system can: not all have second names."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS or target.exists():
            raise
        os.rename(source, target)
    else:
        source.unlink()


@cache
def _host() -> str:
    return hashlib.sha256(platform.node().encode(errors="surrogateescape")).hexdigest()[:8]
