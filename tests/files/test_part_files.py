"""Parts of files: renamed or gone, and removed by others only where their writers are surely dead."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from madang.files.part_files import UNLOCKED_S, PartFile, is_part_name, remove_dead_parts, replace_file

WRITER = """
import os, sys
from pathlib import Path
from madang.files.part_files import PartFile

part = PartFile(Path(sys.argv[1]))
part.beside("database").write_text("x")
part.beside("files").mkdir()
(part.beside("files") / "a").write_text("x")
print(part.path, flush=True)
sys.stdin.read()
os._exit(1)
"""
OTHER_MACHINE = ".a.zip.00000000-0199d1c2-3b4a-7c5d-8e6f-012345678901.part"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="on Windows only old parts are removed")


def test_parts_stay_for_as_long_as_their_process_lives(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "한글[1].zip")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        part = Path(process.stdout.readline().strip())
        remove_dead_parts(tmp_path)
        left = sorted(os.listdir(tmp_path))
        process.communicate()

    assert left == [part.name, f"{part.name}-database", f"{part.name}-files"]
    assert all(map(is_part_name, left))
    remove_dead_parts(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_part_that_was_renamed_discarded_or_forgotten_is_gone(tmp_path: Path) -> None:
    renamed, discarded, forgotten = (PartFile(tmp_path / "a") for _ in range(3))
    renamed.file.write(b"whole")
    renamed.beside("database").write_text("x")
    renamed.rename(tmp_path / "a")
    discarded.beside("files").mkdir()
    with pytest.raises(FileExistsError):
        discarded.rename(tmp_path / "a")
    discarded.discard()
    discarded.discard()
    del forgotten
    gc.collect()

    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_a_file_is_replaced_with_its_mode_or_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("before")
    replace_file(tmp_path / "a", b"after", 0o640)
    assert (tmp_path / "a").read_text() == "after"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_file(tmp_path / "a", b"never")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "after"


def test_a_name_of_many_letters_is_cut(tmp_path: Path) -> None:
    target = tmp_path / ("마" * 80 + ".zip")
    part = PartFile(target)
    part.beside("database-journal").write_text("x")
    part.rename(target)

    assert os.listdir(tmp_path) == [target.name]


def test_what_is_not_surely_a_dead_part_stays(tmp_path: Path) -> None:
    other = PartFile(tmp_path / "b")
    name = other.path.name
    other.discard()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / name).symlink_to("mine")
    os.mkfifo(tmp_path / name.replace(".b.", ".c."))
    for theirs in (".a.zip.part", name.removeprefix("."), f"{name}.zip", f"{name}-files"):
        (tmp_path / theirs).write_text("mine")
    (tmp_path / OTHER_MACHINE).write_text("its lock may not be told here")
    before = sorted(os.listdir(tmp_path))

    remove_dead_parts(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before

    moment = (tmp_path / OTHER_MACHINE).stat().st_mtime - UNLOCKED_S - 1
    os.utime(tmp_path / OTHER_MACHINE, (moment, moment))
    remove_dead_parts(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [name for name in before if name != OTHER_MACHINE]
