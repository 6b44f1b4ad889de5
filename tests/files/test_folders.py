"""Folders held by descriptors: what they give, keep and refuse, whatever happens around them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.errors import (
    Conflict,
    Denied,
    InvalidPath,
    NotFound,
    NotRegular,
    ToolError,
    Unavailable,
)
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folder, Folders, parse_path, staging
from madang.files.folders.kernel import open_beneath, rename_new, walk_beneath

CALL = Call(AssistantId("a"), SessionId("s"))

WAYS_OUT = [
    "../a", "a/../../b", "..", "/etc/passwd", "~/a", "~root", "file:///etc/passwd", "C:\\a", "c:a", "a\\b", "..\\a",
    "%2e%2e/a", "%2E%2e", "a/%2e%2e/b", "a%2fb", "%5c..", "a\nb", "a\x00b", "a\x7f", "a\u2028b", "\ud800",
    "x" * 256, "가" * 86, "a/" * 3000, "x" * 5000,
]  # fmt: skip


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "workspaces")


@pytest.fixture
def files(folders: Folders) -> Iterator[Folder]:
    with folders.of(CALL) as session:
        yield session.files


@pytest.fixture
def path(folders: Folders) -> Path:
    """The same folder, as the system sees it."""
    with folders.of(CALL) as session:
        return session.path / "files"


def text_of(files: Folder, path: str) -> str:
    with files.open_file(path) as file:
        return file.read().decode()


# Paths


@pytest.mark.parametrize("text", WAYS_OUT, ids=lambda text: f"{len(text)} {ascii(text)[:20]}")
def test_what_is_no_path_inside_is_refused_before_anything_is_opened(files: Folder, text: str) -> None:
    for use in (
        lambda: files.entry(text),
        lambda: text_of(files, text),
        lambda: files.write(text, [b"x"]),
        lambda: files.move("a", text),
        lambda: files.move(text, "a"),
        lambda: files.delete(text),
        lambda: list(files.walk(text, depth=1)),
    ):
        with pytest.raises(InvalidPath):
            use()


@pytest.mark.parametrize("text", ["", ".", "./", "/."])
def test_the_folder_itself_is_no_file(files: Folder, text: str) -> None:
    with pytest.raises(InvalidPath):
        files.write(text, [b"x"])
    with pytest.raises(InvalidPath):
        files.delete(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ("a",)),
        ("./a//b/.", ("a", "b")),
        ("...", ("...",)),
        ("a b/한글.txt", ("a b", "한글.txt")),
        ("100%", ("100%",)),
        ("-rf", ("-rf",)),
        (" ", (" ",)),
    ],
)
def test_ordinary_paths_are_taken_as_they_are(text: str, names: tuple[str, ...]) -> None:
    assert parse_path(text) == names


# Links


@pytest.mark.parametrize("opener", [open_beneath, walk_beneath], ids=["openat2", "by names"])
def test_no_link_on_the_way_or_at_its_end_is_followed(tmp_path: Path, opener: object) -> None:
    """The kernel's way and ours refuse the same."""
    assert callable(opener)
    (tmp_path / "inside/folder").mkdir(parents=True)
    (tmp_path / "inside/folder/file").write_text("inside")
    (tmp_path / "outside").write_text("outside")
    (tmp_path / "inside/link").symlink_to(tmp_path / "outside")
    (tmp_path / "inside/own").symlink_to("folder")
    (tmp_path / "inside/up").symlink_to("..")
    (tmp_path / "inside/loop").symlink_to("loop")
    fd = os.open(tmp_path / "inside", os.O_RDONLY)
    try:
        for names in [("link",), ("own", "file"), ("up", "outside"), ("loop",), ("own",), ("loop", "x")]:
            with pytest.raises(OSError, match=r"links|directory"):
                opener(fd, names, os.O_RDONLY)
        opened = opener(fd, ("folder", "file"), os.O_RDONLY)
        assert os.read(opened, 10) == b"inside"
        os.close(opened)
        os.close(opener(fd, (), os.O_RDONLY | os.O_DIRECTORY))
    finally:
        os.close(fd)


def test_a_link_is_seen_and_can_be_deleted_and_nothing_else(files: Folder, path: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("outside")
    (path / "link").symlink_to(tmp_path / "outside")
    (path / "dangling").symlink_to(tmp_path / "new")

    assert files.entry("link").kind == "link"
    for name in ("link", "dangling"):
        for mode in ("overwrite", "append", "create"):
            with pytest.raises(ToolError):
                files.write(name, [b"x"], mode)
        with pytest.raises(NotRegular):
            files.move(name, "moved")
        files.delete(name)
    assert (tmp_path / "outside").read_text() == "outside"
    assert not (tmp_path / "new").exists()


# Writing


def test_a_file_is_replaced_as_a_whole(files: Folder, path: Path) -> None:
    files.write("a", [b"old"])
    kept = os.open(path / "a", os.O_RDONLY)
    try:
        files.write("a", [b"ne", b"w"])
        assert os.read(kept, 10) == b"old"
    finally:
        os.close(kept)
    assert text_of(files, "a") == "new"


def test_when_the_parts_break_off_nothing_is_written(files: Folder, path: Path) -> None:
    files.write("a", [b"old"])

    def parts() -> Iterator[bytes]:
        yield b"half"
        raise NotFound.__new__(NotFound)

    with pytest.raises(NotFound):
        files.write("a", parts())
    with pytest.raises(NotFound):
        files.write("new/folder/b", parts())
    assert text_of(files, "a") == "old"
    assert os.listdir(path) == ["a"]
    assert os.listdir(path.parent / "temporary") == []


def test_create_and_move_replace_nothing_also_at_the_same_moment(files: Folder) -> None:
    made: list[int] = []

    def make(number: int) -> None:
        try:
            files.write("a", [str(number).encode()], "create")
            made.append(number)
        except Conflict:
            pass

    threads = [threading.Thread(target=make, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert text_of(files, "a") == str(made[0])
    assert len(made) == 1
    files.write("b", [b"b"])
    with pytest.raises(Conflict):
        files.move("b", "a")


def test_renaming_without_replacing_works_where_the_kernel_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "other")
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        (tmp_path / "a").write_text("a")
        (tmp_path / "b").write_text("b")
        with pytest.raises(FileExistsError):
            rename_new(fd, "a", fd, "b")
        rename_new(fd, "a", fd, "c")
    finally:
        os.close(fd)
    assert sorted(os.listdir(tmp_path)) == ["b", "c"]


def test_what_is_written_onto_a_folder_or_below_a_file_is_refused(files: Folder) -> None:
    files.write("folder/a", [b"a"])

    with pytest.raises(NotRegular):
        files.write("folder", [b"x"])
    with pytest.raises(InvalidPath):
        files.write("folder/a/b", [b"x"])
    with pytest.raises(InvalidPath):
        files.move("folder", "folder/b")
    with pytest.raises(Conflict):
        files.delete("folder")


def test_a_full_disk_is_said_and_leaves_nothing(files: Folder, path: Path) -> None:
    """The limit of a process for the size of its files is the nearest thing to a full disk that a test can make."""
    program = f"""
import resource, signal, sys
from pathlib import Path
from tests.files.test_folders import CALL
from madang.core.errors import Unavailable
from madang.files.folders import Folders
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with Folders(Path({str(path.parent.parent)!r})).of(CALL) as session:
    session.files.write("small", [b"x"])
    try:
        session.files.write("new/large", [b"x" * 2000])
    except Unavailable as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "The disk is full. Nothing was written.\n"
    assert os.listdir(path) == ["small"]
    assert os.listdir(path.parent / "temporary") == []


def test_a_folder_only_for_reading_writes_nothing(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    reading = Folder(fd)
    try:
        with pytest.raises(RuntimeError):
            reading.write("a", [b"x"])
        with pytest.raises(RuntimeError), reading.locked():
            pass
    finally:
        reading.close()
    assert os.listdir(tmp_path) == []


# Crashes and other processes


def test_after_a_kill_there_is_the_old_or_the_new_and_no_draft(folders: Folders, path: Path) -> None:
    program = f"""
from pathlib import Path
from tests.files.test_folders import CALL
from madang.files.folders import Folders
with Folders(Path({str(path.parent.parent)!r})).of(CALL) as session:
    for number in range(10**9):
        session.files.write("a", [bytes([65 + number % 26]) * 200_000] * 5)
        if number == 0:
            print("begun", flush=True)
"""
    drafts = 0
    for _ in range(12):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"begun\n"
            os.kill(child.pid, signal.SIGKILL)
        data = (path / "a").read_bytes()
        assert (len(data), len(set(data))) == (1_000_000, 1)
        drafts += len(os.listdir(path.parent / "temporary"))
        with Folders(path.parent.parent).of(CALL):
            assert os.listdir(path.parent / "temporary") == []
    assert drafts > 0, "no kill came in the middle of a write: the test says nothing"


def test_the_draft_of_a_writer_who_lives_is_not_swept(folders: Folders, files: Folder, path: Path) -> None:
    def parts() -> Iterator[bytes]:
        with Folders(path.parent.parent).of(CALL):  # a new start, in the middle of the write
            yield b"whole"

    files.write("a", parts())

    assert text_of(files, "a") == "whole"


def test_a_writer_waits_for_another_and_says_so_in_the_end(
    folders: Folders, files: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "MAX_LOCK_WAIT_S", 0)
    with files.locked(), folders.of(CALL) as other, pytest.raises(Unavailable), other.files.locked():
        pass
    with files.locked():
        pass


# Walking


def test_a_walk_is_in_order_and_a_folder_comes_before_what_is_in_it(files: Folder, path: Path) -> None:
    for name in ("b/2", "b/1/x", "a", "c", ".git/HEAD"):
        files.write(name, [b"12"])
    (path / "link").symlink_to("b")
    os.mkfifo(path / "pipe")

    seen = [(entry.path, entry.kind, entry.size) for entry in files.walk(depth=9, leave_out=".git")]

    assert seen == [
        (".git", "folder", 0),
        ("a", "file", 2),
        ("b", "folder", 0),
        ("b/1", "folder", 0),
        ("b/1/x", "file", 2),
        ("b/2", "file", 2),
        ("c", "file", 2),
        ("link", "link", 0),
        ("pipe", "other", 0),
    ]
    bare = [(entry.path, entry.kind) for entry in files.walk(depth=9, leave_out=".git", with_status=range(0))]
    assert bare == [(path, kind) for path, kind, _ in seen]
    assert [entry.path for entry in files.walk("b", depth=1)] == ["b/1", "b/2"]


def test_a_walk_that_is_left_closes_what_it_opened(files: Folder) -> None:
    files.write("a/b/c/d/e", [b"x"])
    before = len(os.listdir("/proc/self/fd"))

    walk = files.walk(depth=9)
    for _ in range(4):
        next(walk)
    walk.close()

    assert len(os.listdir("/proc/self/fd")) == before


def test_names_are_found_in_the_other_spelling_of_hangul(files: Folder, path: Path) -> None:
    parts, composed = (unicodedata.normalize(form, "한글") for form in ("NFD", "NFC"))
    (path / composed / parts).mkdir(parents=True)
    (path / composed / parts / composed).write_text("found")

    for one in (parts, composed):
        assert text_of(files, f"{one}/{one}/{one}") == "found"
        assert files.entry(f"{one}/{one}/{one}").size == 5
    files.write(f"{parts}/{composed}/{parts}", [b"new"])
    assert (path / composed / parts / composed).read_text() == "new"


def test_nobody_else_sees_which_sessions_there_are(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "data/workspaces")
    with folders.of(CALL) as session:
        session.files.write("a/b.txt", [b"text"])

    paths = [tmp_path / "data/workspaces", *(tmp_path / "data/workspaces").rglob("*")]
    assert len(paths) == 7
    assert [path for path in paths if path.stat().st_mode & 0o077] == []


# Allowed folders


def test_a_source_is_read_from_the_workspace_or_an_allowed_folder(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "a b.txt").write_text("outside")
    (tmp_path / "secret").write_text("secret")
    (allowed / "link").symlink_to(tmp_path / "secret")
    folders = Folders(tmp_path / "workspaces", [allowed])
    with folders.of(CALL) as session:
        session.files.write("in.txt", [b"inside"])
        inside = session.path / "files/in.txt"

    assert folders.read(CALL, "in.txt", 10) == (b"inside", "in.txt")
    assert folders.read(CALL, str(inside), 10) == (b"inside", "in.txt")
    assert folders.read(CALL, f"{allowed}/a b.txt", 10) == (b"outside", "a b.txt")
    assert folders.read(CALL, (allowed / "a b.txt").as_uri(), 10) == (b"outside", "a b.txt")
    assert folders.read(CALL, "in.txt", 5) == (b"insid", "in.txt")
    with pytest.raises(Denied, match="no folder that the person allowed"):
        folders.read(CALL, str(tmp_path / "secret"), 10)
    ways_out = (f"{allowed}/link", f"{allowed}/../secret", f"file://{allowed}/%2e%2e/secret")
    for way_out in (*ways_out, "file:///%ff", "file://[", "file://[::1/a", "file://\u2100/a"):
        with pytest.raises(InvalidPath):
            folders.read(CALL, way_out, 10)


def test_t03_an_allowed_folder_that_became_a_link_allows_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "way/allowed").mkdir(parents=True)
    (tmp_path / "secrets/allowed").mkdir(parents=True)
    (tmp_path / "secrets/allowed/a.txt").write_text("secret")
    folders = Folders(tmp_path / "workspaces", [tmp_path / "way/allowed"])
    source = str(tmp_path / "way/allowed/a.txt")

    (tmp_path / "way/allowed").rmdir()
    (tmp_path / "way/allowed").symlink_to(tmp_path / "secrets/allowed")
    with pytest.raises(InvalidPath):
        folders.read(CALL, source, 10)

    (tmp_path / "way").rename(tmp_path / "gone")
    (tmp_path / "way").symlink_to(tmp_path / "secrets")
    with pytest.raises(InvalidPath):
        folders.read(CALL, source, 10)
