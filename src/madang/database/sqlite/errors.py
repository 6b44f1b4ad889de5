"""What SQLite's errors mean to a caller."""

from __future__ import annotations

import apsw

from madang.core.errors import StoreUnavailable
from madang.core.phrases import say


def translate_sqlite_error(error: Exception) -> Exception:
    """Return errors of the disk or of a lock as `StoreUnavailable`; the others are bugs and stay what they are."""
    operational = (
        apsw.BusyError,
        apsw.LockedError,
        apsw.FullError,
        apsw.IOError,
        apsw.ReadOnlyError,
        apsw.CantOpenError,
    )
    return _unavailable(error) if isinstance(error, (*operational, apsw.CorruptError, apsw.NotADBError)) else error


def _unavailable(error: apsw.Error) -> StoreUnavailable:
    if isinstance(error, apsw.FullError):
        return StoreUnavailable(
            say("The disk is full. Nothing was written."), hint=say("Free some space, then call again.")
        )
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreUnavailable(
            say("Another process keeps the database locked. Nothing was written."),
            hint=say("Call again in a moment."),
        )
    return StoreUnavailable(
        say("The database cannot be used: {reason}.", reason=str(error)),
        hint=say("Ask the person to run 'madang doctor'."),
    )
