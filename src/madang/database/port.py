"""What every database back end promises to the stores.

A store hands over a unit of work: a coroutine function that gets a transaction and awaits nothing else. An embedded
database runs it to its end in one of its own threads (one hop for the whole unit, whatever it asks); a database server
runs it on the event loop, and retries it from its beginning after a conflict with another, so a unit changes nothing
but the database. Stores are written once, in plain SQL with numbered parameters (`?1`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from madang.core.ids import UserId
from madang.database.liveness import Liveness

ResultT = TypeVar("ResultT")
Row = tuple[Any, ...]
Dialect = Literal["sqlite", "postgresql"]

LOCK_WAIT_S = 4.0
"""How long a unit of work waits for a lock that another process holds, counted from the call: with what a call does
besides, it is answered within five seconds."""
ALONE_WAIT_S = 0.05
"""The same for a unit that is to be alone: the user's others wait behind it."""
OPTIONAL_WAIT_S = 0.25
"""The same for a unit that only tells or remembers something: it must not delay what the caller has asked for."""


class Transaction(Protocol):
    """What a unit of work can do. It commits when the unit returns and rolls back when it raises."""

    async def all(self, sql: str, *parameters: object) -> list[Row]:
        """Return all rows."""

    async def one(self, sql: str, *parameters: object) -> Row | None:
        """Return the first row, or None."""

    async def run(self, sql: str, *parameters: object) -> int:
        """Change something and return the number of rows that changed."""

    async def run_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Change something once for each row of parameters, in one go."""

    async def notify(self, topic: str) -> None:
        """Notify the subscribers of `topic`, in this process and in others, once this unit is committed."""


Work = Callable[[Transaction], Awaitable[ResultT]]


@dataclass(frozen=True, slots=True)
class MigrationSet:
    """The history of one service's tables, oldest first. Steps are only ever added at the end."""

    name: str
    sqlite: Sequence[str]
    postgresql: Sequence[str] = ()


def private_rows(*tables: str) -> str:
    """Return the PostgreSQL statements after which a unit of work sees only its own user's rows of `tables`.

    Each has a column `user_id`, which is the unit's user unless it says otherwise, and it may not say otherwise. FORCE,
    because Madang owns its tables and owners are exempt by default. A setting that was never made is NULL, and one of
    an earlier transaction is empty; neither is anybody.
    """
    user = "nullif(current_setting('madang.user_id', true), '')"
    return "".join(
        f"""
        ALTER TABLE {table} ALTER user_id SET DEFAULT {user}, ALTER user_id SET NOT NULL;
        ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
        CREATE POLICY own_rows ON {table} USING (user_id = (SELECT {user}));
        """
        for table in tables
    )


def replace_table(table: str) -> str:
    """Return the SQLite statements that put `<table>_new` in the place of `table`, indexes and triggers not included.

    SQLite cannot change a key, so a step makes a new table, copies the rows and calls this. It keeps the highest
    number that the old table ever gave away: AUTOINCREMENT would start again at the highest that is left. Dropping a
    table deletes its rows first, and what refers to them with ON DELETE CASCADE: tables that refer come before those
    they refer to, and a new table refers to the new one, whose renaming it follows.
    """
    return f"""
        DELETE FROM sqlite_sequence WHERE name = '{table}_new';
        INSERT INTO sqlite_sequence SELECT '{table}_new', seq FROM sqlite_sequence WHERE name = '{table}';
        DROP TABLE {table};
        ALTER TABLE {table}_new RENAME TO {table};
        """


class Database(Protocol):
    """One database, used by several processes at once."""

    @property
    def dialect(self) -> Dialect:
        """Which SQL a statement may use where the two differ."""

    @property
    def ranks_text(self) -> bool:
        """Whether the database ranks texts by itself. Without it, an index beside the database does."""

    async def prepare(self, migrations: MigrationSet) -> None:
        """Open the database if it is not open, and bring the tables of one set up to date.

        Raises:
            SetupError: it cannot be opened, or a newer Madang has been here.
        """

    async def read(self, work: Work[ResultT], *, user_id: UserId | None = None, brief: bool = False) -> ResultT:
        """Run `work` on one consistent snapshot.

        `brief` work finds a few rows through an index, however many there are. An embedded database may then run it in
        the calling thread: a thread hop would take longer than the work.

        `user_id` is whose rows it is about. A shared database server shows no others, and without a user it shows
        nobody's, so that a forgotten condition in a store cannot tell one user about another.
        """

    async def find(self, sql: str, *parameters: object, user_id: UserId | None = None) -> list[Row]:
        """Return the rows of one brief `SELECT`.

        One statement needs no transaction to see one snapshot: on a server this is one round trip instead of three.
        """

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        """Run `work` and return after it is durable; when it raises, nothing of it is kept.

        An `is_optional` unit only tells or remembers something: it is refused soon if another process holds a lock, and
        at once if others have waited for that lock already. The caller goes on without it, or submits it again.

        Raises:
            Unavailable: the disk is full or broken, another process holds the database too long, or the server is away.
        """

    async def write_alone(self, work: Work[ResultT], *, user_id: UserId | None = None) -> ResultT:
        """Do the same while no other unit of the user writes.

        It has to be brief: a server, which lets the user's units run beside each other, keeps them waiting meanwhile.

        Raises:
            Unavailable: as for `write`, or the user's other units leave no gap for `ALONE_WAIT_S`.
        """

    async def write_across_users(self, work: Work[ResultT]) -> ResultT:
        """Do the same with a unit that is about several users and says itself whose rows it means each time.

        A shared server runs it on no snapshot and beside all others: one row that another unit has changed is seen as
        it then is, instead of undoing the whole unit.
        """

    async def check_for_agents(self) -> None:
        """Check that processes can own runs here, which needs locks and notices of a connection; soon.

        Raises:
            SetupError: they cannot, or nothing can be written.
        """

    def new_liveness(self) -> Liveness:
        """Return the means by which processes that share this database learn of each other's death."""

    def changes(self, *topics: str) -> AsyncGenerator[frozenset[str], None]:
        """Yield the topics of each change at or below these, also those other processes made, within a second.

        The first value is empty and comes as soon as the subscription has begun: a consumer that reads the state after
        every value misses nothing.
        """

    async def close(self) -> None:
        """Finish what was accepted, then close. Closing twice is harmless."""
