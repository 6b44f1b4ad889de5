"""A process that changes files in a run, or takes that back, and kills itself at a chosen moment.

`python -m tests.crash.file_undo ROOT STORY POINT`. The points are counted before and after each system call that
changes something on the disk. With POINT 0 it lives, and prints how many there were.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folders, folder
from madang.files.folders.undo import FileHistory
from tests.crash.points import Points

CALL = Call(AssistantId("a"), SessionId("s"))
RUN = replace(CALL, run_id="run-1")
CHANGES = ("write", "pwrite", "fsync", "rename", "unlink", "rmdir", "mkdir", "symlink", "ftruncate", "fchmod")


def work(folders: Folders) -> None:
    """Do what a run does, each change as a call of its own."""
    changes: list[Callable[[folder.Folder], object]] = [
        lambda files: files.write("edited", [b"two"]),
        lambda files: files.write("edited", [b"three"]),
        lambda files: files.write("new/folder/file", [b"new"], "create"),
        lambda files: files.delete("deleted"),
        lambda files: files.delete("link"),
        lambda files: files.move("docs", "papers/all"),
        lambda files: files.write("papers/all/note", [b"changed"]),
        lambda files: files.write("docs/note", [b"in the old place"]),
        lambda files: files.move("edited", "renamed"),
    ]
    for change in changes:
        with folders.of(RUN) as session, session.files.locked():
            change(session.files)


def undo(folders: Folders) -> None:
    """Take all of it back."""
    FileHistory(folders).take_back(CALL, RUN.run_id)


STORIES = {"work": work, "undo": undo}


def count_changes(points: Points) -> None:
    """Count the system calls that change something, before and after each."""

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            points()
            result = change(*arguments, **options)
            points()
            return result

        return call

    for module, name in [*((os, name) for name in CHANGES), (folder, "rename_new")]:
        setattr(module, name, counted(getattr(module, name)))


def main(root: Path, story: str, points: Points) -> None:
    count_changes(points)
    points.is_counting = True
    STORIES[story](Folders(root))
    points.is_counting = False


if __name__ == "__main__":
    passing = Points(int(sys.argv[3]))
    main(Path(sys.argv[1]), sys.argv[2], passing)
    sys.stdout.write(f"{passing.passed}\n")
