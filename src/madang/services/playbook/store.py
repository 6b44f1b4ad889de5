"""What the playbook service keeps: playbooks, their runs, and the page size each session last looked at.

Totals are counted by triggers and pages are found through counts per bucket of `seq`, so that neither a total nor a
page in the middle of a million rows has to walk over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import TypeAdapter

from madang.core.calls import Call
from madang.core.errors import Conflict, Denied, NotFound
from madang.core.ids import new_id
from madang.core.messages import say
from madang.core.paging import Page, Span, span
from madang.services.playbook.domain import (
    Playbook,
    PlaybookContent,
    PlaybookPatch,
    PlaybookRun,
    PlaybookSummary,
    Step,
    SuccessCriteria,
    check_size,
    content_of,
    fold,
    merge,
    search_text,
    sort_key,
    with_step_ids,
)
from madang.storage.database import Database, MigrationSet, Row, Transaction, private_rows
from madang.storage.notices import topic

SortBy = Literal["createdAt", "updatedAt", "goal"]
SortOrder = Literal["asc", "desc"]

_ALL, _COARSE, _FINE = 62, 15, 10
"""Bits of `seq` that a count leaves out: all of them for a total, fewer for a bucket."""

MIGRATIONS = MigrationSet(
    "playbook",
    sqlite=(
        """
        CREATE TABLE playbook_owner (
          no INTEGER PRIMARY KEY,
          user_id TEXT NOT NULL, assistant_id TEXT NOT NULL,
          total INTEGER NOT NULL DEFAULT 0,
          UNIQUE (user_id, assistant_id)
        );
        CREATE TABLE playbook (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL UNIQUE,
          owner_no INTEGER NOT NULL REFERENCES playbook_owner (no),
          version INTEGER NOT NULL,
          created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
          goal TEXT NOT NULL, initial_command TEXT NOT NULL, steps INTEGER NOT NULL,
          sort_key TEXT NOT NULL, search_text TEXT NOT NULL,
          workflow TEXT NOT NULL, success_criteria TEXT NOT NULL
        );
        CREATE INDEX playbook_by_creation ON playbook (owner_no, seq);
        CREATE INDEX playbook_by_update ON playbook (owner_no, updated_at, seq);
        CREATE INDEX playbook_by_goal ON playbook (owner_no, sort_key, seq);

        CREATE TABLE playbook_bucket (
          owner_no INTEGER, bits INTEGER, bucket INTEGER, total INTEGER NOT NULL,
          PRIMARY KEY (owner_no, bits, bucket)
        ) WITHOUT ROWID;
        CREATE TRIGGER playbook_added AFTER INSERT ON playbook BEGIN
          UPDATE playbook_owner SET total = total + 1 WHERE no = new.owner_no;
          INSERT INTO playbook_bucket VALUES (new.owner_no, 15, new.seq >> 15, 1), (new.owner_no, 10, new.seq >> 10, 1)
            ON CONFLICT DO UPDATE SET total = total + 1;
        END;
        CREATE TRIGGER playbook_removed AFTER DELETE ON playbook BEGIN
          UPDATE playbook_owner SET total = total - 1 WHERE no = old.owner_no;
          UPDATE playbook_bucket SET total = total - 1
            WHERE owner_no = old.owner_no AND (bits, bucket) IN (VALUES (15, old.seq >> 15), (10, old.seq >> 10));
        END;

        CREATE TABLE playbook_run (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          id TEXT NOT NULL UNIQUE,
          owner_no INTEGER NOT NULL REFERENCES playbook_owner (no),
          playbook_id TEXT NOT NULL, goal TEXT NOT NULL, version INTEGER NOT NULL,
          session_id TEXT NOT NULL, selected_at TEXT NOT NULL
        );
        CREATE INDEX playbook_run_by_owner ON playbook_run (owner_no, seq);
        CREATE INDEX playbook_run_by_playbook ON playbook_run (owner_no, playbook_id, seq);

        CREATE TABLE playbook_view (
          owner_no INTEGER, session_id TEXT, page_size INTEGER NOT NULL,
          PRIMARY KEY (owner_no, session_id)
        ) WITHOUT ROWID;
        """,
    ),
    postgresql=(
        f"""
        CREATE TABLE playbook_owner_row (
          no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          user_id TEXT NOT NULL, assistant_id TEXT NOT NULL,
          UNIQUE (user_id, assistant_id)
        );
        -- No index on seq alone: for "the first 20 of this owner" the planner would walk it past everybody's rows.
        -- The user is in each index, because the policy asks for it of every row that is only skipped.
        -- COLLATE "C" is the order of SQLite: the same page, whichever database keeps it.
        CREATE TABLE playbook (
          seq BIGINT GENERATED ALWAYS AS IDENTITY,
          id TEXT NOT NULL UNIQUE,
          user_id TEXT NOT NULL,
          owner_no BIGINT NOT NULL REFERENCES playbook_owner_row (no),
          version INTEGER NOT NULL,
          created_at TEXT NOT NULL, updated_at TEXT COLLATE "C" NOT NULL,
          goal TEXT NOT NULL, initial_command TEXT NOT NULL, steps INTEGER NOT NULL,
          sort_key TEXT COLLATE "C" NOT NULL, search_text TEXT NOT NULL,
          workflow TEXT NOT NULL, success_criteria TEXT NOT NULL,
          PRIMARY KEY (owner_no, seq) INCLUDE (user_id)
        );
        CREATE INDEX playbook_by_update ON playbook (owner_no, updated_at, seq) INCLUDE (user_id);
        CREATE INDEX playbook_by_goal ON playbook (owner_no, sort_key, seq) INCLUDE (user_id);

        -- Counts are sums of changes: a counter row would make all who add playbooks for one owner wait for each other.
        -- Now and then the changes so far are folded into one row each, so that there are never many to add up; what
        -- folding leaves behind is vacuumed early, because every total walks past it.
        CREATE TABLE playbook_count (
          user_id TEXT NOT NULL, owner_no BIGINT NOT NULL, bits INTEGER NOT NULL, bucket BIGINT NOT NULL,
          change BIGINT NOT NULL
        ) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000);
        CREATE INDEX playbook_count_by_owner ON playbook_count (owner_no, bits, bucket) INCLUDE (user_id, change);
        CREATE FUNCTION playbook_counted() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
          kept playbook = CASE WHEN tg_op = 'INSERT' THEN new ELSE old END;
          change BIGINT = CASE WHEN tg_op = 'INSERT' THEN 1 ELSE -1 END;
        BEGIN
          INSERT INTO playbook_count (owner_no, bits, bucket, change) VALUES
            (kept.owner_no, {_ALL}, 0, change),
            (kept.owner_no, {_COARSE}, kept.seq >> {_COARSE}, change),
            (kept.owner_no, {_FINE}, kept.seq >> {_FINE}, change);
          IF random() < 1.0 / 256 THEN
            WITH many AS (
              SELECT c.bits, c.bucket FROM playbook_count c WHERE c.owner_no = kept.owner_no
              GROUP BY c.bits, c.bucket HAVING count(*) > 1
            ), gone AS (
              DELETE FROM playbook_count c USING many
              WHERE c.owner_no = kept.owner_no AND c.bits = many.bits AND c.bucket = many.bucket
              RETURNING c.bits, c.bucket, c.change
            )
            INSERT INTO playbook_count (owner_no, bits, bucket, change)
            SELECT kept.owner_no, g.bits, g.bucket, sum(g.change) FROM gone g
            GROUP BY g.bits, g.bucket HAVING sum(g.change) <> 0;
          END IF;
          RETURN NULL;
        END $$;
        CREATE TRIGGER playbook_counted AFTER INSERT OR DELETE ON playbook
          FOR EACH ROW EXECUTE FUNCTION playbook_counted();

        CREATE TABLE playbook_run (
          seq BIGINT GENERATED ALWAYS AS IDENTITY,
          id TEXT NOT NULL UNIQUE,
          user_id TEXT NOT NULL,
          owner_no BIGINT NOT NULL REFERENCES playbook_owner_row (no),
          playbook_id TEXT NOT NULL, goal TEXT NOT NULL, version INTEGER NOT NULL,
          session_id TEXT NOT NULL, selected_at TEXT NOT NULL,
          PRIMARY KEY (owner_no, seq) INCLUDE (user_id)
        );
        CREATE INDEX playbook_run_by_playbook ON playbook_run (owner_no, playbook_id, seq) INCLUDE (user_id);

        CREATE TABLE playbook_view (
          owner_no BIGINT, session_id TEXT, page_size INTEGER NOT NULL, user_id TEXT NOT NULL,
          PRIMARY KEY (owner_no, session_id)
        );
        {private_rows("playbook_owner_row", "playbook", "playbook_count", "playbook_run", "playbook_view")}

        -- The tables of the other dialect, for the same statements. security_invoker: policies hold through them.
        CREATE VIEW playbook_owner WITH (security_invoker = true) AS
          SELECT no, user_id, assistant_id, (
            SELECT coalesce(sum(c.change), 0)::BIGINT FROM playbook_count c WHERE c.owner_no = o.no AND c.bits = {_ALL}
          ) AS total FROM playbook_owner_row o;
        CREATE VIEW playbook_bucket WITH (security_invoker = true) AS
          SELECT owner_no, bits, bucket, sum(change)::BIGINT AS total
          FROM playbook_count GROUP BY owner_no, bits, bucket;
        """,
    ),
)

_THINGS = say("playbooks")
_RUNS = say("runs")
_STEPS = TypeAdapter(list[Step])
_SUMMARIES = TypeAdapter(list[PlaybookSummary])
_SUMMARY_FIELDS = ("id", "goal", "initial_command", "steps", "created_at", "updated_at", "version")
_SUMMARY = ", ".join(_SUMMARY_FIELDS)
_WHOLE = "goal, initial_command, workflow, success_criteria, created_at, updated_at, version"


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list and in which order."""

    page: int
    page_size: int
    query: str = ""
    sort_by: SortBy = "createdAt"
    sort_order: SortOrder = "asc"
    clamp: bool = False

    @property
    def is_brief(self) -> bool:
        """Whether only the rows of a small page are touched, whatever the number of playbooks."""
        return not self.query and self.sort_by == "createdAt" and 0 < self.page_size <= 100


class PlaybookStore:
    """Playbooks in the database. Every method is one transaction; the owner is always the call's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.prepare(MIGRATIONS)

    async def add(self, call: Call, contents: Sequence[PlaybookContent]) -> list[Playbook]:
        """Keep new playbooks, all or none."""
        for content in contents:
            check_size(content)

        async def work(tx: Transaction) -> list[Playbook]:
            owner_no = await _owner(tx, call)
            added = []
            for content in contents:
                playbook = _new(call, content)
                added.append(playbook)
                await tx.run(
                    "INSERT INTO playbook (id, owner_no, version, created_at, updated_at, goal, initial_command, "
                    "steps, sort_key, search_text, workflow, success_criteria) "
                    "VALUES (?1, ?2, 1, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    playbook.id,
                    owner_no,
                    playbook.created_at,
                    *_columns(playbook, content),
                )
                await tx.notify(playbook_topic(call, playbook.id))
            return added

        return await self._database.write(work, user_id=call.user_id)

    async def get(self, call: Call, id: str) -> Playbook:
        """Return one playbook.

        Raises:
            NotFound, Denied: it is not there, or belongs to another assistant.
        """
        return await self._database.read(lambda tx: _get(tx, call, id), user_id=call.user_id, brief=True)

    async def get_many(self, call: Call, ids: Sequence[str]) -> list[Playbook]:
        """Return the named playbooks in the order of the names."""

        async def work(tx: Transaction) -> list[Playbook]:
            return [await _get(tx, call, id) for id in ids]

        return await self._database.read(work, user_id=call.user_id)

    async def total(self, call: Call) -> int:
        async def work(tx: Transaction) -> int:
            return (await _known_owner(tx, call))[1]

        return await self._database.read(work, user_id=call.user_id, brief=True)

    async def list_page(self, call: Call, listing: Listing) -> Page[PlaybookSummary]:
        """Return one page: filtered first, then cut.

        Raises:
            OutOfRange: there is no such page.
        """

        async def work(tx: Transaction) -> tuple[Span, list[Row]]:
            owner_no, total = await _known_owner(tx, call)
            if listing.query:
                return await _search(tx, owner_no, listing)
            where = span(listing.page, listing.page_size, total, things=_THINGS, clamp=listing.clamp)
            return where, await _slice(tx, owner_no, where, listing)

        where, rows = await self._database.read(work, user_id=call.user_id, brief=listing.is_brief)
        agent_id = call.assistant
        return where.fill(_summaries(agent_id, rows))

    async def list_after(self, call: Call, after: int, limit: int) -> list[tuple[int, Playbook]]:
        """Return up to `limit` whole playbooks, oldest first, from the place after `after`; each with its place."""

        async def work(tx: Transaction) -> list[tuple[int, Playbook]]:
            owner_no, _ = await _known_owner(tx, call)
            rows = await tx.all(
                f"SELECT seq, id, {_WHOLE} FROM playbook WHERE owner_no = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
                owner_no,
                after,
                limit,
            )
            return [(row[0], _playbook(row[1], call.assistant, row[2:])) for row in rows]

        return await self._database.read(work, user_id=call.user_id)

    async def all_ids(self, call: Call, limit: int) -> list[str]:
        """Return the ids of the oldest `limit` playbooks."""

        async def work(tx: Transaction) -> list[str]:
            owner_no, _ = await _known_owner(tx, call)
            rows = await tx.all("SELECT id FROM playbook WHERE owner_no = ?1 ORDER BY seq LIMIT ?2", owner_no, limit)
            return [row[0] for row in rows]

        return await self._database.read(work, user_id=call.user_id)

    async def update(self, call: Call, id: str, patch: PlaybookPatch, expected_version: int | None) -> Playbook:
        """Apply a merge patch.

        Raises:
            Conflict: the playbook is no longer at `expected_version`; nothing is changed.
            ValidationError: the patched playbook would not be one.
        """

        async def work(tx: Transaction) -> Playbook:
            playbook = await _get(tx, call, id)
            if expected_version is not None and expected_version != playbook.version:
                raise Conflict(
                    say(
                        "Playbook {id} is at version {version}, not {expected}. Nothing was changed.",
                        id=id,
                        version=playbook.version,
                        expected=expected_version,
                    ),
                    hint=say("Use 'get_playbook' to read it again, then patch that version."),
                )
            content = merge(content_of(playbook), patch)
            check_size(content)
            updated = playbook.model_copy(
                update={
                    "goal": content.goal,
                    "initial_command": content.initial_command,
                    "workflow": with_step_ids(id, content.workflow),
                    "success_criteria": content.success_criteria,
                    "updated_at": _now(),
                    "version": playbook.version + 1,
                }
            )
            await tx.run(
                "UPDATE playbook SET version = ?2, updated_at = ?3, goal = ?4, initial_command = ?5, steps = ?6, "
                "sort_key = ?7, search_text = ?8, workflow = ?9, success_criteria = ?10 WHERE id = ?1",
                id,
                updated.version,
                updated.updated_at,
                *_columns(updated, content),
            )
            await tx.notify(playbook_topic(call, id))
            return updated

        return await self._database.write(work, user_id=call.user_id)

    async def delete(self, call: Call, id: str) -> Playbook:
        """Remove a playbook and return what it was. Its runs stay: they are history."""

        async def work(tx: Transaction) -> Playbook:
            playbook = await _get(tx, call, id)
            await tx.run("DELETE FROM playbook WHERE id = ?1", id)
            await tx.notify(playbook_topic(call, id))
            return playbook

        return await self._database.write(work, user_id=call.user_id)

    async def select(self, call: Call, id: str) -> Playbook:
        """Return a playbook and record that it was selected for execution."""

        async def work(tx: Transaction) -> Playbook:
            playbook = await _get(tx, call, id)
            await tx.run(
                "INSERT INTO playbook_run (id, owner_no, playbook_id, goal, version, session_id, selected_at) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                new_id(),
                await _owner(tx, call),
                id,
                playbook.goal,
                playbook.version,
                call.session_id or "",
                _now(),
            )
            await tx.notify(playbook_topic(call, id))
            return playbook

        return await self._database.write(work, user_id=call.user_id)

    async def runs(self, call: Call, page: int, page_size: int, playbook_id: str = "") -> Page[PlaybookRun]:
        """Return one page of the runs, newest first."""

        async def work(tx: Transaction) -> tuple[Span, list[Row]]:
            owner_no, _ = await _known_owner(tx, call)
            condition = "owner_no = ?1"
            parameters: list[object] = [owner_no]
            if playbook_id:
                condition += " AND playbook_id = ?2"
                parameters.append(playbook_id)
            row = await tx.one(f"SELECT count(*) FROM playbook_run WHERE {condition}", *parameters)
            where = span(page, page_size, row[0] if row else 0, things=_RUNS)
            rows = await tx.all(
                "SELECT id, playbook_id, goal, version, session_id, selected_at FROM playbook_run "
                f"WHERE {condition} ORDER BY seq DESC LIMIT {where.limit} OFFSET {where.offset}",
                *parameters,
            )
            return where, rows

        where, rows = await self._database.read(work, user_id=call.user_id)
        return where.fill([PlaybookRun.model_construct(**dict(zip(_RUN_FIELDS, row, strict=True))) for row in rows])

    async def remember_page_size(self, call: Call, page_size: int) -> None:
        """Note the page size of the view this session looks at, for its next page."""

        async def work(tx: Transaction) -> None:
            await tx.run(
                "INSERT INTO playbook_view VALUES (?1, ?2, ?3) "
                "ON CONFLICT (owner_no, session_id) DO UPDATE SET page_size = excluded.page_size",
                await _owner(tx, call),
                call.session_id or "",
                page_size,
            )

        await self._database.write(work, user_id=call.user_id)

    async def page_size(self, call: Call) -> int | None:
        """Return the page size of the view this session last looked at."""

        async def work(tx: Transaction) -> Row | None:
            owner_no, _ = await _known_owner(tx, call)
            return await tx.one(
                "SELECT page_size FROM playbook_view WHERE owner_no = ?1 AND session_id = ?2",
                owner_no,
                call.session_id or "",
            )

        row = await self._database.read(work, user_id=call.user_id)
        return row[0] if row else None


_RUN_FIELDS = ("id", "playbook_id", "goal", "version", "session_id", "selected_at")


def playbook_topic(call: Call, *id: str) -> str:
    """The name under which changes are told: of one playbook, or of all of this owner's."""
    return topic("playbook", call.user_id, call.assistant, *id)


def changed_ids(call: Call, topics: Iterable[str]) -> list[str]:
    """Return the playbooks that these topics are about; none are named when too much changed to tell."""
    above = len(playbook_topic(call))
    return [topic[above:-1] for topic in topics if len(topic) > above]


async def _owner(tx: Transaction, call: Call) -> int:
    """Return the owner's number, and give out one to who has none yet."""
    key = call.user_id, call.assistant
    known = "SELECT no FROM playbook_owner WHERE user_id = ?1 AND assistant_id = ?2"
    row = await tx.one(known, *key)
    if row is None:
        await tx.run("INSERT INTO playbook_owner (user_id, assistant_id) VALUES (?1, ?2)", *key)
        row = await tx.one(known, *key)
    assert row is not None
    no: int = row[0]
    return no


async def _known_owner(tx: Transaction, call: Call) -> tuple[int, int]:
    """Return the owner's number and total; one who never kept anything has the number 0, which owns nothing."""
    row = await tx.one(
        "SELECT no, total FROM playbook_owner WHERE user_id = ?1 AND assistant_id = ?2",
        call.user_id,
        call.assistant,
    )
    return (row[0], row[1]) if row else (0, 0)


async def _get(tx: Transaction, call: Call, id: str) -> Playbook:
    row = await tx.one(
        f"SELECT owner.user_id, owner.assistant_id, {_WHOLE} FROM playbook "
        "JOIN playbook_owner owner ON owner.no = playbook.owner_no WHERE playbook.id = ?1",
        id,
    )
    # Another user's playbook is answered like one that does not exist: an id must not tell that it is taken.
    if row is None or row[0] != call.user_id:
        raise NotFound(
            say("Playbook {id} not found.", id=id[:100]),
            hint=say("Use 'list_playbooks' to see the ids there are."),
        )
    if row[1] != call.assistant:
        raise Denied(
            say(
                "Playbook {id} does not belong to the current assistant ({assistant}).",
                id=id,
                assistant=call.assistant,
            ),
            hint=say("Use 'list_playbooks' to see the playbooks of this assistant."),
        )
    return _playbook(id, row[1], row[2:])


def _playbook(id: str, agent_id: str, row: Row) -> Playbook:
    goal, initial_command, workflow, success_criteria, created_at, updated_at, version = row
    return Playbook.model_construct(
        id=id,
        agent_id=agent_id,
        goal=goal,
        initial_command=initial_command,
        workflow=_STEPS.validate_json(workflow),
        success_criteria=SuccessCriteria.model_validate_json(success_criteria),
        created_at=created_at,
        updated_at=updated_at,
        version=version,
    )


async def _slice(tx: Transaction, owner_no: int, where: Span, listing: Listing) -> list[Row]:
    """Return the rows of one page, starting from whichever end of the listing is nearer."""
    length = max(0, min(where.limit, where.total - where.offset))
    from_end = where.total - where.offset - length
    reverse = from_end < where.offset
    offset = from_end if reverse else where.offset
    descending = (listing.sort_order == "desc") != reverse
    direction, after = ("DESC", "<=") if descending else ("ASC", ">=")
    if listing.sort_by != "createdAt":
        column = "updated_at" if listing.sort_by == "updatedAt" else "sort_key"
        # The inner select walks the index alone; rows are read only for the page itself.
        rows = await tx.all(
            f"SELECT {_SUMMARY} FROM playbook WHERE owner_no = ?1 AND seq IN (SELECT seq FROM playbook "
            f"WHERE owner_no = ?1 ORDER BY {column} {direction}, seq {direction} LIMIT ?2 OFFSET ?3) "
            f"ORDER BY {column} {direction}, seq {direction}",
            owner_no,
            length,
            offset,
        )
    else:
        start, offset = await _bucket_start(tx, owner_no, offset, descending)
        rows = await tx.all(
            f"SELECT {_SUMMARY} FROM playbook WHERE owner_no = ?1 AND seq {after} ?4 "
            f"ORDER BY seq {direction} LIMIT ?2 OFFSET ?3",
            owner_no,
            length,
            offset,
            start,
        )
    return rows[::-1] if reverse else rows


async def _bucket_start(tx: Transaction, owner_no: int, offset: int, descending: bool) -> tuple[int, int]:
    """Return the `seq` at which the bucket with the wanted row begins, and the offset that remains inside it."""
    direction = "DESC" if descending else "ASC"
    first, last = 0, 2**62
    if offset < 1 << _FINE:
        return (last if descending else first), offset
    for bits in (_COARSE, _FINE):
        rows = await tx.all(
            "SELECT bucket, total FROM playbook_bucket WHERE owner_no = ?1 AND bits = ?2 AND bucket BETWEEN ?3 AND ?4 "
            f"ORDER BY bucket {direction}",
            owner_no,
            bits,
            first >> bits,
            last >> bits,
        )
        for bucket, total in rows:
            if offset < total:
                first, last = bucket << bits, ((bucket + 1) << bits) - 1
                break
            offset -= total
    return (last if descending else first), offset


async def _search(tx: Transaction, owner_no: int, listing: Listing) -> tuple[Span, list[Row]]:
    """Return the page of those that hold every word of the query in their goal or first command."""
    words = fold(listing.query).split()
    patterns = [f"%{_escaped(word)}%" for word in words]
    condition = "owner_no = ?1" + "".join(
        rf" AND search_text LIKE ?{number} ESCAPE '\'" for number in range(2, len(words) + 2)
    )
    row = await tx.one(f"SELECT count(*) FROM playbook WHERE {condition}", owner_no, *patterns)
    total = row[0] if row else 0
    where = span(listing.page, listing.page_size, total, things=_THINGS, clamp=listing.clamp)
    column = {"createdAt": "seq", "updatedAt": "updated_at", "goal": "sort_key"}[listing.sort_by]
    direction = listing.sort_order.upper()
    rows = await tx.all(
        f"SELECT {_SUMMARY} FROM playbook WHERE {condition} "
        f"ORDER BY {column} {direction}, seq {direction} LIMIT {where.limit} OFFSET {where.offset}",
        owner_no,
        *patterns,
    )
    return where, rows


def _escaped(word: str) -> str:
    return word.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def _new(call: Call, content: PlaybookContent) -> Playbook:
    id, now = new_id(), _now()
    return Playbook(
        id=id,
        agent_id=call.assistant,
        goal=content.goal,
        initial_command=content.initial_command,
        workflow=with_step_ids(id, content.workflow),
        success_criteria=content.success_criteria,
        created_at=now,
        updated_at=now,
        version=1,
    )


def _columns(playbook: Playbook, content: PlaybookContent) -> tuple[str | int, ...]:
    return (
        playbook.goal,
        playbook.initial_command,
        len(playbook.workflow),
        sort_key(playbook.goal),
        search_text(content),
        _STEPS.dump_json(playbook.workflow).decode(),
        playbook.success_criteria.model_dump_json(),
    )


def _summaries(agent_id: str, rows: Sequence[Row]) -> list[PlaybookSummary]:
    # Validating all of them at once costs a third of `model_construct` for each, which is written in Python.
    return _SUMMARIES.validate_python([dict(zip(_SUMMARY_FIELDS, row, strict=True), agent_id=agent_id) for row in rows])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
