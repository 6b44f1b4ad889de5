"""What is at a path, in a form that can be kept and compared: a file by its digest, a link by its target."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from madang.files.folders.entries import stat_name
from madang.files.folders.kernel import open_beneath, reading_flags

StateKind = Literal["absent", "file", "folder", "link", "other"]
Fingerprint = tuple[int, ...]
"""What tells a file from the one that is put in its place; empty where there is none."""

READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path. `permissions` are those of a file or folder; `target` is where a link points to."""

    kind: StateKind
    sha256: str = ""
    size: int = 0
    permissions: int = 0
    target: str = ""

    def is_same(self, other: FileState) -> bool:
        """Tell whether the content is the same; permissions are not compared."""
        return (self.kind, self.sha256, self.target) == (other.kind, other.sha256, other.target)


ABSENT = FileState("absent")


def fingerprint(parent_fd: int, name: str) -> Fingerprint:
    """Return the fingerprint of what is under a name in a directory."""
    status = stat_name(parent_fd, name)
    return () if status is None else fingerprint_of(status)


def fingerprint_of(status: os.stat_result) -> Fingerprint:
    return status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode), status.st_size, status.st_mtime_ns


def state_at(parent_fd: int, name: str) -> FileState:
    """Return what is under a name in a directory. A file is read to its end."""
    status = stat_name(parent_fd, name)
    if status is None:
        return ABSENT
    if not stat.S_ISREG(status.st_mode):
        return other_state(parent_fd, name, status)
    fd = open_beneath(parent_fd, (name,), reading_flags())
    try:
        return file_state(fd)
    finally:
        os.close(fd)


def other_state(parent_fd: int, name: str, status: os.stat_result) -> FileState:
    """Return what is under a name that is no regular file."""
    if stat.S_ISLNK(status.st_mode):
        return FileState("link", target=os.readlink(name, dir_fd=parent_fd))
    if stat.S_ISDIR(status.st_mode):
        return FileState("folder", permissions=stat.S_IMODE(status.st_mode) & 0o777)
    return FileState("other")


def file_state(fd: int) -> FileState:
    """Return the state of an open regular file, whatever its position."""
    digest = hashlib.sha256()
    size = 0
    for part in read_parts(fd):
        digest.update(part)
        size += len(part)
    return FileState("file", digest.hexdigest(), size, stat.S_IMODE(os.fstat(fd).st_mode) & 0o777)


def read_parts(fd: int) -> Iterator[bytes]:
    """Yield what is in an open file now: one that grows faster than it is read would never end."""
    offset, size = 0, os.fstat(fd).st_size
    while offset < size and (part := os.pread(fd, min(READ_BYTES, size - offset), offset)):
        offset += len(part)
        yield part
