"""The playbook store on a PostgreSQL server of our own, against asyncpg by hand."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import asyncpg

from benchmarks.harness import Effort, Finding, Goal, compare, interleave, repeated
from benchmarks.libraries import CONTENT, OWNER
from madang.core.calls import Call
from madang.core.ids import UserId
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.services.playbook.store import PageRequest, PlaybookStore

if TYPE_CHECKING:
    from tests.postgresql import Server

PAGE_SIZE = 20
KEPT = 1_000
MANY = 10_000
ANN = replace(OWNER, user_id=UserId("ann"))
BOB = replace(OWNER, user_id=UserId("bob"))

_BY_ID = """
SELECT owner.assistant_id, goal, initial_command, workflow, success_criteria, created_at, updated_at, version
FROM playbook JOIN playbook_owner owner ON owner.user_id = playbook.user_id AND owner.no = playbook.owner_no
WHERE playbook.user_id = $1 AND playbook.id = $2
"""
_PAGE = """
SELECT (SELECT total FROM playbook_owner WHERE user_id = $1 AND assistant_id = $2),
  id, goal, initial_command, steps, created_at, updated_at, version FROM playbook
WHERE user_id = $1 AND owner_no = (SELECT no FROM playbook_owner WHERE user_id = $1 AND assistant_id = $2)
ORDER BY seq LIMIT $3
"""
# Without the trigger: one transaction that updates one row ten thousand times would take long.
_MULTIPLY = """
ALTER TABLE playbook DISABLE TRIGGER playbook_counted;
INSERT INTO playbook (id, user_id, owner_no, version, created_at, updated_at, goal, initial_command, steps, sort_key,
  search_text, workflow, success_criteria)
SELECT gen_random_uuid()::text, user_id, owner_no, version, created_at, updated_at, goal, initial_command, steps,
  sort_key, search_text, workflow, success_criteria FROM playbook, generate_series(1, {times}) WHERE user_id = '{user}';
ALTER TABLE playbook ENABLE TRIGGER playbook_counted;
UPDATE playbook_owner_row o SET total = (SELECT count(*) FROM playbook p WHERE p.owner_no = o.no);
"""


def start_server() -> Server | None:
    """Return a server that flushes to disk, or None where there is no PostgreSQL."""
    try:
        from tests.postgresql import server

        return server(fsync=True)
    except BaseException as error:  # pytest's way to skip is no Exception
        print(f"Left out: {error}", file=sys.stderr)
        return None


async def scale(effort: Effort) -> list[Finding]:
    """Ten thousand playbooks of one user against a thousand of another."""
    running = start_server()
    if running is None:
        return []
    database = PostgresDatabase(parse_database_url(running.new_database("scale")))
    store = PlaybookStore(database)
    await store.open()
    for call in (ANN, BOB):
        await store.add(call, [CONTENT] * KEPT)
    running.sql(_MULTIPLY.format(user=ANN.user_id, times=MANY // KEPT - 1), "scale")
    running.sql("VACUUM ANALYZE", "scale")
    assert (await store.total(ANN), await store.total(BOB)) == (MANY, KEPT)
    pages = {ANN: MANY // PAGE_SIZE, BOB: KEPT // PAGE_SIZE}
    work: dict[str, Callable[[Call], Awaitable[object]]] = {
        "page 1": lambda call: store.list_page(call, PageRequest(1, PAGE_SIZE)),
        "last page": lambda call: store.list_page(call, PageRequest(pages[call], PAGE_SIZE)),
        "total": store.total,
    }
    findings = []
    for name, task in work.items():
        sides = {side: repeated(partial(task, call), effort.calls) for side, call in (("many", ANN), ("few", BOB))}
        for side in sides.values():
            await side()
        samples = await interleave(effort.rounds, sides)
        what = f"PostgreSQL, {name}: {MANY:,} playbooks vs {KEPT:,}"
        findings.append(compare(what, "wall", "µs wall", samples["many"], samples["few"], Goal(3)))
    await database.close()
    return findings


async def reads(effort: Effort) -> list[Finding]:
    """One playbook and one page: through the store, by hand with a pool and the user set, and with neither."""
    running = start_server()
    if running is None:
        return []
    url = running.new_database("bench")
    database = PostgresDatabase(parse_database_url(url))
    store = PlaybookStore(database)
    await store.open()
    kept = await store.add(ANN, [CONTENT] * KEPT)
    await store.add(BOB, [CONTENT] * KEPT)
    running.sql("VACUUM ANALYZE", "bench")
    pool = await asyncpg.create_pool(url, min_size=1)
    alone = await asyncpg.connect(url)
    await alone.execute("SET madang.user_id = 'ann'")

    async def pooled(sql: str, *parameters: object) -> object:
        async with pool.acquire() as connection, connection.transaction(readonly=True):
            await connection.execute("SELECT set_config('madang.user_id', $1, true)", ANN.user_id)
            return await connection.fetch(sql, *parameters)

    one, page = (_BY_ID, ANN.user_id, kept[KEPT // 2].id), (_PAGE, ANN.user_id, ANN.assistant, PAGE_SIZE)
    tasks: dict[str, tuple[Callable[[], Awaitable[object]], tuple[object, ...]]] = {
        "read by id": (lambda: store.get(ANN, kept[KEPT // 2].id), one),
        f"page 1 with total ({PAGE_SIZE} of {KEPT:,})": (lambda: store.list_page(ANN, PageRequest(1, PAGE_SIZE)), page),
    }
    findings = []
    for name, (ours, (sql, *parameters)) in tasks.items():
        sides = {
            "ours": repeated(ours, effort.calls),
            "pooled": repeated(lambda s=sql, p=parameters: pooled(str(s), *p), effort.calls),  # type: ignore[misc]  # bound now, not at the next turn of the loop
            "alone": repeated(lambda s=sql, p=parameters: alone.fetch(str(s), *p), effort.calls),  # type: ignore[misc]  # as above
        }
        for side in sides.values():
            await side()
        samples = await interleave(effort.rounds, sides)
        for floor, words, promised in (
            ("pooled", "asyncpg with its pool and the user set", True),
            ("alone", "one statement on one connection of asyncpg", False),
        ):
            what = f"PostgreSQL, {name} vs {words}"
            goal = Goal(1.3, promised=promised)
            findings.append(compare(what, "wall", "µs wall", samples["ours"], samples[floor], goal))
    await pool.close()
    await alone.close()
    await database.close()
    return findings
