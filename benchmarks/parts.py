"""Search and additions on a PostgreSQL server, against the statements of before there were parts."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from benchmarks.passages import Prose
from benchmarks.postgresql import ANN, start_server
from madang.core.executor import Executor
from madang.database.port import MigrationSet, Transaction
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.contents import Chunk, Limits, NewContent, StoreKey
from madang.services.content.store import ContentStore
from madang.services.content.store.parts import Parts
from madang.services.content.store.ranking import ServerRanking
from madang.services.content.store.tables import MIGRATIONS
from madang.services.content.store.vectors import quoted, tsvector_text
from madang.text.search.queries import Query
from madang.text.search.tokens import Tokenizer

if TYPE_CHECKING:
    from tests.postgresql import Server

LARGE, SMALL = 100_000, 10_000
"""Chunks in the store; fewer with `--quick`."""

WRITTEN = 5_000
"""Of them as many are different: the others are copies, because tokenizing and adding them would take long."""

CHUNKS_PER_CONTENT = 50
CHUNK_CHARACTERS = 1_200
QUERIES = 60
LIMIT = 30
ADDS = 60
ADDED_CHUNKS = 10
STEPS_BEFORE = 3
LIMITS = Limits(contents=10**6)

# As it was: every chunk of the store is looked at.
_BEST_BEFORE = """
WITH asked AS (
  SELECT CAST(word AS tsquery) AS word, at FROM unnest(CAST(?2 AS text[])) WITH ORDINALITY AS w (word, at)
), hit AS MATERIALIZED (
  SELECT h.at, c.no, h.often, CAST(length(c.words) AS double precision) AS length
  FROM content_chunk c CROSS JOIN LATERAL (
    SELECT a.at, 1 / (1.644934 * (1.000001 - ts_rank('{1, 1, 1, 1}', c.words, a.word))) - 0.5 AS often
    FROM asked a WHERE c.words @@ a.word OFFSET 0
  ) h
  WHERE c.user_id = ?4 AND c.store_no = ?1
), held AS (
  SELECT at, count(*) AS many FROM hit GROUP BY at
), usual AS (
  SELECT avg(length) AS length,
    (SELECT sum(chunk_count) FROM content WHERE user_id = ?4 AND store_no = ?1) AS chunks FROM hit
), weight AS (
  SELECT a.at, CAST(ln(1 + (greatest(u.chunks - n.many, 0) + 0.5) / (n.many + 0.5)) AS double precision) AS weight
  FROM asked a CROSS JOIN usual u LEFT JOIN held ON held.at = a.at
  CROSS JOIN LATERAL (SELECT coalesce(held.many, 1) AS many) n
)
SELECT h.no, sum(w.weight * h.often / (h.often + 0.3 + 0.9 * h.length / u.length)) / (SELECT sum(weight) FROM weight)
  AS share
FROM hit h JOIN weight w ON w.at = h.at CROSS JOIN usual u GROUP BY h.no ORDER BY share DESC, h.no LIMIT ?3
"""
_MULTIPLY = """
INSERT INTO content (no, id, user_id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, preview,
  page_lines, uploaded_at, analysis)
SELECT no + copy * 1000000, id || copy, user_id, store_no, sha256 || copy, filename, mime_type, size, line_count,
  chunk_count, preview, page_lines, uploaded_at, analysis FROM content, generate_series(1, {copies}) AS copy;
INSERT INTO content_chunk (no, user_id, store_no, content_no, number, from_line, to_line, text, words, word_count)
SELECT no + copy * 1000000, user_id, store_no, content_no + copy * 1000000, number, from_line, to_line, text, words,
  word_count FROM content_chunk, generate_series(1, {copies}) AS copy;
"""


async def search(effort: Effort) -> list[Finding]:
    """Search a large store, and add to one."""
    running = start_server()
    if running is None:
        return []
    return [*await _searched(running, LARGE if effort.rounds > 5 else SMALL), *await _added(running, effort)]


async def _searched(running: Server, count: int) -> list[Finding]:
    database = PostgresDatabase(parse_database_url(running.new_database("parts") + "&pool_size=1"))
    contents = ContentStore(database, LIMITS)
    await contents.open()
    store = (await contents.create_store(ANN, "large", "")).key
    prose, analysis = Prose(7), Analysis(Executor())
    for number in range(WRITTEN // CHUNKS_PER_CONTENT):
        await contents.add(ANN, store.id, _content(prose, number, CHUNKS_PER_CONTENT, analysis.name))
    running.sql(_MULTIPLY.format(copies=count // WRITTEN - 1), "parts")
    running.sql("VACUUM ANALYZE", "parts")
    queries = [Tokenizer().query(prose.question()) for _ in range(QUERIES)]
    ranking, parts = ServerRanking(database, analysis), Parts(database)

    async def before(query: Query) -> object:
        words = [quoted(word) for word in query.words]
        values = store.no, words, LIMIT, store.user_id
        return await database.read(lambda tx: tx.all(_BEST_BEFORE, *values), user_id=store.user_id)

    async def ours(query: Query) -> object:
        return await ranking.rank(store, query, LIMIT)

    fence = await parts.find_fence(store)
    while await parts.fold_next(store, fence, analysis.name):
        pass
    running.sql("VACUUM ANALYZE", "parts")
    times = await _times({"ours": ours, "before": before}, queries)
    await ranking.close()
    await database.close()
    findings = []
    for name, place, goal in (("p50", 49, Goal(0.2)), ("p95", 94, Goal(0.3, promised=False))):
        new, old = (quantiles(times[side], n=100)[place] * 1e3 for side in ("ours", "before"))
        what = f"PostgreSQL, search in {count:,} chunks, {name}, vs the statement without parts"
        findings.append(Finding(what, "ms", new, old, new / old, goal))
    return findings


async def _times(
    sides: dict[str, Callable[[Query], Awaitable[object]]], queries: Sequence[Query]
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {side: [] for side in sides}
    for query in [*queries[:6], *queries]:  # the first ones warm both up
        for side, rank in sides.items():
            started = time.perf_counter()
            await rank(query)
            times[side].append(time.perf_counter() - started)
    return {side: values[6:] for side, values in times.items()}


async def _added(running: Server, effort: Effort) -> list[Finding]:
    """Add contents as the product does, and with the tables and statements of before; the server's CPU, and its WAL."""
    steps = MigrationSet(MIGRATIONS.name, MIGRATIONS.sqlite, MIGRATIONS.postgresql[:STEPS_BEFORE])
    databases = {}
    for name in ("adds", "adds_before"):
        databases[name] = PostgresDatabase(parse_database_url(running.new_database(name) + "&pool_size=1"))
    await databases["adds_before"].prepare(steps)
    contents = ContentStore(databases["adds"], LIMITS)
    await contents.open()
    stores = {name: await _new_store(database) for name, database in databases.items()}
    prose, numbers = Prose(11), iter(range(10**6))

    async def ours(news: Sequence[NewContent]) -> None:
        for new in news:
            await contents.add(ANN, stores["adds"].id, new)

    async def before(news: Sequence[NewContent]) -> None:
        for new in news:
            await databases["adds_before"].write(_Addition(stores["adds_before"], new).work, user_id=ANN.user_id)

    async def measured(name: str, add: Callable[[Sequence[NewContent]], Awaitable[None]]) -> Sample:
        news = [_content(prose, next(numbers), ADDED_CHUNKS, "bench") for _ in range(ADDS)]
        pid = (await databases[name].find("SELECT pg_backend_pid()"))[0][0]
        running.sql("CHECKPOINT")
        position, cpu_s = running.sql("SELECT pg_current_wal_lsn()"), _cpu_s(pid)
        await add(news)
        spent_s = _cpu_s(pid) - cpu_s
        wal = running.sql(f"SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '{position}')")
        return {"cpu": spent_s / ADDS * 1e6, "wal": float(wal) / ADDS}

    sides: dict[str, Side] = {
        "ours": partial(measured, "adds", ours),
        "before": partial(measured, "adds_before", before),
    }
    for side in sides.values():
        await side()
    samples = await interleave(effort.rounds, sides)
    for database in databases.values():
        await database.close()
    what = f"PostgreSQL, add {ADDED_CHUNKS} chunks, server's"
    return [
        compare(f"{what} CPU, vs without parts", "cpu", "µs CPU", samples["ours"], samples["before"], Goal(1.1)),
        compare(f"{what} WAL, vs without parts", "wal", "bytes", samples["ours"], samples["before"], Goal(1.1)),
    ]


class _Addition:
    """An addition as it was: the same questions and rows, without what later steps have added."""

    def __init__(self, store: StoreKey, new: NewContent) -> None:
        self._store = store
        self._new = new

    async def work(self, tx: Transaction) -> None:
        user, no, new = self._store.user_id, self._store.no, self._new
        by_hash = (
            "SELECT no, id, filename, page_lines FROM content WHERE user_id = ?1 AND store_no = ?2 AND sha256 = ?3"
        )
        await tx.one("SELECT no, id FROM content_store WHERE user_id = ?1 AND id = ?2", user, self._store.id)
        await tx.one(by_hash, user, no, new.sha256)
        await tx.one(
            "SELECT count(*) FROM content WHERE user_id = ?1 AND store_no IN "
            "(SELECT no FROM content_store WHERE user_id = ?1 AND session_id = ?2)",
            user,
            ANN.session,
        )
        await tx.run(
            "INSERT INTO content (id, user_id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, "
            "preview, page_lines, uploaded_at) VALUES (?1, ?2, ?3, ?1, ?4, ?5, ?6, ?7, ?7, '', '[]', ?8) "
            "ON CONFLICT DO NOTHING",
            new.sha256,
            user,
            no,
            new.filename,
            new.mime_type,
            new.size,
            len(new.chunks),
            "2026-01-01T00:00:00.000Z",
        )
        row = await tx.one(by_hash, user, no, new.sha256)
        assert row is not None
        await tx.run_many(
            "INSERT INTO content_chunk (user_id, store_no, content_no, number, from_line, to_line, text, words) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CAST(CAST(?8 AS text) AS tsvector))",
            [
                (user, no, row[0], *chunk, tsvector_text(tokens))
                for chunk, tokens in zip(new.chunks, new.tokens, strict=True)
            ],
        )
        await tx.notify("content/bench")


async def _new_store(database: PostgresDatabase) -> StoreKey:
    store = await ContentStore(database, LIMITS).create_store(ANN, "", "")
    return store.key


def _content(prose: Prose, number: int, chunk_count: int, analysis: str) -> NewContent:
    tokenizer = Tokenizer()
    texts = [prose.text(CHUNK_CHARACTERS) for _ in range(chunk_count)]
    return NewContent(
        sha256=f"{number:064x}",
        filename=f"{number}.txt",
        mime_type="text/plain",
        size=chunk_count * CHUNK_CHARACTERS,
        line_count=chunk_count,
        preview="",
        page_lines=(),
        chunks=[Chunk(place, place, place, text) for place, text in enumerate(texts, start=1)],
        tokens=[tokenizer.tokens(text) for text in texts],
        analysis=analysis,
    )


def _cpu_s(pid: int) -> float:
    """Return what a process has used, as the kernel counts it, in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
