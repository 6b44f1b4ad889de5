"""The journal of what one run changed in a folder: for each path what was there before, in the order of the changes.

A line is durable before its change is made. So after a crash the last change may not have happened, and what is at a
path is what the last line says, or what the one before it does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from madang.core.errors import Unavailable
from madang.core.phrases import say
from madang.files.folders.states import FileState
from madang.system.clock import timestamp

MAX_EXPECTED = 2
"""Which of the states that a run left at a path may be there: the last one, or after a crash the one before it."""


@dataclass(slots=True)
class KeptPath:
    """A path as it was before a run first changed it, and what the run left there since."""

    path: str
    """As it was called then: folders may have been moved later in the run."""
    moves_before: int
    before: FileState
    made_from: str = ""
    """The uppermost folder that was made for it."""
    after: list[FileState] = field(default_factory=list)

    def is_left_by_run(self, state: FileState) -> bool:
        """Tell whether a state is one that the run left, and not somebody else since."""
        return any(state.is_same(left) for left in self.after[-MAX_EXPECTED:])

    def is_known(self, state: FileState) -> bool:
        """Tell whether a state is kept, or left by the run: if not, somebody else made it in the middle of the run."""
        return state.is_same(self.before) or self.is_left_by_run(state)


@dataclass(slots=True)
class MovedPath:
    """A file or folder that a run moved. What was in it moved with it."""

    source: str
    target: str
    moves_before: int
    made_from: str = ""
    is_done: bool | None = None
    """None: the process ended before it could tell."""


@dataclass(frozen=True, slots=True)
class PathChange:
    """The last change that an operation announced of a path, which is called as it was then."""

    path: str
    before: FileState
    after: FileState


class Journal:
    """The journal of one run, in an open directory. What other processes added is read first."""

    def __init__(self, folder_fd: int, name: str) -> None:
        self._folder_fd = folder_fd
        self._name = name
        self._clear()

    def _clear(self) -> None:
        self._offset = 0
        self._inode = 0
        self.run_id = ""
        self.undoes = ""
        self.started_at = ""
        self.entries: list[KeptPath | MovedPath] = []
        self.moves: list[MovedPath] = []
        self._kept: dict[tuple[int, str], KeptPath] = {}
        self.operations: dict[str, PathChange | MovedPath | None] = {}
        """What operations of the run announced last, by their ids; None for a move that was not made."""

    def read(self, folder_fd: int) -> None:
        """Take in the lines that were added since the last time, in the directory that is open as `folder_fd` now.

        Raises:
            Unavailable: it is damaged.
        """
        self._folder_fd = folder_fd
        try:
            fd = os.open(self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
        except FileNotFoundError:
            self._clear()
            return
        with open(fd, "rb") as file:
            status = os.fstat(fd)
            if status.st_ino != self._inode or status.st_size < self._offset:
                self._clear()  # it was removed since, and begun again
            self._inode = status.st_ino
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # its writer was killed, and made no change
                self._offset += len(line)
                self._take(line)

    def begin(self, run_id: str, undoes: str = "") -> None:
        """Write the first line, if there is none."""
        if not self.run_id:
            self._append({"run": run_id, "undoes": undoes, "at": timestamp()})

    def find(self, path: str) -> KeptPath | None:
        """Return what is kept of the thing that is at a path now, whatever it was called earlier in the run."""
        for count in range(len(self.moves), -1, -1):
            kept = self._kept.get((count, path))
            if kept is not None:
                return kept
            if count:
                move = self.moves[count - 1]
                if is_below(path, move.source):
                    return None  # it was made after what was there had moved away
                path = renamed(path, move.target, move.source)
        return None

    def keep(
        self, path: str, before: FileState, after: FileState, made_from: str = "", *, operation_id: str = ""
    ) -> None:
        """Write that a path is changed for the first time, or for the first time since somebody else changed it."""
        line = {"path": path, "before": asdict(before), "after": asdict(after), "made_from": made_from}
        self._append(line | {"operation": operation_id})

    def change_again(self, kept: KeptPath, path: str, after: FileState, *, operation_id: str = "") -> None:
        """Write that a path, which is called `path` now, is changed once more."""
        line = {"path": kept.path, "moves": kept.moves_before, "after": asdict(after)}
        self._append(line | {"operation": operation_id, "now": path})

    def begin_move(self, source: str, target: str, made_from: str, *, operation_id: str = "") -> None:
        self._append({"move": [source, target], "made_from": made_from, "operation": operation_id})

    def end_move(self, is_done: bool) -> None:
        """Write whether the last move was made."""
        self._append({"moved": is_done})

    def settle_move(self, is_there: Callable[[str], bool]) -> None:
        """Find out whether the last move was made, if its process was killed over it."""
        last = self.moves[-1] if self.moves else None
        if last is not None and last.is_done is None:
            self.end_move(is_there(last.target) or not is_there(last.source))

    def guess_move(self, is_there: Callable[[str], bool]) -> None:
        """Do the same without writing it down."""
        last = self.moves[-1] if self.moves else None
        if last is not None and last.is_done is None:
            self._take_fields({"moved": is_there(last.target) or not is_there(last.source)})

    def contents(self) -> set[str]:
        """Return the digests of all contents that it needs."""
        return {entry.before.sha256 for entry in self.entries if isinstance(entry, KeptPath) and entry.before.sha256}

    def _append(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=True).encode() + b"\n"
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._name, flags, 0o600, dir_fd=self._folder_fd)
        try:
            # Over a line that was cut off by a kill, which nobody has read.
            os.ftruncate(fd, self._offset)
            view, offset = memoryview(data), self._offset
            while view:
                written = os.pwrite(fd, view, offset)
                view, offset = view[written:], offset + written
            os.fsync(fd)
            self._inode = os.fstat(fd).st_ino
        finally:
            os.close(fd)
        if not self._offset:
            os.fsync(self._folder_fd)
        self._offset += len(data)
        self._take(data)

    def _take(self, line: bytes) -> None:
        try:
            self._take_fields(json.loads(line))
        except (ValueError, TypeError, LookupError):
            raise Unavailable(
                say("The record of what a run changed is damaged: {name}.", name=self._name),
                hint=say("Ask the person: the file is in the data folder, below 'workspaces'."),
            ) from None

    def _take_fields(self, fields: Mapping[str, Any]) -> None:
        operation_id = fields.get("operation", "")
        match fields:
            case {"run": run_id, "undoes": undoes, "at": at}:
                self.run_id, self.undoes, self.started_at = run_id, undoes, at
            case {"path": path, "before": before, "after": after, "made_from": made_from}:
                kept = KeptPath(path, len(self.moves), FileState(**before), made_from, [FileState(**after)])
                self.entries.append(kept)
                self._kept[kept.moves_before, path] = kept
                self.operations[operation_id] = PathChange(path, kept.before, kept.after[-1])
            case {"path": path, "moves": count, "after": after}:
                left = self._kept[count, path].after
                left.append(FileState(**after))
                self.operations[operation_id] = PathChange(fields.get("now", path), *left[-2:])
            case {"move": [source, target], "made_from": made_from}:
                move = MovedPath(source, target, len(self.moves), made_from)
                self.entries.append(move)
                self.moves.append(move)
                self.operations[operation_id] = move
            case {"moved": True}:
                self.moves[-1].is_done = True
            case {"moved": False}:
                # It is as if it had never been asked for: nothing came after it.
                move = self.moves.pop()
                self.entries.pop()
                self.operations = {id: None if one is move else one for id, one in self.operations.items()}
            case _:
                raise ValueError(fields)


def is_below(path: str, top: str) -> bool:
    """Tell whether a path is `top` or leads through it."""
    return path == top or path.startswith(f"{top}/")


def renamed(path: str, source: str, target: str) -> str:
    """Return what a path is called after `source` was renamed to `target`."""
    return target + path[len(source) :] if is_below(path, source) else path
