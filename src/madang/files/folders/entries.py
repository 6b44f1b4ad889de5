"""What a folder says of its names, without following any, and walking over them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from madang.core.calls import PathFilter
from madang.files.folders.kernel import directory_flags, open_beneath

EntryKind = Literal["file", "folder", "link", "other"]


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


Keep = Callable[[int, Entry], bool]
"""Tells whether a walk tells and enters an entry, given the descriptor of the folder that it is in."""


def keep_every(fd: int, entry: Entry) -> bool:
    return True


@dataclass(slots=True)
class LeftOut:
    """What a walk leaves out because `hides` says so, and how much that was. A folder counts as one."""

    hides: PathFilter | None
    count: int = 0

    def takes(self, path: str) -> bool:
        """Tell whether a path is left out, and count it then."""
        is_hidden = self.hides is not None and self.hides(path)
        self.count += is_hidden
        return is_hidden

    def keeps(self, fd: int, entry: Entry) -> bool:
        """Tell a walk what it does not leave out: a `Keep`."""
        return not self.takes(entry.path)


def walk_entries(
    fd: int,
    top: str,
    depth: int,
    leave_out: str,
    with_status: range,
    places: Iterator[int],
    keep: Keep,
) -> Generator[Entry]:
    prefix = f"{top}/" if top else ""
    with os.scandir(fd) as listing:
        # Names and kinds alone: two hundred thousand of them fit easily.
        names = sorted((item.name, _listed_kind(item)) for item in listing)
    for name, kind in names:
        # A name that is not Unicode is shown with replacements, and cannot be used: no text could carry it.
        path = prefix + (name if name.isascii() else os.fsencode(name).decode(errors="replace"))
        entry = Entry(path, kind)
        if not keep(fd, entry):
            continue
        if next(places) in with_status:
            status = stat_name(fd, name)
            if status is None:
                continue
            entry = entry_of(path, status)
        yield entry
        if entry.kind == "folder" and depth > 1 and name != leave_out:
            try:
                below = open_beneath(fd, (name,), directory_flags())
            except OSError:
                continue
            try:
                yield from walk_entries(below, entry.path, depth - 1, leave_out, with_status, places, keep)
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


def stat_name(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None


def entry_of(path: str, status: os.stat_result) -> Entry:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return Entry(path, "file", status.st_size, status.st_mtime_ns)
    kind: EntryKind = "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "other"
    return Entry(path, kind, 0, status.st_mtime_ns)


def check_empty(parent_fd: int, name: str) -> None:
    """Raise the system's error of a folder that is not empty."""
    fd = open_beneath(parent_fd, (name,), directory_flags())
    try:
        if os.listdir(fd):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), name)
    finally:
        os.close(fd)
