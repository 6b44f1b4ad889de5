"""Recording what a run changes in a folder, so that it can be taken back: what was there is durable before a change."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from madang.files.folders.copies import Copies
from madang.files.folders.journal import Journal, MovedPath, PathChange
from madang.files.folders.kernel import directory_flags
from madang.files.folders.staging import MAX_LOCK_WAIT_S, SessionStaging, workspace_busy
from madang.files.folders.states import ABSENT, FileState, Fingerprint, fingerprint, state_at
from madang.system.locks import is_at, lock_within

COPIES = "copies"
"""The folder of all this, beside a session's files: `contents` by digest, and a journal in `runs` for each run."""
MAX_JOURNALS = 64
JOURNAL_SUFFIX = ".jsonl"

_journals: OrderedDict[str, Journal] = OrderedDict()
"""Those last written to, by their paths: each change would otherwise read all of them again. Used under the lock."""


class RunRecords(NamedTuple):
    """The directories of a session's records, open and locked."""

    runs_fd: int
    copies: Copies


@contextmanager
def open_records(session: Path, *, wait_s: float = MAX_LOCK_WAIT_S) -> Iterator[RunRecords]:
    """Open the records below a session's path for reading and writing; they are made if there are none.

    Raises:
        WorkspaceBusy: another process has held them too long.
    """
    path = session / COPIES
    with ExitStack() as stack:
        for folder in (path, path / "contents", path / "runs"):
            folder.mkdir(mode=0o700, exist_ok=True)
        lock_fd = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        stack.callback(os.close, lock_fd)
        if not lock_within(lock_fd, wait_s) or not is_at(lock_fd, path / "lock"):
            raise workspace_busy()
        runs_fd = open_directory(stack, path / "runs")
        contents_fd = open_directory(stack, path / "contents")
        staging = SessionStaging(open_directory(stack, session / "temporary"))
        yield RunRecords(runs_fd, Copies(contents_fd, staging))


def journal_name(run_id: str) -> str:
    """Return the name of a run's journal, which is one on every file system."""
    return hashlib.sha256(run_id.encode(errors="surrogatepass")).hexdigest()[:32] + JOURNAL_SUFFIX


class Recorder:
    """Records the changes of one run to the files of a session."""

    def __init__(self, session: Path, run_id: str, undoes: str = "", operation_id: str = "") -> None:
        self._session = session
        self._run_id = run_id
        self._operation_id = operation_id
        self._undoes = undoes
        self.is_there: Callable[[str], bool] = lambda path: False
        """Tells whether there is something at a path of the folder; the folder sets it."""

    def keep(self, path: str, parent_fd: int, name: str, after: FileState) -> Fingerprint:
        """Keep what is under a name in a directory before it becomes `after`, unless the run itself has left it there.

        Raises:
            ToolError: it cannot be kept: then it must not be changed.
        """
        with self._open() as (journal, copies):
            kept, seen = journal.find(path), fingerprint(parent_fd, name)
            if kept is not None and kept.is_known(state_at(parent_fd, name)):
                journal.change_again(kept, path, after, operation_id=self._operation_id)
                return seen
            before, seen = copies.keep(path, parent_fd, name)
            journal.keep(path, before, after, operation_id=self._operation_id)
            return seen

    def keep_absent(self, path: str, made_from: str, after: FileState) -> None:
        """Keep that there was nothing at a path, and that folders from `made_from` on are made for it."""
        with self._open() as (journal, _):
            kept = journal.find(path)
            if kept is not None and kept.is_known(ABSENT):
                journal.change_again(kept, path, after, operation_id=self._operation_id)
            else:
                journal.keep(path, ABSENT, after, made_from, operation_id=self._operation_id)

    @contextmanager
    def moving(self, source: str, target: str, made_from: str) -> Iterator[None]:
        """Keep that something is moved, if it is."""
        with self._open() as (journal, _):
            journal.begin_move(source, target, made_from, operation_id=self._operation_id)
            is_done = False
            try:
                yield
                is_done = True
            finally:
                with suppress(OSError):  # a disk that is full now: it is found out before the next change
                    journal.end_move(is_done)

    def find_change(self) -> PathChange | MovedPath | None:
        """Return what the operation announced last; None if it has changed nothing."""
        if not self._operation_id:
            return None
        with self._open() as (journal, _):
            return journal.operations.get(self._operation_id)

    @contextmanager
    def _open(self) -> Iterator[tuple[Journal, Copies]]:
        with open_records(self._session) as records:
            name = journal_name(self._run_id)
            key = str(self._session / name)
            journal = _journals.pop(key, None) or Journal(records.runs_fd, name)
            journal.read(records.runs_fd)
            journal.begin(self._run_id, self._undoes)
            journal.settle_move(self.is_there)
            yield journal, records.copies
            # Only after all went well: what a failed write left is read again.
            _journals[key] = journal
            while len(_journals) > MAX_JOURNALS:
                _journals.popitem(last=False)


def open_directory(stack: ExitStack, path: Path) -> int:
    """Open a directory that is closed with a stack."""
    fd = os.open(path, directory_flags() | os.O_NOFOLLOW | os.O_CLOEXEC)
    stack.callback(os.close, fd)
    return fd
