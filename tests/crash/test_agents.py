"""Runs with a model whose process is killed before and after each commit: nothing is done or asked twice."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.app import open_madang
from madang.core.ids import SessionId
from madang.database.port import Database, Transaction
from madang.files.folders import Folders
from madang.records.pauses import PauseStore
from madang.settings import Settings
from tests.crash.agents import PERSON, STORIES
from tests.crash.workers import Workers, workers
from tests.postgresql import url_in

MIN_POINTS = {"sqlite": 24, "postgresql": 8}
"""How many of the points are tried, evenly spread: each costs two processes. Which ones differs with each run."""
SEED = int(os.environ.get("MADANG_TEST_SEED", str(random.SystemRandom().randrange(10**9))))
if wanted := os.environ.get("MADANG_TEST_KILL_POINTS"):
    MIN_POINTS = dict.fromkeys(MIN_POINTS, int(wanted))


@pytest.fixture(params=["disk", "server"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{tmp_path} {url_in(tmp_path)}" if request.param == "server" else str(tmp_path)


@pytest.fixture
async def processes(where: str) -> AsyncIterator[Workers]:
    async with workers(where, "tests.crash.agents") as source:
        yield source


@pytest.fixture
async def database(where: str, tmp_path: Path) -> AsyncIterator[Database]:
    """The database, to see for oneself what is in it."""
    async with open_madang(Settings(data_dir=tmp_path, database=where.partition(" ")[2])) as madang:
        await PauseStore(madang.database).open()  # a server is connected to by the first who needs a table
        yield madang.database


async def test_killed_before_and_after_every_commit(processes: Workers, database: Database, tmp_path: Path) -> None:
    sessions: list[str] = []
    points: list[tuple[str, str]] = []
    for story in STORIES:
        worker = await processes.ready()
        count = await worker.do("tell", story, f"whole {story}", "")
        worker.close()
        sessions.append(f"whole {story}")
        points += [(story, f"{number}{side}") for number in range(1, count + 1) for side in "-+"]
    step = max(1, len(points) // MIN_POINTS[database.dialect])
    points = points[SEED % step :: step]
    assert len(points) >= MIN_POINTS[database.dialect] or "MADANG_TEST_KILL_POINTS" in os.environ
    for story, point in points:
        session = f"{story} {point}"
        mortal = await processes.ready()
        await mortal.do("tell", story, session, point)
        heir = await processes.ready()
        assert await heir.do("tell", story, session, "") is not None, session
        for worker in (mortal, heir):
            worker.close()
        sessions.append(session)
    for session in sessions:
        await check(database, session)
        if session.removeprefix("whole ").startswith("files"):
            check_files(tmp_path, session)
    made = await database.find(
        "SELECT count(*) AS made FROM playbook WHERE user_id = ?1", PERSON.user_id, user_id=PERSON.user_id
    )
    assert made == [(sum("a shared write" in session for session in sessions),)]  # each was allowed, and made once
    erased = Counter((tmp_path / "erased").read_text().splitlines())
    assert max(erased.values()) == 1, erased


def check_files(data_dir: Path, session: str) -> None:
    """Check that each change to the files of a story was made once."""
    call = replace(PERSON, session_id=SessionId(session))
    folder = Folders(data_dir / "workspaces").path(call)
    assert (folder / "files" / "b.md").read_text() == "one\ntwo and three\n", session
    assert sorted(path.name for path in (folder / "files").iterdir()) == ["b.md"], session
    [export] = (folder / "exports").iterdir()
    assert export.read_text() == "one\ntwo and three\n", session


async def check(database: Database, session: str) -> None:
    """Check what a story left behind."""

    async def work(tx: Transaction) -> None:
        of_session = "user_id = ?1 AND session_no = (SELECT no FROM session WHERE user_id = ?1 AND id = ?2)"

        async def find(sql: str) -> list[Any]:
            return await tx.all(sql, PERSON.user_id, session)

        events = await find(f"SELECT seq, kind FROM event WHERE {of_session} ORDER BY seq")
        assert [seq for seq, _ in events] == list(range(1, len(events) + 1)), session
        [(run_no, state, owner)] = await find(f"SELECT no, state, owner FROM run WHERE {of_session}")
        assert (state, owner) == ("finished", ""), session
        calls = await tx.all(
            "SELECT tool, arguments, state, outcome FROM run_call WHERE user_id = ?1 AND run_no = ?2 "
            "ORDER BY turn, number",
            PERSON.user_id,
            run_no,
        )
        assert all(state == "done" for _, _, state, _ in calls), session
        plans = await find("SELECT document FROM plan WHERE user_id = ?1 AND session_id = ?2")
        todos = [todo["name"] for (document,) in plans for todo in json.loads(document)["state"]["todos"]]
        assert all(count == 1 for count in Counter(todos).values()), (session, todos)
        for tool, arguments, _, outcome in calls:
            if tool == "add_todo" and outcome == "ok":
                assert json.loads(arguments)["name"] in todos, session
            # Our own tools are never told as interrupted: their effect is there, or they are called again.
            assert outcome == "ok" or (outcome == "interrupted" and tool == "erase"), (session, tool)
        messages = await find(f"SELECT role FROM message WHERE {of_session} ORDER BY seq")
        roles = [role for (role,) in messages]
        assert roles == ["user", *["assistant", "tool"] * bool(calls), "assistant"], (session, roles)
        pauses = await find("SELECT status FROM pause WHERE user_id = ?1 AND session_id = ?2")
        asked = sum(tool in ("prompt_user", "erase", "create_playbook") for tool, *_ in calls)
        assert [status for (status,) in pauses] == ["answered"] * asked, session

    await database.read(work, user_id=PERSON.user_id)
