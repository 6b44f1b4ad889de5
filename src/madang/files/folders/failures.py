"""Errors of the file system, as errors that a model can act on."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from madang.core.errors import Conflict, Denied, InvalidPath, NotFound, NotRegular, ToolError, Unavailable
from madang.core.phrases import say


@contextmanager
def file_errors(path: str) -> Iterator[None]:
    """Raise errors of the system about `path` as ours."""
    try:
        yield
    except OSError as error:
        raise _translation(path[:200], error) from error


def require_regular(path: str, mode: int) -> None:
    """Refuse what is no regular file, by the mode that the system tells of it."""
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise NotRegular(
            say("'{path}' is a folder, not a file.", path=path),
            hint=say("Call Madang's 'list_directory' with path '{path}' to see what is in it.", path=path),
        )
    raise NotRegular(
        say("'{path}' is not a regular file: links, pipes, sockets and devices are not used.", path=path),
        hint=say("Call Madang's 'list_directory' to see what there is."),
    )


def changed_meanwhile(path: str) -> Conflict:
    """Return the error of a change that would take away what somebody else is writing."""
    return Conflict(
        say("'{path}' is being changed by another program.", path=path),
        hint=say("Read it again, then call again."),
    )


def _translation(path: str, error: OSError) -> ToolError:
    look = say("Call Madang's 'list_directory' to see what there is.")
    match error.errno:
        case errno.ENOENT:
            return NotFound(say("There is no '{path}'.", path=path), hint=look)
        case errno.ELOOP | errno.EXDEV:
            return InvalidPath(
                say("'{path}' is or leads through a symbolic link, which is never followed.", path=path), hint=look
            )
        case errno.ENOTDIR:
            return InvalidPath(say("'{path}' leads through something that is not a folder.", path=path), hint=look)
        case errno.EISDIR:
            return NotRegular(say("'{path}' is a folder, not a file.", path=path), hint=look)
        case errno.ENXIO | errno.ENODEV:
            return NotRegular(
                say("'{path}' is not a regular file: links, pipes, sockets and devices are not used.", path=path),
                hint=look,
            )
        case errno.ENAMETOOLONG:
            return InvalidPath(say("The path is longer than the file system takes."))
        case errno.EEXIST:
            return Conflict(
                say("There is something at '{path}' already.", path=path),
                hint=say("Call again with another path: what is there is never replaced this way."),
            )
        case errno.ENOTEMPTY:
            return Conflict(
                say("The folder '{path}' is not empty.", path=path),
                hint=say("Remove what is in it first: Madang's 'delete_file' with the path of each file."),
            )
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return Unavailable(
                say("The disk is full. Nothing was written."), hint=say("Free some space, then call again.")
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return Denied(say("The system does not allow it for '{path}': {reason}.", path=path, reason=_reason(error)))
        case _:
            return Unavailable(say("'{path}' cannot be used: {reason}.", path=path, reason=_reason(error)))


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
