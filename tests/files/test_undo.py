"""What a run changed in files is taken back from copies: whole or in part, and never over somebody else's changes."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.errors import Conflict, LimitExceeded, NotFound, ToolError, Unavailable
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folder, Folders, copies, recording
from madang.files.folders.undo import ChangedFile, FileHistory

CALL = Call(AssistantId("a"), SessionId("s"))
RUN = replace(CALL, run_id="run-1")
LATER = replace(CALL, run_id="run-2")


@pytest.fixture(params=["own", "personal"])
def folders(request: pytest.FixtureRequest, tmp_path: Path) -> Folders:
    """The folders of a session that works in its own one, or in one of the person's."""
    folders = Folders(tmp_path / "data" / "workspaces")
    if request.param == "personal":
        project = tmp_path / "project"
        project.mkdir()
        folders.bind(CALL, project.resolve())
    return folders


@pytest.fixture
def path(folders: Folders) -> Path:
    """The folder as the system sees it."""
    with folders.of(CALL) as session:
        return folders.personal(CALL) or session.path / "files"


@pytest.fixture
def history(folders: Folders) -> FileHistory:
    return FileHistory(folders)


@pytest.fixture
def kept(folders: Folders) -> Path:
    """Where the copies are."""
    with folders.of(CALL) as session:
        return session.path / "copies"


@contextmanager
def running(folders: Folders, call: Call = RUN) -> Iterator[Folder]:
    with folders.of(call) as session, session.files.locked():
        yield session.files


def tree(path: Path) -> dict[str, bytes | str | None]:
    """Return all that is below a path: files by content, links by target, folders as None."""
    return {
        str(item.relative_to(path)): os.readlink(item)
        if item.is_symlink()
        else None
        if item.is_dir()
        else item.read_bytes()
        for item in path.rglob("*")
    }


def test_everything_that_a_run_did_is_taken_back_and_that_too(
    folders: Folders, path: Path, history: FileHistory
) -> None:
    (path / "docs/deep").mkdir(parents=True)
    (path / "docs/deep/note.md").write_bytes(b"note\n")
    (path / "edited.txt").write_bytes(b"one\r\n")
    (path / "binary").write_bytes(bytes(range(256)) * 10)
    (path / "deleted.txt").write_bytes(b"gone")
    (path / "link").symlink_to("/etc/passwd")
    (path / "empty").mkdir()
    (path / "script.sh").write_bytes(b"#!/bin/sh\n")
    (path / "script.sh").chmod(0o750)
    before = tree(path)
    with running(folders) as files:
        files.write("edited.txt", [b"two"])
        files.write("edited.txt", [b"three"])
        files.write("binary", [b"\0more"], "append")
        files.write("new/folder/file.txt", [b"new"], "create")
        files.write("new/other.txt", [b"new"])
        files.delete("deleted.txt")
        files.delete("link")
        files.delete("empty")
        files.write("script.sh", [b"exit 1\n"])
        files.move("docs", "papers/all")
        files.write("papers/all/deep/note.md", [b"changed"])
        files.write("docs/deep/note.md", [b"another one in the old place"])
        files.move("edited.txt", "renamed.txt")
        files.write("renamed.txt", [b"four"])
        files.delete("script.sh")
    after = tree(path)

    taken = history.take_back(CALL, "run-1")

    assert taken.conflicts == []
    assert tree(path) == before
    assert stat.S_IMODE((path / "script.sh").stat().st_mode) == 0o750
    assert {file.kind for file in history.changes(CALL, "run-1")} == {"unchanged"}
    again = history.take_back(CALL, taken.undo_id)
    assert again.conflicts == []
    assert tree(path) == after
    assert [(run.run_id, run.undoes) for run in history.runs(CALL)][::-1] == [
        ("run-1", ""),
        (taken.undo_id, "run-1"),
        (again.undo_id, taken.undo_id),
    ]


def test_what_a_run_changed_is_listed_with_sizes(folders: Folders, path: Path, history: FileHistory) -> None:
    (path / "a.txt").write_bytes(b"12345")
    (path / "b.txt").write_bytes(b"1")
    (path / "c.txt").write_bytes(b"c")
    with running(folders) as files:
        files.write("a.txt", [b"123"])
        files.write("n/new.txt", [b"12"])
        files.delete("b.txt")
        files.move("c.txt", "d.txt")

    assert history.changes(CALL, "run-1") == [
        ChangedFile("a.txt", "changed", 5, 3),
        ChangedFile("n/new.txt", "added", None, 2),
        ChangedFile("b.txt", "deleted", 1, None),
        ChangedFile("c.txt", "moved", target="d.txt"),
    ]
    assert [(run.run_id, run.files) for run in history.runs(CALL)] == [("run-1", 4)]


def test_some_files_alone_are_taken_back(folders: Folders, path: Path, history: FileHistory) -> None:
    for name in ("a", "b", "c/d", "c/e"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(b"old")
    with running(folders) as files:
        for name in ("a", "b", "c/d", "c/e"):
            files.write(name, [b"new"])
        files.move("c", "moved")

    assert history.take_back(CALL, "run-1", ["a", "moved/d"]).restored == ["moved/d", "a"]
    assert tree(path) == {"a": b"old", "b": b"new", "moved": None, "moved/d": b"old", "moved/e": b"new"}
    with pytest.raises(NotFound):
        history.take_back(CALL, "run-1", ["b", "elsewhere"])
    assert history.take_back(CALL, "run-1", ["c"]).conflicts == []
    assert tree(path) == {"a": b"old", "b": b"new", "c": None, "c/d": b"old", "c/e": b"old"}


def test_what_somebody_else_changed_since_is_told_and_stays_unless_forced(
    folders: Folders, path: Path, history: FileHistory
) -> None:
    for name in ("mine", "theirs", "run2"):
        (path / name).write_bytes(b"old")
    with running(folders) as files:
        for name in ("mine", "theirs", "run2", "new"):
            files.write(name, [b"by the run"])
    (path / "theirs").write_bytes(b"by the person")
    (path / "new").write_bytes(b"precious")
    with running(folders, LATER) as files:
        files.write("run2", [b"by a later run"])

    taken = history.take_back(CALL, "run-1")

    assert [name for name, _ in taken.conflicts] == ["new", "run2", "theirs"]
    assert tree(path) == {
        "mine": b"old", "theirs": b"by the person", "run2": b"by a later run", "new": b"precious"
    }  # fmt: skip
    assert {file.path for file in history.changes(CALL, "run-1") if file.is_conflict} == {"new", "run2", "theirs"}
    forced = history.take_back(CALL, "run-1", force=True)
    assert tree(path) == {"mine": b"old", "theirs": b"old", "run2": b"old"}
    history.take_back(CALL, forced.undo_id)
    assert (path / "theirs").read_bytes() == b"by the person"
    assert (path / "new").read_bytes() == b"precious"


def test_what_a_person_saves_in_the_middle_of_a_run_is_kept_too(
    folders: Folders, path: Path, history: FileHistory
) -> None:
    (path / "a").write_bytes(b"before")
    (path / "b").write_bytes(b"before")
    with running(folders) as files:
        files.write("a", [b"by the run"])
        files.write("b", [b"by the run"])
    (path / "a").write_bytes(b"saved by the person")
    (path / "b").unlink()
    with running(folders) as files:
        files.write("a", [b"by the run again"])
        files.write("a", [b"and again"])
        files.write("b", [b"anew"])

    taken = history.take_back(CALL, "run-1")

    assert tree(path) == {"a": b"saved by the person"}
    assert [name for name, _ in taken.conflicts] == ["b", "a"]
    history.take_back(CALL, "run-1", force=True)
    assert tree(path) == {"a": b"before", "b": b"before"}


def test_folders_that_a_run_made_and_emptied_go_too(folders: Folders, path: Path, history: FileHistory) -> None:
    (path / "docs").mkdir()
    (path / "docs/a").write_bytes(b"a")
    with running(folders) as files:
        files.move("docs", "papers")
        files.write("docs/new/b", [b"b"])
        files.delete("docs/new/b")

    assert history.take_back(CALL, "run-1").conflicts == []
    assert tree(path) == {"docs": None, "docs/a": b"a"}


def test_a_move_whose_old_place_is_taken_stays(folders: Folders, path: Path, history: FileHistory) -> None:
    (path / "a").mkdir()
    (path / "a/x").write_bytes(b"old")
    with running(folders) as files:
        files.move("a", "b")
        files.write("b/x", [b"new"])
    (path / "a").mkdir()
    (path / "a/theirs").write_bytes(b"theirs")

    for force in (False, True):
        taken = history.take_back(CALL, "run-1", force=force)
        assert [name for name, _ in taken.conflicts] == ["a"]
        assert tree(path) == {"a": None, "a/theirs": b"theirs", "b": None, "b/x": b"old"}


def test_what_failed_is_not_recorded(folders: Folders, path: Path, history: FileHistory) -> None:
    (path / "a").write_bytes(b"a")
    (path / "full/x").parent.mkdir()
    (path / "full/x").write_bytes(b"x")
    changes: list[Callable[[Folder], object]] = [
        lambda files: files.write("a", [b"b"], "create"),
        lambda files: files.delete("full"),
        lambda files: files.move("a", "full/x"),
        lambda files: files.move("missing", "elsewhere"),
        lambda files: files.delete("missing"),
    ]
    for change in changes:
        with running(folders) as files, pytest.raises(ToolError):
            change(files)

    assert history.runs(CALL) == []
    with pytest.raises(NotFound):
        history.take_back(CALL, "run-1")


def test_nothing_is_kept_without_a_run(folders: Folders, path: Path, kept: Path) -> None:
    with running(folders, CALL) as files:
        files.write("a", [b"1"])
        files.write("a", [b"2"])
        files.move("a", "b")
        files.delete("b")

    assert not kept.exists()


def test_a_content_is_kept_once_and_only_its_owner_can_read_it(folders: Folders, path: Path, kept: Path) -> None:
    for name in ("a", "b"):
        (path / name).write_bytes(b"same")
        (path / name).chmod(0o644)
    for call in (RUN, LATER):
        with running(folders, call) as files:
            for name in ("a", "b"):
                files.write(name, [b"x"])
                files.write(name, [b"same"])

    assert len(list((kept / "contents").iterdir())) == 1
    for item in (kept, *kept.rglob("*")):
        assert stat.S_IMODE(item.stat().st_mode) == (0o700 if item.is_dir() else 0o600), item


def test_a_large_file_is_not_read_into_memory(folders: Folders, path: Path, history: FileHistory) -> None:
    import tracemalloc

    size = 64 << 20
    with (path / "large").open("wb") as file:
        for number in range(64):
            file.write(bytes([number]) * (1 << 20))
    before = (path / "large").stat()
    tracemalloc.start()
    with running(folders) as files:
        files.delete("large")
    taken = history.take_back(CALL, "run-1")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken.restored == ["large"]
    assert (path / "large").stat().st_size == before.st_size == size
    assert peak < 16 << 20


def test_what_does_not_fit_into_the_quota_is_not_changed(
    folders: Folders, path: Path, kept: Path, history: FileHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "MAX_COPIES_BYTES", 1000)
    (path / "a").write_bytes(b"a" * 600)
    (path / "b").write_bytes(b"b" * 600)
    before = tree(path)
    with running(folders) as files:
        files.delete("a")
        with pytest.raises(LimitExceeded):
            files.delete("b")
        with pytest.raises(LimitExceeded):
            files.write("b", [b"x"])
        files.write("new", [b"needs no copy"])
    assert (path / "b").read_bytes() == b"b" * 600
    history.take_back(CALL, "run-1")
    assert tree(path) == before
    assert history.forget(CALL, "run-1") == 1
    assert len(list((kept / "contents").iterdir())) == 0 or history.forget(CALL) == 1
    with running(folders, LATER) as files:
        files.delete("b")


def test_a_full_disk_refuses_the_change(
    folders: Folders, path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path / "a").write_bytes(b"precious")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with running(folders) as files:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(Unavailable):
            files.delete("a")
        monkeypatch.undo()
    assert (path / "a").read_bytes() == b"precious"


def test_a_file_that_another_program_replaces_at_that_moment_is_not_overwritten(
    folders: Folders, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path / "a").write_bytes(b"old")
    keep = recording.Recorder.keep

    def keep_late(self: recording.Recorder, name: str, *rest: object) -> object:
        seen = keep(self, name, *rest)  # type: ignore[arg-type]
        (path / "other").write_bytes(b"just saved")
        (path / "other").rename(path / "a")
        return seen

    monkeypatch.setattr(recording.Recorder, "keep", keep_late)
    changes: list[Callable[[Folder], object]] = [
        lambda files: files.write("a", [b"new"]),
        lambda files: files.delete("a"),
    ]
    for change in changes:
        with running(folders) as files, pytest.raises(Conflict):
            change(files)
        assert (path / "a").read_bytes() == b"just saved"


def test_a_link_that_came_in_place_of_a_folder_leads_nowhere(
    folders: Folders, path: Path, history: FileHistory, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"outside")
    (path / "a").mkdir()
    (path / "a/x").write_bytes(b"old")
    with running(folders) as files:
        files.write("a/x", [b"new"])
        files.write("a/y", [b"new"])
    (path / "a").rename(path / "elsewhere")
    (path / "a").symlink_to(outside)

    for force in (False, True):
        assert len(history.take_back(CALL, "run-1", force=force).conflicts) == 2
    with running(folders) as files, pytest.raises(ToolError):
        files.write("a/x", [b"new"])
    assert tree(outside) == {"x": b"outside"}


def test_a_folder_that_is_swapped_for_a_link_all_the_time_lets_no_copy_or_change_out(
    folders: Folders, path: Path, kept: Path, history: FileHistory, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        """Put the link where the folder is, whoever has made that, and back."""
        while not stop.is_set():
            with suppress(OSError):
                (path / "a").mkdir(exist_ok=True)
                (path / "a/x").write_bytes(b"old")
                (path / "a").rename(tmp_path / f"aside-{time.monotonic_ns()}")
                (tmp_path / "link").rename(path / "a")
            with suppress(OSError):
                (path / "a").rename(tmp_path / "link")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for number in range(150):
            with running(folders, replace(CALL, run_id=f"run-{number}")) as files, suppress(ToolError):
                if number % 2:
                    files.write("a/x", [f"{number}".encode()])
                else:
                    files.delete("a/x")
        for run in history.runs(CALL):
            with suppress(ToolError):
                history.take_back(CALL, run.run_id, force=True)
    finally:
        stop.set()
        swapping.join()

    assert tree(outside) == {"x": b"secret"}
    contents = kept / "contents"
    assert b"secret" not in [copy.read_bytes() for copy in (contents.iterdir() if contents.exists() else ())]


def test_what_is_no_file_is_told_and_not_made_again(folders: Folders, path: Path, history: FileHistory) -> None:
    os.mkfifo(path / "pipe")
    with running(folders) as files:
        files.delete("pipe")

    assert [name for name, _ in history.take_back(CALL, "run-1").conflicts] == ["pipe"]


def test_a_link_that_came_in_place_of_a_file_is_replaced_only_by_force(
    folders: Folders, path: Path, history: FileHistory, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (path / "a").write_bytes(b"old")
    with running(folders) as files:
        files.write("a", [b"new"])
    (path / "a").unlink()
    (path / "a").symlink_to(tmp_path / "secret")

    assert len(history.take_back(CALL, "run-1").conflicts) == 1
    assert history.take_back(CALL, "run-1", force=True).restored == ["a"]
    assert not (path / "a").is_symlink()
    assert (path / "a").read_bytes() == b"old"
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_damaged_copy_is_told_and_the_file_stays(
    folders: Folders, path: Path, kept: Path, history: FileHistory
) -> None:
    (path / "a").write_bytes(b"old")
    with running(folders) as files:
        files.write("a", [b"new"])
    for copy in (kept / "contents").iterdir():
        copy.write_bytes(b"bad")

    assert [name for name, _ in history.take_back(CALL, "run-1").conflicts] == ["a"]
    assert (path / "a").read_bytes() == b"new"


def test_old_copies_go_and_newer_ones_stay(folders: Folders, path: Path, kept: Path, history: FileHistory) -> None:
    for name in ("a", "shared"):
        (path / name).write_bytes(name.encode())
    with running(folders) as files:
        files.write("a", [b"x"])
        files.write("shared", [b"x"])
    (path / "shared").write_bytes(b"shared")
    with running(folders, LATER) as files:
        files.write("shared", [b"y"])
    old = kept / "runs" / recording.journal_name("run-1")
    os.utime(old, (time.time() - 31 * 86400,) * 2)

    assert history.expire(time.time() - 30 * 86400) == 1

    assert [run.run_id for run in history.runs(CALL)] == ["run-2"]
    assert [copy.read_bytes() for copy in (kept / "contents").iterdir()] == [b"shared"]
    assert history.take_back(CALL, "run-2").conflicts == []
    assert history.expire(time.time() - 30 * 86400) == 0


def test_a_run_whose_copies_were_forgotten_is_recorded_anew(folders: Folders, path: Path, history: FileHistory) -> None:
    (path / "a").write_bytes(b"first")
    with running(folders) as files:
        files.write("a", [b"second"])
    assert history.forget(CALL) == 1
    with running(folders) as files:
        files.write("a", [b"third"])

    history.take_back(CALL, "run-1")

    assert (path / "a").read_bytes() == b"second"


def test_nothing_is_left_of_a_deleted_session_but_the_persons_folder(
    folders: Folders, path: Path, kept: Path, history: FileHistory
) -> None:
    (path / "a").write_bytes(b"old")
    with running(folders) as files:
        files.write("a", [b"new"])
    personal = folders.personal(CALL)

    folders.remove(CALL)

    assert list(kept.parent.parent.iterdir()) == []
    assert history.runs(CALL) == []
    if personal is not None:
        assert tree(personal) == {"a": b"new"}


def test_names_of_all_kinds_come_back(folders: Folders, path: Path, history: FileHistory) -> None:
    names = ["보고서/최종본.md", "con", "ab:c", "name with spaces.txt", "x" * 255, "trailing.", "quote\"'", "%41"]
    run = replace(CALL, run_id="../../run: <1>\n")
    for name in names:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(name)
    before = tree(path)
    with running(folders, run) as files:
        for name in names:
            files.delete(name)

    assert history.take_back(CALL, run.run_id).conflicts == []
    assert tree(path) == before
    for item in (path.parent / "data").rglob("copies/*/*"):
        assert item.name.replace(".jsonl", "").isalnum()
