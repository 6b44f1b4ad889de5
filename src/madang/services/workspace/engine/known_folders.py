"""One folder of a snapshot: the files and folders in it, as they were when it was listed, and how the disk is asked."""

from __future__ import annotations

import os
import stat
from bisect import bisect_left, insort
from typing import NamedTuple

from madang.files.folders import Folder

NOT_LISTED = 0
UNREADABLE = -1
"""In place of the inode of a folder that was not listed yet, or could not be."""


class KnownFile(NamedTuple):
    """A file in its folder, in the order of telling: changed last first, then by name."""

    minus_modified_ns: int
    name: str
    size: int
    inode: int


class FolderRank(NamedTuple):
    """A folder with files, in the order of telling: that of its newest file."""

    minus_modified_ns: int
    newest_path: str
    path: str


class KnownFolder:
    """A folder as it was when it was listed."""

    __slots__ = ("files", "folders", "inode", "list_again_at", "modified_ns", "newest", "path", "rank")

    def __init__(self, path: str) -> None:
        self.path = path
        self.inode = NOT_LISTED
        self.modified_ns = 0
        self.files: dict[str, KnownFile] = {}
        self.newest: list[KnownFile] = []
        self.folders: set[str] = set()
        self.list_again_at: float | None = None
        self.rank: FolderRank | None = None

    def put(self, file: KnownFile) -> None:
        self.drop(file.name)
        self.files[file.name] = file
        insort(self.newest, file)

    def drop(self, name: str) -> None:
        file = self.files.pop(name, None)
        if file is not None:
            del self.newest[bisect_left(self.newest, file)]

    def replace(self, files: dict[str, KnownFile]) -> None:
        """Take the files of a new listing. The few that are new are sorted in; it would cost most to sort them all."""
        unchanged = [file for file in self.newest if files.get(file.name) is file]
        if len(unchanged) < len(files):
            kept = {file.name for file in unchanged}
            unchanged += [file for name, file in files.items() if name not in kept]
            unchanged.sort()
        self.files, self.newest = files, unchanged


class FolderListing(NamedTuple):
    """What is in a folder: its files, as many as there is room for, and its folders."""

    files: dict[str, KnownFile]
    folders: set[str]
    is_partial: bool


def list_folder(fd: int, known: KnownFolder, room: int) -> FolderListing:
    """Return the files in a folder, as many as there is room for, and the folders."""
    files: dict[str, KnownFile] = {}
    folders: set[str] = set()
    with os.scandir(fd) as listing:
        for item in listing:
            if item.is_dir(follow_symlinks=False):
                folders.add(item.name)
                continue
            if not item.is_file(follow_symlinks=False):
                continue
            if len(files) >= room:
                return FolderListing(files, folders, True)
            file = known.files.get(item.name)
            if file is None or file.inode != item.inode():
                status = status_in(fd, item.name)
                file = known_file(item.name, status) if status else None
            if file is not None:
                files[item.name] = file
    return FolderListing(files, folders, False)


def known_file(name: str, status: os.stat_result) -> KnownFile | None:
    if not stat.S_ISREG(status.st_mode):
        return None
    return KnownFile(-status.st_mtime_ns, name, status.st_size, status.st_ino)


def status_of(folder: Folder, path: str) -> os.stat_result | None:
    """Return what the disk says of a path, only to compare it with what is known.

    A folder on the way may have become a link that leads elsewhere. Nothing of what is there is taken over: what
    differs is read again beneath the folder, where links are refused.
    """
    return status_in(folder.fd, path or ".")


def status_in(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        return None


def path_names(path: str) -> tuple[str, ...]:
    return tuple(path.split("/")) if path else ()


def join_path(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def shown_path(path: str) -> str:
    """Return a path as a listing has it: a name that is not Unicode is shown with replacements."""
    return path if path.isascii() else os.fsencode(path).decode(errors="replace")
