"""Databases full of playbooks: a thousand, and ten thousand of one assistant among as many of others.

The product makes the tables; the rows then go in through a connection of our own in one transaction, with the product's
triggers at work. Files are kept in the temporary folder under a name made from the schema, so a change makes new ones.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
from pydantic import TypeAdapter

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.database.sqlite.database import SqliteDatabase
from madang.services.planning.domain import Plan
from madang.services.planning.store import PlanStore
from madang.services.playbook.domain import PlaybookContent, Step, StepInput, SuccessCriteria, with_step_ids
from madang.services.playbook.store import MIGRATIONS, PlaybookStore

OWNER = Call(assistant_id=AssistantId("default"), session_id=SessionId("default"))
"""The assistant with the most playbooks, and the one a server without options serves."""

CONTENT = PlaybookContent(
    goal="Prepare report 0 for the weekly meeting",
    initial_command="Start with region 0 and compare it with last week",
    workflow=[
        StepInput(description=f"Step {number}: look at what came in and write down what is missing.")
        for number in range(1, 5)
    ],
    success_criteria=SuccessCriteria(description="Every region has a figure and a sentence that explains it."),
)
"""A playbook of an everyday size, somewhat less than a kilobyte as JSON."""

PLAN = Plan().with_goal("Brew tea for the weekly meeting").with_todo("Boil water").with_todo("Warm the pot")
"""A plan of an everyday size, for reading it back."""


@dataclass(frozen=True, slots=True)
class Library:
    """How many playbooks there are, how many of them are the owner's, and how many others share the rest."""

    name: str
    total: int
    owned: int
    others: int

    @property
    def folder(self) -> Path:
        """The data folder; it has the database under the product's own name."""
        return Path(tempfile.gettempdir()) / f"madang-bench-{_fingerprint()}" / self.name

    @property
    def path(self) -> Path:
        return self.folder / "madang.db"


_ROWS_VERSION = "1"  # goes up when what is put into the files changes

THOUSAND = Library("thousand", 1_000, 1_000, 0)
TEN_THOUSAND = Library("ten-thousand", 20_000, 10_000, 99)


def playbook_id(number: int) -> str:
    return f"01900000-0000-7000-8000-{number:012x}"


async def prepare(library: Library) -> Library:
    """Make the library's file unless it is there, put a small plan into it, and return the library."""
    if not library.path.exists():
        await _make(library)
    database = SqliteDatabase(library.path)
    plans = PlanStore(database)
    await plans.open()
    await plans.change(OWNER, lambda _: (PLAN, None))
    await database.close()
    return library


async def _make(library: Library) -> None:
    print(f"Making {library.path} ({library.total} playbooks) ...", file=sys.stderr)
    library.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = library.path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    database = SqliteDatabase(unfinished)
    store = PlaybookStore(database)
    await store.open()
    (first,) = await store.add(OWNER, [CONTENT])
    await store.delete(OWNER, first.id)  # what stays is the owner, as number 1
    await database.close()
    _fill(unfinished, library)
    unfinished.rename(library.path)


def _fill(path: Path, library: Library) -> None:
    connection = apsw.Connection(str(path))
    # A file that is thrown away if this fails needs no journal, and indexes are made faster over finished rows.
    connection.execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")
    with connection:
        indexes = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'playbook' AND sql IS NOT NULL"
        ).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        connection.executemany(
            "INSERT INTO playbook_owner (user_id, assistant_id) VALUES (?1, ?2)",
            [(OWNER.user_id, f"assistant-{number}") for number in range(library.others)],
        )
        connection.executemany(
            "INSERT INTO playbook (id, user_id, owner_no, version, created_at, updated_at, goal, initial_command, "
            "steps, sort_key, search_text, workflow, success_criteria) VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            _rows(library),
        )
        for _, sql in indexes:
            connection.execute(str(sql))
        _check(connection, library)
    connection.close()


def _rows(library: Library) -> Iterator[tuple[object, ...]]:
    """Yield rows as the store would write them; every so many are the owner's, the others take turns."""
    workflow = TypeAdapter(list[Step]).dump_json(with_step_ids("{id}", CONTENT.workflow)).decode()
    criteria = CONTENT.success_criteria.model_dump_json()
    steps = len(CONTENT.workflow)
    every = library.total // library.owned
    for number in range(library.total):
        owner_no = 1 if number % every == 0 else 2 + number // every % library.others
        id = playbook_id(number)
        at = f"2026-01-{number % 28 + 1:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        goal = CONTENT.goal.replace("0", str(number * 7919 % 1_000_003))
        command = CONTENT.initial_command.replace("0", str(number % 97))
        folded = f"{goal}\n{command}".casefold()
        yield (
            *(id, OWNER.user_id, owner_no, at, at, goal, command, steps),
            *(goal.casefold(), folded, workflow.replace("{id}", id), criteria),
        )


def _check(connection: apsw.Connection, library: Library) -> None:
    """Compare what the triggers counted with what is there."""
    kept = connection.execute("SELECT owner_no, count(*) FROM playbook GROUP BY 1 ORDER BY 1").fetchall()
    totals = connection.execute("SELECT no, total FROM playbook_owner ORDER BY 1").fetchall()
    if kept != totals or kept[0] != (1, library.owned) or len(kept) != library.others + 1:
        raise RuntimeError(f"The counts of the {library.name} library do not agree.")


def _fingerprint() -> str:
    return hashlib.sha256("".join([_ROWS_VERSION, *MIGRATIONS.sqlite]).encode()).hexdigest()[:12]
