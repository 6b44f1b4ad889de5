"""Processes that are killed or that work at once on one folder: the index heals, and says what the rows say."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from madang.services.content.engine import following
from madang.text.search import tokens
from tests.services.content.children import LIMITS, NEW_VERSION, POINTS, REBUILD_POINTS
from tests.services.content.contents import add, open_content, search

ROOT = Path(__file__).resolve().parents[3]
KILLS = int(os.environ.get("MADANG_TEST_CONTENT_KILLS", "8"))
SEED = int(os.environ.get("MADANG_TEST_SEED", str(random.SystemRandom().randrange(10**9))))


def child(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.services.content.children", *map(str, words)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def run(*words: object) -> str:
    with child(*words) as process:
        output, _ = process.communicate(timeout=60)
    return output


def check_folder(folder: Path) -> None:
    """No row without its owner, nothing left to do, no file that is not used."""
    connection = apsw.Connection(str(folder / "madang.db"))
    try:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        torn = (
            "SELECT id FROM content c WHERE chunk_count <> (SELECT count(*) FROM content_chunk WHERE content_no = c.no)"
        )
        assert connection.execute(torn).fetchall() == []
        assert connection.execute("SELECT * FROM content_change").fetchall() == []
        stores = {id for (id,) in connection.execute("SELECT id FROM content_store")}
    finally:
        connection.close()
    index = folder / "index"
    folders = set(index.iterdir()) if index.exists() else set()  # a first kill can come before anything was kept
    assert {path.name for path in folders} <= stores
    for path in folders:
        assert {part.name for part in path.iterdir()} <= {"lock", "queue", "version", "words"}
        assert path.stat().st_mode & 0o077 == 0


async def test_a_killed_process_leaves_everything_it_acknowledged_findable(tmp_path: Path) -> None:
    """Killed at random points of its work, again and again in one folder. MADANG_TEST_SEED repeats a run's choices."""
    chance = random.Random(SEED)
    reported: set[str] = set()
    for round in range(KILLS):
        with child("load", tmp_path, round) as process:
            assert process.stdout is not None
            for _ in range(chance.randint(1, 40)):
                reported.add(next(process.stdout).strip())
            process.kill()
            reported.update(line.strip() for line in process.stdout if line.endswith("\n"))
        async with open_content(tmp_path, limits=LIMITS) as asker:
            present = set()
            for line in sorted(reported):
                word, what, key = line.split()
                if (word, what) == ("ack", "add") and f"try delete {key}" not in reported:
                    assert len(await search(asker, key)) == 1, f"{key}, seed {SEED}"
                    present.add(key)
                if (word, what) == ("ack", "delete"):
                    assert await search(asker, key) == [], f"{key}, seed {SEED}"
            for store in (await asker.done("list_stores")).data["stores"]:
                await search(asker, "common", storeId=store["storeId"])
            check_folder(tmp_path)
    assert len(present) > KILLS, f"seed {SEED}"


@pytest.mark.parametrize("point", POINTS)
async def test_an_index_that_was_left_behind_is_brought_up_by_the_next_search(tmp_path: Path, point: str) -> None:
    output = run("die", tmp_path, point, "add_content", "needle in the rows")

    assert output == "answered\n"
    async with open_content(tmp_path) as asker:
        (id,) = await search(asker, "needle")
        check_folder(tmp_path)
        assert (await asker.done("read_content", contentId=id)).data["content"] == "needle in the rows"


@pytest.mark.parametrize(
    "point", ["before the index follows", "before the index commits", "before the change leaves the queue"]
)
async def test_what_a_killed_process_deleted_is_found_by_nobody(tmp_path: Path, point: str) -> None:
    async with open_content(tmp_path) as asker:
        deleted, remaining = await add(asker, "needle one"), await add(asker, "needle two")

    output = run("die", tmp_path, point, "delete_content", deleted)

    assert output == "answered\n"
    async with open_content(tmp_path) as asker:
        assert await search(asker, "needle") == [remaining]
        check_folder(tmp_path)


@pytest.mark.parametrize("point", REBUILD_POINTS)
async def test_a_process_that_is_killed_while_it_makes_an_index_anew_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, f"needle {number}") for number in range(4)]
        await search(asker, "needle")

    assert run("rebuild", tmp_path, point) == ""

    monkeypatch.setattr(tokens, "TOKENIZER_VERSION", NEW_VERSION)
    monkeypatch.setattr(following, "MAX_REBUILD_WAIT_S", 30.0)
    async with open_content(tmp_path) as asker:
        assert set(await search(asker, "needle")) == set(ids)
    check_folder(tmp_path)
    async with open_content(tmp_path) as asker:
        ids.append(await add(asker, "one more needle"))
        assert set(await search(asker, "needle")) == set(ids)


async def test_four_processes_add_delete_and_search_at_once(tmp_path: Path) -> None:
    processes = [child("work", tmp_path, number, 12) for number in range(4)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    ids = dict(line.split() for output in outputs for line in output.splitlines())
    assert len(ids) == 4 * 9
    async with open_content(tmp_path) as asker:
        for key, id in ids.items():
            assert await search(asker, key) == [id]
        assert set(await search(asker, "shared")) == set(ids.values())
        check_folder(tmp_path)


async def test_a_process_sees_what_another_has_added_and_deleted(tmp_path: Path) -> None:
    async with open_content(tmp_path) as one, open_content(tmp_path) as other:
        first = await add(one, "needle one")
        assert await search(other, "needle") == [first]
        second = await add(other, "needle two")
        assert set(await search(one, "needle")) == {first, second}
        await one.done("delete_content", contentId=second)
        assert await search(other, "needle") == [first]
        await other.done("delete_store", storeId=(await other.done("list_stores")).data["stores"][0]["storeId"])
        assert (await one.done("list_content")).data["total"] == 0
        third = await add(one, "needle three")
        assert await search(other, "needle") == [third]
