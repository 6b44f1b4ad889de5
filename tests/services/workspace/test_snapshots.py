"""What is known of a session's files: as right as a walk, for a bounded number of looks at the disk."""

from __future__ import annotations

import errno
import os
import random
import shutil
import time
import unicodedata
from contextlib import aclosing
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from anyio import fail_after

from madang.core.calls import Call
from madang.core.errors import Unavailable
from madang.core.ids import AssistantId, SessionId
from madang.database.subscriptions import topic
from madang.files.folders import Folders
from madang.services.workspace.domain.files import RecentFiles
from madang.services.workspace.domain.topics import changed_paths, files_topic
from madang.services.workspace.engine import known_folders, snapshots
from madang.services.workspace.engine.files import FileEngine
from tests.asking import open_asker

CALL = Call(AssistantId("a"), SessionId("s"))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "workspaces")


@pytest.fixture
def root(folders: Folders) -> Path:
    """The workspace as other programs see it."""
    with folders.of(CALL) as session:
        return session.path / "files"


@pytest.fixture
def engine(folders: Folders, root: Path) -> FileEngine:
    return FileEngine(folders)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folders and two files are checked in a look: few files are many then."""
    monkeypatch.setattr(snapshots, "MAX_CHECKED_FOLDERS", 2)
    monkeypatch.setattr(snapshots, "MAX_CHECKED_FILES", 2)
    monkeypatch.setattr(snapshots, "SETTLE_S", 0.0)


def look(engine: FileEngine, call: Call = CALL) -> RecentFiles:
    return engine.recent(call, 10, 5, 3)


def walked(root: Path) -> RecentFiles:
    """What a walk over all files has to say."""
    fresh = FileEngine(Folders(root.parent.parent))
    recent = look(fresh)
    assert recent.files == sum(len(names) for _, _, names in os.walk(root))
    return recent


def write(path: Path, content: str = "x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def paths(recent: RecentFiles) -> list[str]:
    return [entry.path for entry in recent.newest]


@pytest.mark.parametrize("seed", range(5))
def test_each_look_at_a_small_workspace_is_as_right_as_a_walk(engine: FileEngine, root: Path, seed: int) -> None:
    """Whoever changed it: tools, or other programs, at once after a look, within the same tick of the disk's clock."""
    chosen = random.Random(seed)
    for number in range(80):
        names = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
        name = chosen.choice(names) if names else ""
        new = "/".join(chosen.choices("abc", k=chosen.randint(1, 3))) + f"/{number}.txt"
        match chosen.randrange(9 if name else 2):
            case 0:
                engine.write(CALL, new, f"{number}", "overwrite")
            case 1:
                write(root / new)
            case 2:
                engine.write(CALL, name, f"{number}", "append")
            case 3:
                write(root / name, "changed in place " * chosen.randrange(9))
            case 4:
                engine.delete(CALL, name)
            case 5:
                (root / name).unlink()
            case 6:
                engine.move(CALL, name, new)
            case 7:
                shutil.rmtree(root / name.split("/")[0], ignore_errors=True)
            case 8:
                (root / name.split("/")[0]).rename(root / f"moved-{number}")

        assert look(engine) == walked(root), number


def test_a_change_by_the_tools_is_known_at_once_among_many_files(
    engine: FileEngine, root: Path, small_budget: None
) -> None:
    for number in range(30):
        write(root / f"{number:02}" / "old.txt")
    assert look(engine).files == 30

    engine.write(CALL, "29/new.txt", "x", "create")
    written = look(engine)
    engine.move(CALL, "29/new.txt", "새 폴더/한글.txt")
    moved = look(engine)
    engine.delete(CALL, "새 폴더/한글.txt")
    deleted = look(engine)

    assert (written.files, paths(written)[0]) == (31, "29/new.txt")
    assert (moved.files, paths(moved)[0]) == (31, "새 폴더/한글.txt")
    assert "29/new.txt" not in paths(moved)
    assert deleted.files == 30
    assert "새 폴더/한글.txt" not in paths(deleted)


def test_changes_by_other_programs_are_known_after_some_looks(
    engine: FileEngine, root: Path, small_budget: None
) -> None:
    for number in range(30):
        write(root / f"{number:02}" / "old.txt")
    look(engine)
    write(root / "17" / "new.txt")
    (root / "18" / "old.txt").unlink()
    write(root / "19" / "old.txt", "changed in place")
    shutil.rmtree(root / "20")

    for _ in range(40):
        look(engine)

    assert look(engine) == walked(root)


def test_a_file_that_is_gone_is_not_told_whoever_deleted_it(engine: FileEngine, root: Path, small_budget: None) -> None:
    for number in range(60):
        write(root / f"{number % 20:02}" / f"{number}.txt")
    before = look(engine)
    for path in paths(before):
        (root / path).unlink()

    after = look(engine)

    assert len(paths(before)) == len(paths(after)) == 10
    assert not {*paths(before)} & {*paths(after)}
    assert all((root / path).exists() for path in paths(after))
    assert all((root / one.path / name).exists() for one in after.folders for name in one.newest)


def test_a_look_asks_the_disk_as_often_with_many_files_as_with_few(
    engine: FileEngine, folders: Folders, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Call(AssistantId("a"), SessionId("few"))
    with folders.of(other) as session:
        few = session.path / "files"
    for number in range(3_000):
        write(root / f"{number % 300}" / f"{number}.txt")
    for number in range(300):
        write(few / f"{number}.txt")
    for path in [*root.rglob("*"), root, *few.rglob("*"), few]:
        os.utime(path, (1, 1))
    questions: list[str] = []
    asked = known_folders.status_in

    def counted(fd: int, name: str) -> os.stat_result | None:
        questions.append(name)
        return asked(fd, name)

    for call in (CALL, other):
        while not look(engine, call).is_complete:
            pass
    for module in (known_folders, snapshots):
        monkeypatch.setattr(module, "status_in", counted)
    monkeypatch.setattr(snapshots, "list_folder", lambda *_: pytest.fail("nothing has changed"))

    look(engine, other)
    with_few = len(questions)
    look(engine)

    assert with_few <= 150
    assert len(questions) - with_few <= snapshots.MAX_CHECKED_FOLDERS + 150


def test_a_write_into_a_folder_with_many_files_lists_none_of_them(
    engine: FileEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(500):
        write(root / f"{number}.txt")
    look(engine)
    monkeypatch.setattr(snapshots, "list_folder", lambda *_: pytest.fail("it was told what changed"))

    engine.write(CALL, "new.txt", "x", "create")

    recent = look(engine)
    assert (recent.files, paths(recent)[0]) == (501, "new.txt")


def test_what_another_process_changed_is_known_from_its_notice(
    engine: FileEngine, folders: Folders, root: Path, small_budget: None
) -> None:
    for number in range(30):
        write(root / f"{number:02}" / "old.txt")
    elsewhere = FileEngine(folders)
    look(engine)
    elsewhere.write(CALL, "25/새 파일.txt", "x", "create")
    elsewhere.delete(CALL, "26/old.txt")

    engine.report_changes(CALL, [files_topic(CALL, "25/새 파일.txt"), files_topic(CALL, "26/old.txt")])

    recent = look(engine)
    assert (recent.files, paths(recent)[0]) == (30, "25/새 파일.txt")


async def test_a_watcher_is_not_told_of_a_file_that_another_process_deleted(tmp_path: Path, small_budget: None) -> None:
    async with open_asker(tmp_path / "madang.db") as here, open_asker(tmp_path / "madang.db") as there:
        for number in range(12):
            there.keep_file(f"{number:02}/old.txt")
        async with aclosing(here.provider.watch_contexts(here.call)) as states:
            with fail_after(60):
                first = (await anext(states))["workspace"].structured_state
                await there.done("delete_file", path="03/old.txt")
                second = (await anext(states))["workspace"].structured_state
                await there.done("move_file", source="04", target="05/moved")
                third = (await anext(states))["workspace"].structured_state

    assert [state.model_dump()["files"] for state in (first, second, third)] == [12, 11, 11]
    assert "03/old.txt" not in {row["path"] for row in second.model_dump()["newest"]}
    assert "04/old.txt" not in {row["path"] for row in third.model_dump()["newest"]}
    assert "05/moved/old.txt" in {row["path"] for row in third.model_dump()["newest"]}


def test_after_a_notice_without_paths_every_folder_is_listed(
    engine: FileEngine, root: Path, small_budget: None
) -> None:
    """A subscription that missed notices says no more than that."""
    for number in range(30):
        write(root / f"{number:02}" / "old.txt")
    look(engine)
    write(root / "25" / "new.txt")
    (root / "26" / "old.txt").unlink()

    engine.report_changes(CALL, [files_topic(CALL)])

    assert look(engine).files == 30


def test_a_topic_names_the_paths_that_changed_unless_they_are_long() -> None:
    path, long_path = "a b/새 파일.txt", "긴" * 1_000

    assert changed_paths(CALL, files_topic(CALL, path, "c")) == (path, "c")
    assert changed_paths(CALL, files_topic(CALL)) == ()
    assert files_topic(CALL, long_path) == files_topic(CALL)
    assert changed_paths(CALL, topic("workspace", CALL.user_id, "another", "a")) is None
    assert changed_paths(CALL, topic("exports", CALL.user_id, "s")) is None


def test_names_in_both_spellings_and_without_unicode_are_known(engine: FileEngine, root: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "한글.txt")
    write(root / "b" / decomposed)
    os.close(os.open(os.fsencode(root) + b"/\xff.txt", os.O_CREAT | os.O_WRONLY))
    assert look(engine).files == 2

    engine.delete(CALL, "b/한글.txt")

    assert paths(look(engine)) == ["\N{REPLACEMENT CHARACTER}.txt"]


def test_a_folder_that_became_a_link_tells_nothing_of_where_it_leads(
    engine: FileEngine, root: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    write(secret / "password.txt")
    write(secret / "known.txt", "of another size")
    write(root / "folder" / "known.txt")
    write(root / "top.txt")
    look(engine)
    modified_ns = root.stat().st_mtime_ns
    shutil.rmtree(root / "folder")
    (root / "folder").symlink_to(secret)
    os.utime(root, ns=(modified_ns, modified_ns))

    recent = look(engine)

    assert (recent.files, paths(recent)) == (1, ["top.txt"])


def test_git_is_left_out_and_depth_is_bounded(engine: FileEngine, root: Path) -> None:
    write(root / ".git" / "objects" / "a")
    write(root / "a" / ".git" / "b")
    write(root.joinpath(*["d"] * 63) / "deepest.txt")
    write(root.joinpath(*["d"] * 64) / "too deep.txt")

    assert paths(look(engine)) == ["d/" * 63 + "deepest.txt"]


def test_of_too_many_files_it_is_told_that_there_are_more(
    engine: FileEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_SNAPSHOT_FILES", 10)
    for number in range(30):
        write(root / f"{number % 3}" / f"{number}.txt")

    too_many = look(engine)
    for number in range(24):
        (root / f"{number % 3}" / f"{number}.txt").unlink()
    fewer = look(engine)

    assert (too_many.files, too_many.is_complete) == (10, False)
    assert (fewer.files, fewer.is_complete) == (6, True)


def test_a_walk_that_takes_long_goes_on_at_the_next_look(
    engine: FileEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        write(root / f"{number}" / "a.txt")
    moments = count()
    clock = SimpleNamespace(monotonic=lambda: next(moments) / 40, time_ns=time.time_ns)
    monkeypatch.setattr(snapshots, "time", clock)

    looks = [look(engine) for _ in range(10)]

    assert not looks[0].is_complete
    assert 0 < looks[0].files < looks[-1].files == 10
    assert looks[-1].is_complete


def test_the_snapshots_of_a_process_are_bounded(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_CACHED_SNAPSHOTS", 3)
    monkeypatch.setattr(snapshots, "MAX_CACHED_FILES", 5)
    engine = FileEngine(folders)
    calls = [Call(AssistantId("a"), SessionId(f"s{number}")) for number in range(5)]
    for call in calls:
        for name in ("a", "b"):
            engine.write(call, name, "x", "create")

    for call in calls * 2:
        assert look(engine, call).files == 2
    assert [engine.snapshots.find(call) is not None for call in calls] == [False, False, True, True, True]

    for _ in range(2):
        assert look(engine, calls[0]).files == 2
    assert [engine.snapshots.find(call) is not None for call in calls] == [True, False, False, False, True]


def test_a_workspace_that_was_removed_and_made_again_is_known_anew(engine: FileEngine, root: Path) -> None:
    write(root / "a" / "old.txt")
    look(engine)
    shutil.rmtree(root.parent)
    gone = look(engine)
    engine.write(CALL, "new.txt", "x", "create")

    assert gone == RecentFiles()
    assert paths(look(engine)) == ["new.txt"]


def test_a_disk_that_cannot_be_asked_is_an_error_once_and_loses_nothing(
    engine: FileEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root / "a" / "a.txt")

    def fail(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(snapshots, "open_beneath", fail)
        with pytest.raises(Unavailable):
            look(engine)

    assert paths(look(engine)) == ["a/a.txt"]
