"""Taking back what a run changed in a session's files, from the records and copies of it. Everything blocks.

Changes are undone from the last to the first, each path once. What somebody else changed since is a conflict: it is
told, and stays unless the person wants it replaced. Undoing is recorded as a run of its own, so it can be undone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from madang.core.calls import Call
from madang.core.errors import Conflict, MadangError, NotFound, ToolError
from madang.core.ids import new_id
from madang.core.phrases import Phrase, say
from madang.files.folders.copies import Copies
from madang.files.folders.folder import Folder
from madang.files.folders.journal import Journal, KeptPath, MovedPath, is_below, renamed
from madang.files.folders.kernel import directory_flags
from madang.files.folders.paths import parse_path
from madang.files.folders.recording import (
    COPIES,
    JOURNAL_SUFFIX,
    journal_name,
    open_directory,
    open_records,
)
from madang.files.folders.sessions import Folders, SessionFolders
from madang.files.folders.staging import MAX_LOCK_WAIT_S, WorkspaceBusy
from madang.files.folders.states import FileState

UNDO = "undo-"
"""What the id of an undo begins with, as a run of its own."""

ChangeKind = Literal["added", "changed", "deleted", "moved", "unchanged"]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What a run did to a path. Sizes are those of files; None where there was or is none."""

    path: str
    kind: ChangeKind
    size_before: int | None = None
    size_after: int | None = None
    target: str = ""
    """Where it was moved to."""
    is_conflict: bool = False
    """Whether somebody else changed it since: then it is taken back only by force."""


@dataclass(frozen=True, slots=True)
class ChangedRun:
    """A run that changed files. `undoes` is the run that it took back, if it was an undo."""

    run_id: str
    started_at: str
    files: int
    undoes: str = ""


@dataclass(slots=True)
class TakenBack:
    """What an undo did: paths that are as before, and those that stay with the reason. It can be undone by its id."""

    undo_id: str
    restored: list[str] = field(default_factory=list)
    conflicts: list[tuple[str, Phrase]] = field(default_factory=list)


class FileHistory:
    """What runs changed in the files of sessions, and the way back."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def runs(self, call: Call) -> list[ChangedRun]:
        """Return the runs of the call's session that changed files, the newest first."""
        journals = self._journals(call)
        runs = [ChangedRun(one.run_id, one.started_at, len(one.entries), one.undoes) for one in journals if one.entries]
        return sorted(runs, key=lambda run: run.started_at, reverse=True)

    def changes(self, call: Call, run_id: str) -> list[ChangedFile]:
        """Return what a run changed, in its order.

        Raises:
            NotFound: no copies are kept of such a run.
            Unavailable: the folder is not there.
        """
        journal = self._journal(call, run_id)
        with self._folders.of(_without_run(call)) as session:
            journal.guess_move(session.files.is_there)
            places = _Places(session.files, journal.moves)
            return [_changed(session.files, entry, places) for entry in journal.entries]

    def take_back(
        self, call: Call, run_id: str, paths: Collection[str] | None = None, *, force: bool = False
    ) -> TakenBack:
        """Bring all that a run changed to what it was before, or only what is at or below `paths`.

        Raises:
            NotFound: no copies are kept of such a run, or it changed nothing at one of `paths`.
            Unavailable: the folder is not there. Nothing is changed then.
        """
        undo = replace(call, run_id=f"{UNDO}{new_id()}")
        taken = TakenBack(undo.run_id)
        with self._folders.of(undo, undoes=run_id) as session, session.files.locked():
            journal = self._journal(call, run_id)
            journal.guess_move(session.files.is_there)
            places = _Places(session.files, journal.moves)
            _Undo(session, journal, places, taken, force=force).run(_chosen(journal, paths, places))
        return taken

    def forget(self, call: Call, run_id: str | None = None) -> int:
        """Delete the copies of a run, or of all runs of the call's session; return of how many runs.

        Raises:
            NotFound: no copies are kept of such a run.
        """
        if run_id is not None:
            self._journal(call, run_id)
        if not self._path(call).is_dir():
            return 0
        session = self._folders.path(call)
        return _remove_records(session, lambda name, _: run_id is None or name == journal_name(run_id))

    def expire(self, before_s: float) -> int:
        """Delete the copies of all runs that changed nothing since a moment; return of how many runs.

        One that is written to at this moment is looked at the next time.
        """
        count = 0
        for session in self._folders.paths():
            if not (session / COPIES).is_dir():
                continue
            with suppress(WorkspaceBusy, FileNotFoundError):
                count += _remove_records(session, lambda _, modified_s: modified_s < before_s, wait_s=0)
        return count

    def _path(self, call: Call) -> Path:
        return self._folders.path(call) / COPIES

    def _journals(self, call: Call) -> Iterator[Journal]:
        runs = self._path(call) / "runs"
        try:
            fd = os.open(runs, directory_flags() | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            for name in sorted(os.listdir(fd)):
                if name.endswith(JOURNAL_SUFFIX):
                    journal = Journal(fd, name)
                    with suppress(MadangError):  # a damaged one is told when it is asked for
                        journal.read(fd)
                        yield journal
        finally:
            os.close(fd)

    def _journal(self, call: Call, run_id: str) -> Journal:
        with suppress(FileNotFoundError, NotADirectoryError):
            fd = os.open(self._path(call) / "runs", directory_flags() | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                journal = Journal(fd, journal_name(run_id))
                journal.read(fd)
            finally:
                os.close(fd)
            if journal.entries:
                return journal
        raise NotFound(
            say("Nothing is kept of files that the run '{id}' changed.", id=run_id),
            hint=say("Copies are kept for a while only; 'madang sessions undo SESSION --list' shows them."),
        )


class _Undo:
    """One undo, while the folder is locked."""

    def __init__(
        self, session: SessionFolders, journal: Journal, places: _Places, taken: TakenBack, *, force: bool
    ) -> None:
        self._session = session
        self._folder = session.files
        self._taken = taken
        self._force = force
        self._entries = journal.entries
        self._places = places

    def run(self, chosen: set[int]) -> None:
        for number in range(len(self._entries) - 1, -1, -1):
            if number not in chosen:
                continue
            entry = self._entries[number]
            path = entry.path if isinstance(entry, KeptPath) else entry.source
            try:
                if isinstance(entry, MovedPath):
                    self._move_back(entry)
                else:
                    self._restore(entry)
            except ToolError as error:
                self._taken.conflicts.append((path, error.message))

    def _move_back(self, move: MovedPath) -> None:
        if not self._places.stands(move):
            return
        source, target = self._places.ends(move)
        if not self._folder.is_there(target):
            raise NotFound(say("It is no longer at '{path}', where the run moved it.", path=target))
        if self._folder.is_there(source):
            raise Conflict(say("It stays at '{path}': there is something else in its old place now.", path=target))
        self._folder.move(target, source)
        self._remove_made(target, self._places.now(move.made_from, move.moves_before + 1))
        self._taken.restored.append(source)
        self._places.take_back(move)

    def _restore(self, kept: KeptPath) -> None:
        path = self._places.now(kept.path, kept.moves_before)
        if path is None:
            return
        state = self._folder.state(path)
        if not state.is_same(kept.before):
            if not kept.is_left_by_run(state) and not self._force:
                raise Conflict(say("It was changed after the run."))
            if kept.before.kind == "other":
                raise NotFound(say("It was no regular file, and cannot be made again."))
            self._put(path, state, kept.before)
            self._taken.restored.append(path)
        if kept.before.kind == "absent":
            self._remove_made(path, self._places.now(kept.made_from, kept.moves_before))

    def _put(self, path: str, state: FileState, before: FileState) -> None:
        if before.kind != "file":
            if state.kind != "absent":
                self._folder.delete(path)
            if before.kind != "absent":
                self._folder.make(path, before)
            return
        with open_copy(self._session.path, path, before) as parts:
            if state.kind not in ("absent", "file"):
                self._folder.delete(path)
            self._folder.write(path, parts, permissions=before.permissions)

    def _remove_made(self, path: str, made_from: str | None) -> None:
        """Remove the folders that the run made for a path, as far as they are empty."""
        parent = path.rpartition("/")[0]
        while made_from and parent and is_below(parent, made_from):
            try:
                self._folder.delete(parent)
            except ToolError:
                return
            parent = parent.rpartition("/")[0]


@contextmanager
def open_copy(session: Path, path: str, state: FileState) -> Iterator[Iterator[bytes]]:
    """Give the parts of the copy of a file of the session at a path.

    Raises:
        NotFound: it is there no longer.
    """
    with ExitStack() as stack:
        fd = open_directory(stack, session / COPIES / "contents")
        yield stack.enter_context(Copies(fd).open(path, state))


class _Places:
    """What the paths of a journal are called now, when some of the run's moves stand and some were taken back."""

    def __init__(self, folder: Folder, moves: Sequence[MovedPath]) -> None:
        self._moves = moves
        self._standing: list[MovedPath] = []
        for move in reversed(moves):
            source, target = self.ends(move)
            if folder.is_there(target) or not folder.is_there(source):
                self._standing.insert(0, move)

    def stands(self, move: MovedPath) -> bool:
        return any(standing is move for standing in self._standing)

    def take_back(self, move: MovedPath) -> None:
        self._standing = [standing for standing in self._standing if standing is not move]

    def ends(self, move: MovedPath) -> tuple[str, str]:
        """Return what the source and the target of a move are called now."""
        number = move.moves_before + 1
        return self._later(move.source, number), self._later(move.target, number)

    def now(self, path: str, number: int) -> str | None:
        """Return what a path is called that was called so after a number of moves.

        None: it was made where something had moved away from that is back, so it cannot be there any more.
        """
        later = self._later(path, number)
        for move in reversed(self._moves[:number]):
            if not self.stands(move):
                if is_below(later, move.source):
                    return None
                later = renamed(later, move.target, move.source)
        return later

    def _later(self, path: str, number: int) -> str:
        for move in self._standing:
            if move.moves_before >= number:
                path = renamed(path, move.source, move.target)
        return path


def _chosen(journal: Journal, paths: Collection[str] | None, places: _Places) -> set[int]:
    """Return the numbers of the entries at or below paths, by the names of then or of now."""
    if paths is None:
        return set(range(len(journal.entries)))
    chosen: set[int] = set()
    for text in paths:
        path = "/".join(parse_path(text))
        numbers = {number for number, entry in enumerate(journal.entries) if _is_named(places, entry, path)}
        if not numbers:
            raise NotFound(say("The run '{id}' changed nothing at '{path}'.", id=journal.run_id, path=path))
        chosen |= numbers
    return chosen


def _is_named(places: _Places, entry: KeptPath | MovedPath, path: str) -> bool:
    if isinstance(entry, MovedPath):
        return is_below(entry.source, path) or is_below(entry.target, path)
    now = places.now(entry.path, entry.moves_before)
    return is_below(entry.path, path) or (now is not None and is_below(now, path))


def _changed(folder: Folder, entry: KeptPath | MovedPath, places: _Places) -> ChangedFile:
    if isinstance(entry, MovedPath):
        return ChangedFile(entry.source, "moved" if places.stands(entry) else "unchanged", target=entry.target)
    path = places.now(entry.path, entry.moves_before)
    before, after = entry.before, entry.after[-1]
    state = folder.state(path) if path else before
    kind: ChangeKind = "changed"
    if state.is_same(before):
        kind = "unchanged"
    elif before.kind == "absent":
        kind = "added"
    elif after.kind == "absent":
        kind = "deleted"
    is_conflict = kind != "unchanged" and not entry.is_left_by_run(state)
    return ChangedFile(path or entry.path, kind, _size(before), _size(after), is_conflict=is_conflict)


def _size(state: FileState) -> int | None:
    return state.size if state.kind == "file" else None


def _remove_records(session: Path, is_chosen: Callable[[str, float], bool], wait_s: float = MAX_LOCK_WAIT_S) -> int:
    """Delete journals by name and time of the last change, then the copies that no other one needs."""
    count = 0
    with ExitStack() as stack:
        records = stack.enter_context(open_records(session, wait_s=wait_s))
        used: set[str] = set()
        for name in os.listdir(records.runs_fd):
            if is_chosen(name, os.stat(name, dir_fd=records.runs_fd, follow_symlinks=False).st_mtime):
                os.unlink(name, dir_fd=records.runs_fd)
                count += 1
                continue
            journal = Journal(records.runs_fd, name)
            journal.read(records.runs_fd)
            used |= journal.contents()
        os.fsync(records.runs_fd)
        records.copies.remove_unused(used)
    return count


def _without_run(call: Call) -> Call:
    return replace(call, run_id="")
