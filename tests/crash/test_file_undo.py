"""A run that is killed at any moment between a copy and a change: nothing is lost, and all of it can be taken back."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from madang.files.folders import Folders
from madang.files.folders.undo import FileHistory
from tests.crash.file_undo import CALL, RUN

ROOT = Path(__file__).resolve().parents[2]
POINTS = int(os.environ.get("MADANG_TEST_UNDO_KILLS", "12"))
TIMEOUT_S = 120


def play(root: Path, story: str, point: int) -> int:
    command = [sys.executable, "-m", "tests.crash.file_undo", str(root), story, str(point)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if point:
        assert done.returncode == -9, done.stderr
        return 0
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def tree(path: Path) -> dict[str, bytes | str]:
    """Return the files and links below a path."""
    return {
        str(item.relative_to(path)): os.readlink(item) if item.is_symlink() else item.read_bytes()
        for item in path.rglob("*")
        if item.is_symlink() or not item.is_dir()
    }


@pytest.fixture(params=["own", "personal"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def house(folder: Path, kind: str) -> tuple[Folders, Path]:
    """Return the folders of a session with some files in it, and where these are."""
    folders = Folders(folder / "data" / "workspaces")
    if kind == "personal":
        (folder / "project").mkdir(parents=True)
        folders.bind(CALL, (folder / "project").resolve())
    with folders.of(CALL) as session:
        path = folders.personal(CALL) or session.path / "files"
    for name in ("edited", "deleted", "docs/note", "docs/other", "untouched"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(f"the old {name}".encode())
    (path / "link").symlink_to("untouched")
    return folders, path


def points(total: int) -> list[int]:
    count = min(POINTS, total)
    return sorted({1 + number * (total - 1) // max(count - 1, 1) for number in range(count)})


def test_a_run_that_is_killed_loses_nothing_and_is_taken_back(tmp_path: Path, kind: str) -> None:
    total = play(house(tmp_path / "counted", kind)[0].path(CALL).parent, "work", 0)
    assert total > 50

    for point in points(total):
        folders, path = house(tmp_path / f"at-{point}", kind)
        before = tree(path)
        play(folders.path(CALL).parent, "work", point)
        check_nothing_lost(folders, path, before)
        folders = Folders(folders.path(CALL).parent)  # the next process
        with folders.of(CALL) as session, session.files.locked():
            session.files.write("after", [b"a change of the next process"])
        (path / "after").unlink()

        if FileHistory(folders).runs(CALL):
            taken = FileHistory(folders).take_back(CALL, RUN.run_id)
            assert taken.conflicts == [], point

        assert tree(path) == before, point
        assert not (path / ".madang-drafts").exists()
        assert [name for name in os.listdir(folders.path(CALL) / "temporary") if name.startswith("draft-")] == []


def test_a_run_goes_on_after_a_kill_and_is_taken_back_as_one(tmp_path: Path, kind: str) -> None:
    """Its next process has the same run; what it finds changed, it leaves."""
    total = play(house(tmp_path / "counted", kind)[0].path(CALL).parent, "work", 0)

    for point in points(total)[:: max(1, POINTS // 6)]:
        folders, path = house(tmp_path / f"at-{point}", kind)
        before = tree(path)
        play(folders.path(CALL).parent, "work", point)
        for name in sorted(tree(path)):
            with folders.of(RUN) as session, session.files.locked():
                session.files.delete(name)
        check_nothing_lost(folders, path, before)

        assert FileHistory(folders).take_back(CALL, RUN.run_id).conflicts == [], point

        assert tree(path) == before, point


def test_an_undo_that_is_killed_is_finished_by_the_next(tmp_path: Path, kind: str) -> None:
    template = tmp_path / "template"
    folders, path = house(template, kind)
    before = tree(path)
    play(folders.path(CALL).parent, "work", 0)
    after = tree(path)
    root = folders.path(CALL).parent
    saved = tmp_path / "saved"
    shutil.copytree(template, saved, symlinks=True)
    total = play(root, "undo", 0)
    assert tree(path) == before

    for point in points(total):
        shutil.rmtree(template)
        shutil.copytree(saved, template, symlinks=True)
        assert tree(path) == after
        play(root, "undo", point)
        check_nothing_lost(folders, path, {**before, **after})

        assert FileHistory(folders).take_back(CALL, RUN.run_id).conflicts == [], point

        assert tree(path) == before, point


def check_nothing_lost(folders: Folders, path: Path, contents: dict[str, bytes | str]) -> None:
    """Every content that was there is at some path, or among the copies."""
    copies = folders.path(CALL) / "copies" / "contents"
    present = {hashlib.sha256(data).hexdigest() for data in tree(path).values() if isinstance(data, bytes)}
    if copies.is_dir():
        for copy in copies.iterdir():
            assert hashlib.sha256(copy.read_bytes()).hexdigest() == copy.name
            present.add(copy.name)
    for name, data in contents.items():
        if isinstance(data, bytes):
            assert hashlib.sha256(data).hexdigest() in present, name
