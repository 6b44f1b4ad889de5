"""Errors of a database server, as a caller or the person can act on them."""

from __future__ import annotations

import asyncpg

from madang.core.errors import SetupError, StoreUnavailable, Unavailable
from madang.core.phrases import Phrase, say
from madang.database.postgresql.address import ServerAddress

RETRYABLE_ERRORS = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    # Another process has changed the tables under a prepared statement; asyncpg has forgotten it by now.
    asyncpg.InvalidCachedStatementError,
    asyncpg.exceptions.OutdatedSchemaCacheError,
    # Two units may insert the same row at once. Retried alone, the second finds what the first has added.
    asyncpg.IntegrityConstraintViolationError,
)
"""Errors after which a unit of work may succeed when it is retried."""

CONNECTION_ERRORS = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
    # asyncpg on unexpected bytes, as a dying server sends them.
    asyncpg.InternalClientError,
)
"""Errors that mean: no answer from the server, or no server."""

_SERVER_TROUBLE = (
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)
_POOLER = (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError)


def closed() -> Unavailable:
    return Unavailable(say("The database is closed."))


def unavailable(error: BaseException, *, saving: bool = False) -> Unavailable | None:
    """Return `error` as `Unavailable`, or None when it is a bug of ours and should stay what it is."""
    if isinstance(error, asyncpg.DiskFullError) and not saving:
        return StoreUnavailable(
            say("The disk is full. Nothing was written."), hint=say("Free some space, then call again.")
        )
    if isinstance(error, _POOLER):
        return Unavailable(
            say("A connection pooler mixes up the prepared statements of its clients."),
            hint=say("Ask the person to add statement_cache_size=0 to the database URL."),
        )
    if _is_bug(error) or not isinstance(error, (*CONNECTION_ERRORS, *_SERVER_TROUBLE, *RETRYABLE_ERRORS)):
        return None
    if saving:
        return StoreUnavailable(
            say("The connection to the database was lost while the change was being saved."),
            hint=say("It may have been saved: look before you call again."),
        )
    return StoreUnavailable(
        say("The database server cannot be used now: {reason}.", reason=_reason(error)),
        hint=say("Call again in a moment."),
    )


def setup_error(error: BaseException, address: ServerAddress) -> SetupError | None:
    """Return why the server cannot be used at all, with what to do about it; None when it is a bug of ours."""
    hint: Phrase | None = None
    if isinstance(error, _POOLER):
        hint = say("Add statement_cache_size=0 to the database URL: a pooler mixes up prepared statements.")
    elif isinstance(error, asyncpg.InvalidCatalogNameError):
        hint = say("Create it first: createdb --owner=USER DATABASE")
    elif isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        hint = say("Check user and password in MADANG_DATABASE, and the server's pg_hba.conf.")
    elif isinstance(error, asyncpg.InsufficientPrivilegeError):
        hint = say("The user must own the database to make its tables: ALTER DATABASE … OWNER TO …")
    elif isinstance(error, (*CONNECTION_ERRORS, *_SERVER_TROUBLE, ValueError)) and not _is_bug(error):
        hint = say("Check that the server runs and that the address in MADANG_DATABASE is right.")
    if hint is None:
        return None
    return SetupError(
        say("The database {place} cannot be opened: {reason}.", place=address.place, reason=_reason(error)), hint=hint
    )


def _is_bug(error: BaseException) -> bool:
    """Tell ours from theirs: asyncpg has a wrong argument, and two statements at once, as InterfaceError too."""
    bugs = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)
    return isinstance(error, bugs) or "another operation is in progress" in str(error)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "none of its servers can be written"
    return " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
