"""What is known of the files of sessions, in memory, so that telling it costs the same with 20 files and 20,000.

The disk is the truth: rows in the database would miss what other programs write, and a walk at each look costs a
quarter of a second. A snapshot is filled by one walk, which goes on at the next look if it takes long. Then it is told
which paths the tools changed, here or in another process, and each look checks a bounded number of folders and files
in rotation. What may lag, and for how long, is in docs/services/workspace.md.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
import unicodedata
from bisect import bisect_left, insort
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple, TypeVar

from madang.core.calls import Call
from madang.files.folders import Entry, Folder
from madang.files.folders.folder import MAX_TREE_DEPTH
from madang.files.folders.kernel import directory_flags, open_beneath
from madang.files.folders.paths import GIT
from madang.services.workspace.domain.files import FolderFiles, RecentFiles, directory_entry
from madang.services.workspace.engine.known_folders import (
    NOT_LISTED,
    UNREADABLE,
    FolderRank,
    KnownFolder,
    join_path,
    known_file,
    list_folder,
    path_names,
    shown_path,
    status_in,
    status_of,
)

MAX_SNAPSHOT_FILES = 50_000
"""Files of one session that are known; of more it is told that there are more."""
MAX_CACHED_FILES = 100_000
"""Files of all snapshots, some 300 bytes each; the session that was looked at longest ago goes first."""
MAX_CACHED_SNAPSHOTS = 64
MAX_CHECKED_FOLDERS = 100
"""In one look, beside those that are told."""
MAX_CHECKED_FILES = 100
"""In one look, beside those that are told. A workspace with no more is checked whole each time."""
MAX_LOOK_S = 0.25
"""For listing folders in one look; the next one goes on."""
SETTLE_S = 2.0
"""Two changes may have the same time on the disk; the coarsest disks count in this. So a folder that has just changed
is listed once more afterwards; where there are few files, at each look until then."""
MAX_REPORTED_PATHS = 1_000
"""For the next look. After more changes it is cheaper to list every folder."""

ResultT = TypeVar("ResultT")

_HAS_NOTHING = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG}
"""Why a folder has nothing to tell. Any other error may be gone at the next look."""


class FileSnapshot:
    """The files of one session, as they are known. One look at a time; paths can be reported at any time."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()
        self._known = {"": KnownFolder("")}
        self._ranks: list[FolderRank] = []
        self._rotation: deque[str] = deque([""])
        self._stale: dict[str, None] = {}
        self._unlisted: deque[str] = deque([""])
        self._partial: set[str] = set()
        self._reported: set[str] = set()
        self._may_all_be_stale = False
        self._file_cursor: Iterator[str] = iter(())

    def report(self, paths: Collection[str]) -> None:
        """Take note for the next look that the tools changed these paths, or with none, that anything may have."""
        self._reported.update(paths)
        if not paths or len(self._reported) > MAX_REPORTED_PATHS:
            self._may_all_be_stale = True

    def look(self, folder: Folder, max_newest: int, max_folders: int, max_names: int) -> RecentFiles:
        """Return how many files there are, the newest, and the folders with the newest, each with some names.

        A file is told only if it was there at this look.

        Raises:
            OSError: the disk cannot be asked now.
        """
        with self._lock:
            until = time.monotonic() + MAX_LOOK_S
            self._take_reports(folder)
            for path in self._next_folders():
                self._check_folder(folder, path)
            self._list_stale(folder, until)
            checked = set(self._next_files())
            for path in checked:
                self._check_file(folder, path)
            while True:
                choice = self._choose(max_newest, max_folders, max_names)
                unchecked = choice.paths - checked
                if not unchecked or time.monotonic() > until + MAX_LOOK_S:
                    return choice.without(unchecked, self.count, not (self._unlisted or self._partial))
                self._check_told(folder, unchecked)
                checked |= unchecked
                self._list_stale(folder, until)

    def read(self, reader: Callable[[Mapping[str, KnownFolder]], ResultT]) -> ResultT:
        """Return what a reader makes of the folders, as they were at the last look."""
        with self._lock:
            return reader(self._known)

    # What changed

    def _take_reports(self, folder: Folder) -> None:
        if self._may_all_be_stale:
            self._may_all_be_stale = False
            self._reported.clear()
            self._stale.update(dict.fromkeys(self._known))
        while self._reported:
            parent, _, name = self._reported.pop().rpartition("/")
            # On the disk it may have the other spelling: Macs write Hangul in parts.
            for spelling in {name, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)}:
                self._refresh(folder, parent, spelling, is_reported=True)

    def _next_folders(self) -> list[str]:
        """Return the folders whose turn it is."""
        paths = []
        for _ in range(min(len(self._rotation), MAX_CHECKED_FOLDERS)):
            path = self._rotation.popleft()
            if path in self._known:
                self._rotation.append(path)
                paths.append(path)
        return paths

    def _next_files(self) -> list[str]:
        """Return the files whose turn it is."""
        wanted = min(self.count, MAX_CHECKED_FILES)
        paths = list(islice(self._file_cursor, wanted))
        if len(paths) < wanted:
            self._file_cursor = self._every_file()
            paths += islice(self._file_cursor, wanted - len(paths))
        return paths

    def _every_file(self) -> Iterator[str]:
        for path in list(self._known):
            known = self._known.get(path)
            for name in list(known.files) if known else ():
                yield join_path(path, name)

    def _check_folder(self, folder: Folder, path: str) -> None:
        """Mark a folder as stale if its time on the disk is another than when it was listed."""
        known = self._known[path]
        if known.inode == NOT_LISTED:
            return
        status = status_of(folder, path)
        is_due = known.list_again_at is not None and (
            self.count <= MAX_CHECKED_FILES or time.monotonic() >= known.list_again_at
        )
        if is_due or status is None or (status.st_ino, status.st_mtime_ns) != (known.inode, known.modified_ns):
            self._stale[path] = None

    def _check_file(self, folder: Folder, path: str) -> None:
        """Look at a file again if it is not as it is known."""
        parent, _, name = path.rpartition("/")
        known = self._known.get(parent)
        file = known.files.get(name) if known else None
        status = status_of(folder, path)
        if file is None or status is None or known_file(name, status) != file:
            self._refresh(folder, parent, name)

    def _check_told(self, folder: Folder, paths: Iterable[str]) -> None:
        """Check what is to be told, and its folders, out of turn."""
        for parent in {path.rpartition("/")[0] for path in paths}:
            self._check_folder(folder, parent)
        for path in paths:
            self._check_file(folder, path)

    # What the disk says

    def _refresh(self, folder: Folder, parent: str, name: str, *, is_reported: bool = False) -> None:
        """Look at one path again."""
        known = self._known.get(parent)
        if known is None:
            self._stale[self._nearest_known(parent)] = None
            return
        try:
            fd = open_beneath(folder.fd, path_names(parent), directory_flags())
        except OSError:
            self._stale[parent] = None
            return
        try:
            status = status_in(fd, name)
            if is_reported:
                self._take_time(known, os.fstat(fd))
        finally:
            os.close(fd)
        count = len(known.files)
        file = known_file(name, status) if status else None
        if file is not None:
            known.put(file)
        else:
            known.drop(name)
        if status is not None and stat.S_ISDIR(status.st_mode):
            self._add_folder(known, name)
        else:
            self._forget_folder(known, name)
        self._rank(known, len(known.files) - count)

    def _take_time(self, known: KnownFolder, status: os.stat_result) -> None:
        """Take the new time of a folder as that of a reported change: to list the folder would cost what it holds.

        Another program may have changed it as well, so it is listed a little later all the same.
        """
        if known.inode == status.st_ino and known.modified_ns != status.st_mtime_ns:
            known.modified_ns = status.st_mtime_ns
            known.list_again_at = known.list_again_at or time.monotonic() + SETTLE_S

    def _nearest_known(self, path: str) -> str:
        while path not in self._known:
            path = path.rpartition("/")[0]
        return path

    def _list_stale(self, folder: Folder, until: float) -> None:
        """List folders that changed and folders that are new, in turns, as long as there is time and room."""
        while time.monotonic() < until:
            has_room = self._unlisted and self.count < MAX_SNAPSHOT_FILES
            if not self._stale and not has_room:
                return
            if self._stale:
                self._list(folder, self._stale.popitem()[0])
            if has_room:
                path = self._unlisted.popleft()
                known = self._known.get(path)
                if known and known.inode == NOT_LISTED:
                    self._list(folder, path)

    def _list(self, folder: Folder, path: str) -> None:
        """Read what is in a folder now. Only what is new is asked for its size and time."""
        known = self._known.get(path)
        if known is None:
            return
        room = MAX_SNAPSHOT_FILES - (self.count - len(known.files))
        try:
            fd = open_beneath(folder.fd, path_names(known.path), directory_flags())
            try:
                status = os.fstat(fd)  # before its names: what changes meanwhile leaves another time
                listing = list_folder(fd, known, room)
            finally:
                os.close(fd)
        except OSError as error:
            if error.errno not in _HAS_NOTHING:
                self._stale[known.path] = None
                raise
            self._forget_contents(known)
            return
        known.inode, known.modified_ns = status.st_ino, status.st_mtime_ns
        is_settled = time.time_ns() - status.st_mtime_ns > SETTLE_S * 10**9
        known.list_again_at = None if is_settled else time.monotonic() + SETTLE_S
        self._partial.discard(known.path)
        if listing.is_partial:
            self._partial.add(known.path)
        count = len(known.files)
        known.replace(listing.files)
        for name in known.folders - listing.folders:
            self._forget_folder(known, name)
        for name in sorted(listing.folders - known.folders):
            self._add_folder(known, name)
        self._rank(known, len(known.files) - count)

    def _add_folder(self, parent: KnownFolder, name: str) -> None:
        path = join_path(parent.path, name)
        if name in parent.folders or name == GIT or path.count("/") + 1 >= MAX_TREE_DEPTH:
            return
        parent.folders.add(name)
        self._known[path] = KnownFolder(path)
        self._rotation.append(path)
        self._unlisted.append(path)

    def _forget_folder(self, parent: KnownFolder, name: str) -> None:
        if name in parent.folders:
            parent.folders.discard(name)
            known = self._known.pop(join_path(parent.path, name))
            self._forget_contents(known)

    def _forget_contents(self, known: KnownFolder) -> None:
        """Forget what is below a folder, which is gone or cannot be read."""
        leaving = [known]
        while leaving:
            one = leaving.pop()
            self._stale.pop(one.path, None)
            self._partial.discard(one.path)
            leaving += [self._known.pop(join_path(one.path, name)) for name in one.folders]
            count = len(one.files)
            one.files, one.newest, one.folders, one.inode = {}, [], set(), UNREADABLE
            self._rank(one, -count)

    # What is told

    def _rank(self, known: KnownFolder, added: int) -> None:
        """Count what was added to a folder, and put it into its place among the others."""
        self.count += added
        rank = None
        if known.newest:
            first = known.newest[0]
            rank = FolderRank(first.minus_modified_ns, join_path(known.path, first.name), known.path)
        if rank == known.rank:
            return
        if known.rank is not None:
            del self._ranks[bisect_left(self._ranks, known.rank)]
        if rank is not None:
            insort(self._ranks, rank)
        known.rank = rank

    def _choose(self, max_newest: int, max_folders: int, max_names: int) -> _Choice:
        # A file that is among the newest is in a folder that is among the newest.
        candidates = (
            (file.minus_modified_ns, join_path(rank.path, file.name), file.size)
            for rank in self._ranks[:max_newest]
            for file in self._known[rank.path].newest[:max_newest]
        )
        folders = [self._known[rank.path] for rank in self._ranks[:max_folders]]
        return _Choice(
            [Entry(path, "file", size, -minus_ns) for minus_ns, path, size in nsmallest(max_newest, candidates)],
            [(known.path, len(known.files), [file.name for file in known.newest[:max_names]]) for known in folders],
        )


class _Choice(NamedTuple):
    """What is to be told, once it is checked: paths are as the disk has them."""

    newest: list[Entry]
    folders: list[tuple[str, int, list[str]]]

    @property
    def paths(self) -> set[str]:
        named = {join_path(folder, name) for folder, _, names in self.folders for name in names}
        return named.union(entry.path for entry in self.newest)

    def without(self, unchecked: set[str], count: int, is_complete: bool) -> RecentFiles:
        """Return it for readers, without what there was no time to check."""
        newest = (replace(entry, path=shown_path(entry.path)) for entry in self.newest if entry.path not in unchecked)
        folders = (
            FolderFiles(
                shown_path(folder),
                files,
                tuple(shown_path(name) for name in names if join_path(folder, name) not in unchecked),
            )
            for folder, files, names in self.folders
        )
        return RecentFiles(
            count, tuple(map(directory_entry, newest)), tuple(one for one in folders if one.newest), is_complete
        )


class Snapshots:
    """The snapshots of the sessions that were looked at last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshots: OrderedDict[tuple[str, str], FileSnapshot] = OrderedDict()

    def of(self, call: Call) -> FileSnapshot:
        """Return the snapshot of the call's session, which may be empty."""
        key = call.user_id, call.session
        with self._lock:
            snapshot = self._snapshots.setdefault(key, FileSnapshot())
            self._snapshots.move_to_end(key)
            files = sum(one.count for one in self._snapshots.values())
            while len(self._snapshots) > 1 and (
                len(self._snapshots) > MAX_CACHED_SNAPSHOTS or files > MAX_CACHED_FILES
            ):
                files -= self._snapshots.popitem(last=False)[1].count
        return snapshot

    def drop(self, call: Call) -> None:
        """Forget the snapshot of the call's session."""
        with self._lock:
            self._snapshots.pop((call.user_id, call.session), None)

    def find(self, call: Call) -> FileSnapshot | None:
        """Return the snapshot of the call's session if there is one."""
        with self._lock:
            return self._snapshots.get((call.user_id, call.session))
