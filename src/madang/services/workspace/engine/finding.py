"""Finding files by their paths. Everything blocks."""

from __future__ import annotations

import time
from contextlib import closing

from madang.core.calls import Call
from madang.core.errors import ToolError
from madang.core.executor import StopSignal
from madang.files.folders import Entry, Folder, Folders, parse_path
from madang.services.workspace.domain.files import MAX_FOUND_FILES, DirectoryEntry, FileMatches, directory_entry
from madang.services.workspace.engine.choosing import FileChoice
from madang.services.workspace.engine.errors import match_out_of_range
from madang.services.workspace.engine.globs import Glob, OutOfTime
from madang.services.workspace.engine.suggestions import suggest_path

MAX_WALK_S = 2.0


class FileFinder:
    """Finds files in the folders of sessions."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def find(
        self,
        call: Call,
        pattern: str,
        path: str,
        offset: int = 0,
        *,
        ignored: bool = False,
        stop: StopSignal | None = None,
    ) -> FileMatches:
        """Find files whose path below `path` matches a glob pattern; the first `offset` of them are only counted."""
        until = time.monotonic() + MAX_WALK_S

        def check_time() -> None:
            if stop is not None:
                stop.checkpoint()
            if time.monotonic() > until:
                raise OutOfTime

        glob = Glob(pattern, check_time)
        top = "/".join(parse_path(path, may_be_root=True))
        matches: list[Entry] = []
        searched = total = 0
        is_complete = True
        prefix_length = len(top) + 1 if top else 0
        with self._folders.reading(call) as session:
            choice = FileChoice(session.files, path, with_ignored=ignored, hides=call.hides)
            with suggest_path(session.files, path), closing(choice.files(with_status=False)) as entries:
                try:
                    for entry in entries:
                        # It looks at the clock meanwhile: one match of a long pattern takes its time.
                        if glob.fits(entry.path[prefix_length:]):
                            if total >= offset and len(matches) < MAX_FOUND_FILES:
                                matches.append(entry)
                            total += 1
                        searched += 1
                        check_time()
                except OutOfTime:
                    is_complete = False
            files = tuple(_entry_with_status(session.files, entry) for entry in matches)
        if offset and offset >= total and is_complete:
            raise match_out_of_range(pattern, total)
        return FileMatches(
            pattern,
            top,
            offset,
            files,
            total,
            searched,
            is_complete,
            choice.too_deep,
            choice.left_out,
            choice.hidden.count,
        )


def _entry_with_status(folder: Folder, entry: Entry) -> DirectoryEntry:
    """Return an entry with its size and time, or without them where its name is no valid path."""
    try:
        return directory_entry(folder.entry(entry.path))
    except ToolError:
        return DirectoryEntry(entry.path, entry.kind, 0, "")
