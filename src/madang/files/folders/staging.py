"""Where drafts of files lie before they are renamed into a folder, and the lock of the folder's writers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NamedTuple, Protocol

from madang.core.errors import Unavailable
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.files.folders.failures import file_errors
from madang.files.folders.kernel import directory_flags
from madang.system.locks import lock_within, try_lock

MAX_LOCK_WAIT_S = 4
"""How long a writer waits for another one before it fails."""
DRAFTS = ".madang-drafts"
"""The folder for drafts inside a folder of the person's own; it is there only while something is written."""


class Draft(NamedTuple):
    """A new file, open; `name` is its name in the directory `folder_fd`."""

    fd: int
    name: str
    folder_fd: int


class Staging(Protocol):
    """What a folder that is written to needs: a place for drafts on its own disk, and a lock over all processes."""

    def draft(self) -> AbstractContextManager[Draft]:
        """Give a new file that is gone afterwards, unless it was renamed."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Hold the lock of the folder's writers.

        Raises:
            WorkspaceBusy: another writer has held it too long.
        """
        ...


class SessionStaging:
    """The staging of the folders of a session, in a directory beside them."""

    def __init__(self, temporary_fd: int) -> None:
        self._fd = temporary_fd

    @contextmanager
    def draft(self) -> Iterator[Draft]:
        with _draft_in(self._fd) as draft:
            yield draft

    @contextmanager
    def locked(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with file_errors("lock"):  # a disk may have no place for one more file, however small
            fd = os.open("lock", flags, 0o600, dir_fd=self._fd)
        with _lock_of(fd):
            yield


class PersonalStaging:
    """The staging of a folder of the person's own, which may be on another disk than the data folder.

    The lock is that of the directory itself: every session that works in it, of whatever data folder, takes the same
    one, and nothing is left there. Drafts are written under it, in a folder that goes when it is empty again.
    """

    def __init__(self, folder_fd: int) -> None:
        self._fd = folder_fd

    @contextmanager
    def draft(self) -> Iterator[Draft]:
        with suppress(FileExistsError):
            os.mkdir(DRAFTS, 0o700, dir_fd=self._fd)
        drafts_fd = os.open(DRAFTS, directory_flags() | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            sweep(drafts_fd)
            with _draft_in(drafts_fd) as draft:
                yield draft
        finally:
            os.close(drafts_fd)
            with suppress(OSError):
                os.rmdir(DRAFTS, dir_fd=self._fd)

    @contextmanager
    def locked(self) -> Iterator[None]:
        with file_errors("."):
            # A descriptor of its own: a lock belongs to how a file was opened, and copies of a descriptor share it.
            fd = os.open(".", directory_flags() | os.O_CLOEXEC, dir_fd=self._fd)
        with _lock_of(fd):
            yield


@contextmanager
def _draft_in(folder_fd: int) -> Iterator[Draft]:
    draft = new_draft(folder_fd)
    try:
        yield draft
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft.name, dir_fd=folder_fd)
        os.close(draft.fd)


def new_draft(folder_fd: int) -> Draft:
    """Make a draft and lock it: the lock says that it is still written."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        name = f"draft-{new_id()}"
        fd = os.open(name, flags, 0o600, dir_fd=folder_fd)
        # A sweep may come between the two lines; then it has the lock, or the name is gone.
        if try_lock(fd) and os.fstat(fd).st_nlink:
            return Draft(fd, name, folder_fd)
        os.close(fd)


@contextmanager
def _lock_of(fd: int) -> Iterator[None]:
    try:
        if not lock_within(fd, MAX_LOCK_WAIT_S):
            raise workspace_busy()
        yield
    finally:
        os.close(fd)


def sweep(folder_fd: int) -> None:
    """Remove the drafts of processes that were killed: those whose lock is free."""
    for name in os.listdir(folder_fd):
        if not name.startswith("draft-"):
            continue
        with suppress(OSError):
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd)
            try:
                if try_lock(fd):
                    os.unlink(name, dir_fd=folder_fd)
            finally:
                os.close(fd)


class WorkspaceBusy(Unavailable):
    """A writer timed out waiting for the lock."""


def workspace_busy() -> WorkspaceBusy:
    return WorkspaceBusy(
        say("Another write has kept this workspace locked for {seconds} s.", seconds=MAX_LOCK_WAIT_S),
        hint=say("Nothing was changed. Call again in a moment."),
    )
