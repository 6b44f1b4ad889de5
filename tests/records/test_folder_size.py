"""The size of a data folder: by what it is for, without following links, and cut where there is too much."""

from __future__ import annotations

from pathlib import Path

from madang.records.folder_size import FolderSize, SizeLimits, measure_folder


def fill(folder: Path) -> None:
    for name, size in [
        ("madang.db", 100),
        ("madang.db-wal", 10),
        ("config.toml", 1),
        ("index/a/b", 2),
        ("workspaces/s/files/한글.txt", 1000),
        ("workspaces/s/files/deep/a.txt", 2000),
    ]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * size)
    (folder / "workspaces/s/files/link").symlink_to(folder / "workspaces")


def test_each_part_is_counted(tmp_path: Path) -> None:
    fill(tmp_path)
    link = (tmp_path / "workspaces/s/files/link").lstat().st_size

    assert measure_folder(tmp_path) == FolderSize(110, 3000 + link, 3)
    assert measure_folder(tmp_path / "missing") == FolderSize()


def test_it_is_cut_after_some_entries_or_seconds(tmp_path: Path) -> None:
    fill(tmp_path)

    cut = measure_folder(tmp_path, SizeLimits(max_entries=5))
    assert cut == FolderSize(110, 0, 1, is_cut=True)  # its own entries, and no more
    assert measure_folder(tmp_path, SizeLimits(max_s=-1)) == FolderSize(is_cut=True)
    assert not measure_folder(tmp_path, SizeLimits(max_entries=13)).is_cut
