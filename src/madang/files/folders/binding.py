"""Which folder of the person's own a session works in, if it does: a small file beside the session's folders.

In the data folder and not in the database, because a path belongs to this machine, as the session's files do; several
machines may share a database. Every process reads it at each use, and it goes with the session.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from madang.core.errors import Conflict, Unavailable
from madang.core.phrases import say
from madang.files.folders.failures import file_errors
from madang.files.folders.folder import Folder
from madang.files.folders.kernel import directory_flags, open_beneath
from madang.files.folders.staging import SessionStaging

BINDING = "folder"
MAX_PATH_BYTES = 8192


class LockedSession(Protocol):
    """The folders of a session while they are locked: `SessionFolders`."""

    @property
    def path(self) -> Path: ...

    @property
    def files(self) -> Folder: ...

    @property
    def has_files(self) -> bool: ...


def read_binding(session: Path) -> Path | None:
    """Return the folder that the session at a path works in, or None if it is its own one."""
    try:
        fd = os.open(session / BINDING, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    with file_errors(BINDING), open(fd, "rb") as file:
        return Path(os.fsdecode(file.read(MAX_PATH_BYTES)))


def write_binding(session: LockedSession, folder: Path) -> None:
    """Let a session, which is locked, work in a folder, by its real path. One that has moved may be named anew.

    Raises:
        Conflict: it has files already, or works in another folder that is there.
    """
    present = read_binding(session.path)
    if present == folder:
        return
    if present is not None and session.has_files:
        raise Conflict(
            say("This session works in {folder}.", folder=str(present)),
            hint=say("Use another session for another folder, with --session."),
        )
    if present is None and next(session.files.walk(depth=1, with_status=range(0)), None) is not None:
        raise Conflict(
            say("This session has files of its own already, and cannot work in {folder} too.", folder=str(folder)),
            hint=say("Use another session, with --session; 'madang sessions export' writes those files out."),
        )
    temporary_fd = os.open(session.path / "temporary", directory_flags() | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with file_errors(BINDING), SessionStaging(temporary_fd).draft() as draft:
            os.write(draft.fd, os.fsencode(folder))
            os.fsync(draft.fd)
            os.rename(draft.name, f"../{BINDING}", src_dir_fd=temporary_fd, dst_dir_fd=temporary_fd)
            session_fd = os.open("..", directory_flags() | os.O_CLOEXEC, dir_fd=temporary_fd)
            try:
                os.fsync(session_fd)
            finally:
                os.close(session_fd)
    finally:
        os.close(temporary_fd)


def open_real(path: Path) -> int:
    """Open a folder by its real path: a link that came to stand on the way since then is not what was allowed."""
    top = os.open(path.anchor, directory_flags() | os.O_CLOEXEC)
    try:
        return open_beneath(top, path.parts[1:], directory_flags())
    finally:
        os.close(top)


def folder_gone(folder: Path, error: OSError) -> Unavailable:
    """Return the error of a session whose folder cannot be opened."""
    reason = (error.strerror or type(error).__name__).lower()
    return Unavailable(
        say("The folder of this session, {folder}, cannot be used: {reason}.", folder=str(folder), reason=reason),
        hint=say(
            "Nothing was changed or lost. Ask the person to bring it back, or to name where it is now with --workspace."
        ),
    )
