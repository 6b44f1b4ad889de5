"""The tree of a session's files for a panel, as a snapshot knows it: folders before files, each by name."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from heapq import nsmallest

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.phrases import say
from madang.files.folders import Entry, parse_path
from madang.services.workspace.domain.files import DirectoryEntry, FileTree, FolderRows, directory_entry
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.engine.known_folders import KnownFolder, join_path, shown_path


class FileTrees:
    """What a panel shows of the files. Everything blocks."""

    def __init__(self, files: FileEngine) -> None:
        self._files = files

    def tree(self, call: Call, max_entries: int) -> FileTree:
        """Return the first entries of a session's folder, as the engine has seen them last."""
        snapshot = self._files.snapshots.find(call)
        return snapshot.read(lambda folders: file_tree(folders, max_entries)) if snapshot is not None else FileTree()

    def rows(self, call: Call, path: str, offset: int, limit: int) -> FolderRows:
        """Return a part of what is in a folder now.

        Raises:
            NotFound: there is no such folder.
        """
        self._files.recent(call, 1, 1, 1)
        place = "/".join(parse_path(path, may_be_root=True))
        rows = self._files.snapshots.of(call).read(lambda folders: folder_rows(folders, place, offset, limit))
        if rows is None:
            raise NotFound(say("There is no folder '{path}'.", path=path))
        return rows


def file_tree(folders: Mapping[str, KnownFolder], max_entries: int) -> FileTree:
    """Return the entries of the root and then, as long as they fit, those of the folders nearest to it."""
    entries: list[DirectoryEntry] = []
    totals: dict[str, int] = {}
    waiting = deque([""])
    while waiting:
        path = waiting.popleft()
        known = folders.get(path)
        if known is None:
            continue
        total = len(known.folders) + len(known.files)
        if path and total > max_entries - len(entries):
            continue
        entries += _rows(known, 0, max_entries - len(entries))
        totals[shown_path(path)] = total
        waiting += [join_path(path, name) for name in sorted(known.folders)]
    return FileTree(tuple(entries), totals)


def folder_rows(folders: Mapping[str, KnownFolder], path: str, offset: int, limit: int) -> FolderRows | None:
    """Return a part of what is in one folder; None if it is not known."""
    known = folders.get(path)
    if known is None:
        return None
    return FolderRows(tuple(_rows(known, offset, limit)), len(known.folders) + len(known.files))


def _rows(known: KnownFolder, offset: int, limit: int) -> list[DirectoryEntry]:
    end = offset + limit
    names = nsmallest(end, known.folders)
    rows = [Entry(join_path(known.path, name), "folder") for name in names[offset:]]
    first = max(0, offset - len(known.folders))
    files = nsmallest(end - len(names), known.files)[first:] if end > len(names) else []
    rows += [
        Entry(join_path(known.path, name), "file", known.files[name].size, -known.files[name].minus_modified_ns)
        for name in files
    ]
    return [directory_entry(Entry(shown_path(row.path), row.kind, row.size, row.modified_ns)) for row in rows[:limit]]
