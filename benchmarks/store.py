"""The playbook store through its public async API, against a smaller library and against plain SQL."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import apsw

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave, repeated, repeated_inline
from benchmarks.libraries import CONTENT, OWNER, TEN_THOUSAND, THOUSAND, Library, playbook_id, prepare
from madang.database.sqlite import writer as sqlite_writer
from madang.database.sqlite.database import SqliteDatabase
from madang.services.playbook.store import PageRequest, PlaybookStore

PAGE_SIZE = 20
CLIENTS = 64
UNIT = "µs CPU"
SLOW = "slow-disk"

_OWNER = "SELECT no, total FROM playbook_owner WHERE user_id = ?1 AND assistant_id = ?2"
_BY_ID = """
SELECT owner.assistant_id, goal, initial_command, workflow, success_criteria, created_at, updated_at, version
FROM playbook JOIN playbook_owner owner ON owner.user_id = playbook.user_id AND owner.no = playbook.owner_no
WHERE playbook.user_id = ?1 AND playbook.id = ?2
"""
_OFFSET = """
SELECT id, goal, initial_command, steps, created_at, updated_at, version
FROM playbook WHERE user_id = ?1 AND owner_no = ?2 ORDER BY seq LIMIT ?3 OFFSET ?4
"""


@asynccontextmanager
async def opened(path: Path, vfs: str | None = None) -> AsyncIterator[PlaybookStore]:
    database = SqliteDatabase(path, vfs=vfs)
    store = PlaybookStore(database)
    await store.open()
    try:
        yield store
    finally:
        await database.close()


async def scale(effort: Effort) -> list[Finding]:
    """Ten thousand playbooks of one assistant, among as many of others, against a thousand."""
    small, large = await prepare(THOUSAND), await prepare(TEN_THOUSAND)
    work: dict[str, Callable[[PlaybookStore, Library], Awaitable[object]]] = {
        "page 1": lambda store, _: store.list_page(OWNER, PageRequest(1, PAGE_SIZE)),
        "last page": lambda store, library: store.list_page(OWNER, PageRequest(library.owned // PAGE_SIZE, PAGE_SIZE)),
        "total": lambda store, _: store.total(OWNER),
    }
    findings = []
    async with opened(small.path) as few, opened(large.path) as many:
        for name, task in work.items():
            samples = await interleave(
                effort.rounds,
                {
                    "many": repeated(partial(task, many, large), effort.calls),
                    "few": repeated(partial(task, few, small), effort.calls),
                },
            )
            what = f"store, {name}: 10,000 playbooks vs 1,000"
            findings.append(compare(what, "cpu", UNIT, samples["many"], samples["few"], Goal(3)))
    return findings


async def sql(effort: Effort) -> list[Finding]:
    """Reads of the large library against the same SQL on apsw in the calling thread."""
    library = await prepare(TEN_THOUSAND)
    id = playbook_id(library.total // 2)
    connection = apsw.Connection(str(library.path), flags=apsw.SQLITE_OPEN_READONLY)
    execute = connection.execute
    owner = (OWNER.user_id, OWNER.assistant)

    def page_with_total() -> object:
        return execute(_OWNER, owner).fetchall(), execute(_OFFSET, (OWNER.user_id, 1, PAGE_SIZE, 0)).fetchall()

    async with opened(library.path) as store:
        times = effort.calls
        comparisons = [
            (
                "store, read by id vs the same SQL in the calling thread",
                repeated(lambda: store.get(OWNER, id), times),
                repeated_inline(lambda: execute(_BY_ID, (OWNER.user_id, id)).fetchall(), times),
                Goal(5),
            ),
            (
                "store, page 1 with total vs the same SQL in the calling thread",
                repeated(lambda: store.list_page(OWNER, PageRequest(1, PAGE_SIZE)), times),
                repeated_inline(page_with_total, times),
                Goal(1.8),
            ),
        ]
        findings = []
        for what, ours, floor, goal in comparisons:
            samples = await interleave(effort.rounds, {"ours": ours, "floor": floor})
            findings.append(compare(what, "cpu", UNIT, samples["ours"], samples["floor"], goal))
    connection.close()
    return findings


async def commits(effort: Effort) -> list[Finding]:
    """Durable writes of many clients at once: sharing a flush to disk against a flush each.

    The gain is what a flush costs beside the work of a write. So it is measured on this disk, which may be a fast one,
    and with a millisecond on top of each flush, which is nearer to what people have in their machines.
    """
    disks = [
        ("on this disk", "", Goal(8, at_least=True, promised=False)),
        ("with flushes 1 ms longer", SLOW, Goal(8, at_least=True)),
    ]
    slow = _SlowDisk()
    findings = []
    for disk, vfs, goal in disks:
        samples = await interleave(effort.rounds, _commits(effort.calls // 10, vfs))
        what = f"store, {CLIENTS} clients, group commit vs commit each (FULL), {disk}"
        findings.append(compare(what, "rate", "writes/s", samples["grouped"], samples["each"], goal))
    slow.unregister()
    return findings


def _commits(times: int, vfs: str) -> dict[str, Side]:
    async def grouped() -> Sample:
        with tempfile.TemporaryDirectory() as folder:
            async with opened(Path(folder) / "madang.db", vfs or None) as store:

                async def client() -> None:
                    for _ in range(times):
                        await store.add(OWNER, [CONTENT])

                started = time.perf_counter()
                await asyncio.gather(*(client() for _ in range(CLIENTS)))
                return {"rate": CLIENTS * times / (time.perf_counter() - started)}

    async def each() -> Sample:
        with patch.object(sqlite_writer, "MAX_BATCH_WRITES", 1):
            return await grouped()

    return {"grouped": grouped, "each": each}


class _SlowDisk(apsw.VFS):
    """The platform's own files, with flushes that take a millisecond longer."""

    def __init__(self) -> None:
        super().__init__(SLOW, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _SlowFile("", name, flags)


class _SlowFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:
        time.sleep(0.001)
        super().xSync(flags)
