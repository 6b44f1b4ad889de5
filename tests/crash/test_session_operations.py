"""A process that is killed in the middle of a whole session's deletion, copy or import."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from madang.provider import sessions as operations
from madang.records import session_filling
from tests.crash.session_operations import TARGET
from tests.postgresql import server, url_in
from tests.whole_sessions import House, all_files, all_rows, exported, fill, open_house, without_moments

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
POINTS = {"disk": int(os.environ.get("MADANG_TEST_SESSION_KILLS", "8")), "server": 3}
TIMEOUT_S = 120


@pytest.fixture(autouse=True)
def _silent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what is being filled for abandoned at once: its process is known to be dead."""
    monkeypatch.setattr(session_filling, "SILENT_AFTER", timedelta(seconds=-5))
    monkeypatch.setattr(operations, "AUDIT_SETTLE_S", 0.0)


def work(folder: Path, back_end: str, operation: str, point: int) -> int:
    """Run an operation up to a point; without one, return how many there are."""
    url = url_in(folder) if back_end == "server" else ""
    command = [sys.executable, "-m", "tests.crash.session_operations", str(folder), url, operation, str(point)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if point:
        assert done.returncode == -9, done.stderr
        return 0
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def copied(template: Path, folder: Path, back_end: str) -> Path:
    shutil.copytree(template, folder)
    if back_end == "server":
        name = url_in(template).partition("@/")[2].partition("?")[0]
        target = url_in(folder).partition("@/")[2].partition("?")[0]
        server().sql(f"DROP DATABASE {target}")
        server().new_database(target, f"--template={name}")
    return folder


@pytest.fixture(params=["disk", "server"])
async def template(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A closed house with a full session, and its archive."""
    folder = tmp_path / "template"
    async with open_house(folder, request.param) as house:
        await fill(house, "quokka")
        await house.madang.session_operations.export(house.call, folder / "session.zip")
    return request.param, folder


@pytest.mark.parametrize("operation", ["forget", "copy", "import"])
async def test_nothing_half_is_visible_after_a_kill_and_a_repeat_finishes(
    template: tuple[str, Path], tmp_path: Path, operation: str
) -> None:
    back_end, folder = template
    total = work(copied(folder, tmp_path / "counted", back_end), back_end, operation, 0)
    count = POINTS[back_end]
    points = sorted({1 + index * (total - 1) // (count - 1) for index in range(count)})
    assert total >= count

    for point in points:
        house_dir = copied(folder, tmp_path / f"at-{point}", back_end)
        work(house_dir, back_end, operation, point)
        async with open_house(house_dir, back_end) as house:
            check = check_forgotten if operation == "forget" else check_filled
            await check(house, house_dir, operation, f"{operation} at {point} of {total}")
        shutil.rmtree(house_dir)


async def check_forgotten(house: House, folder: Path, _: str, moment: str) -> None:
    record = await house.madang.sessions.get(house.call)
    if record is not None and record.state != "ready":
        assert record.state == "deleting", moment
        assert (await house.asker.ask("add_todo", name="x")).error_code == "conflict", moment

    await house.madang.session_operations.forget(house.call)

    assert await house.madang.sessions.get(house.call) is None, moment
    rows = await all_rows(house.madang.database)
    assert [row for row in rows if house.call.session in row[1]] == [], moment
    tables = {table for table, row in rows if "quokka" in row}
    assert tables <= {"playbook"}, moment
    assert not any(name.startswith(("workspaces/", "index/")) for name in all_files(house.data_dir)), moment


async def check_filled(house: House, folder: Path, operation: str, moment: str) -> None:
    target = house.session(TARGET)
    listed = {session.id for session in (await house.madang.sessions.list_page(house.call.user_id)).items}
    original = without_moments(await exported(house, folder / "original.zip"))
    original["session.json"]["isTainted"] |= operation == "import"  # whatever the archive says
    if TARGET in listed:  # it was killed after its last commit
        assert without_moments(await exported(target, folder / "target.zip")) == original, moment
        return
    assert listed == {house.call.session}, moment
    if await house.madang.sessions.get(target.call) is not None:
        assert (await target.asker.ask("add_todo", name="x")).error_code == "conflict", moment

    if operation == "copy":
        await house.madang.session_operations.copy(house.call, TARGET)
    else:
        await house.madang.session_operations.import_(target.call, folder / "session.zip")

    assert without_moments(await exported(target, folder / "target.zip")) == original, moment
    if house.madang.database.dialect == "sqlite":
        stores = [row for table, row in await all_rows(house.madang.database) if table == "content_store"]
        for index in (house.data_dir / "index").iterdir():
            assert any(index.name in row for row in stores), moment
