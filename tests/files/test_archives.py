"""Archives of sessions: written whole or not at all, and hostile ones refused before anything of them is used."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from madang.core.documents import Document
from madang.core.errors import Conflict, InvalidArguments, LimitExceeded, ToolError, Unavailable
from madang.files import archives
from madang.files.archives import NO_LIMITS, ArchiveLimits, NewArchive, ZipArchiveReader, open_archive

MIB = 1024**2


class Note(Document):
    text: str
    number: int = 0


def write(path: Path, *notes: Note) -> None:
    archive = NewArchive(path)
    below = archive.writer.below("notes")
    below.add("first.json", notes[0])
    below.add_all("all.jsonl", notes)
    below.add_all("none.jsonl", [])
    with below.create("files/한글.bin") as file:
        file.write(b"\0\1")
        file.write(b"\2")
    archive.finish()


def test_what_was_written_is_read(tmp_path: Path) -> None:
    notes = [Note(text="하나", number=1), Note(text="two\nlines", number=2)]
    write(tmp_path / "a.zip", *notes)

    with open_archive(tmp_path / "a.zip", ArchiveLimits()) as archive:
        below = archive.below("notes")
        assert archive.folders == {"notes"}
        assert below.read("first.json", Note) == notes[0]
        assert list(below.read_all("all.jsonl", Note)) == notes
        assert below.read("missing.json", Note) is None
        assert list(below.read_all("none.jsonl", Note)) == []
        with below.open("files/한글.bin") as file:
            assert file.read() == b"\0\1\2"
        with pytest.raises(InvalidArguments, match="is missing"), below.open("files/other.bin"):
            pass
    assert stat.S_IMODE((tmp_path / "a.zip").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.zip"]


def test_an_archive_never_replaces_a_file_and_a_discarded_one_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("mine")
    with pytest.raises(Conflict):
        NewArchive(tmp_path / "a.zip")
    late = NewArchive(tmp_path / "b.zip")
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(Conflict):
        late.finish()
    late.discard()
    unfinished = NewArchive(tmp_path / "c.zip")
    unfinished.writer.add("a.json", Note(text="x"))
    unfinished.discard()

    assert sorted(os.listdir(tmp_path)) == ["a.zip", "b.zip"]
    assert (tmp_path / "b.zip").read_text() == "mine"


def test_a_disk_without_second_names_is_written_to_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "not on this disk")

    monkeypatch.setattr(os, "link", refuse)
    write(tmp_path / "a.zip", Note(text="x"))

    assert zipfile.is_zipfile(tmp_path / "a.zip")


def test_a_folder_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        NewArchive(tmp_path / "missing" / "a.zip")
    with pytest.raises(Unavailable), open_archive(tmp_path / "missing.zip", ArchiveLimits()):
        pass


Edit = Callable[[zipfile.ZipFile], None]


def packed(edit: Edit) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        edit(archive)
    return buffer.getvalue()


def named(name: str, mode: int = stat.S_IFREG | 0o600) -> Edit:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    return lambda archive: archive.writestr(entry, "x")


def twice(archive: zipfile.ZipFile) -> None:
    archive.writestr("a", "1")
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("a", "2")


def encrypted() -> bytes:
    data = bytearray(packed(named("a")))
    directory = data.index(b"PK\1\2")
    data[6] |= 1
    data[directory + 8] |= 1
    return bytes(data)


def two(archive: zipfile.ZipFile) -> None:
    archive.writestr("a", "x" * 100)
    archive.writestr("b", "x" * 100)


def overlapping() -> bytes:
    data = bytearray(packed(two))
    second = data.rindex(b"PK\1\2")
    data[second + 42 : second + 46] = struct.pack("<I", 0)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        packed(named("../out.txt")),
        packed(named("a/../../out.txt")),
        packed(named("/etc/passwd")),
        packed(named("C:\\out.txt")),
        packed(named("a\\b")),
        packed(named("a\x01b")),
        packed(named("a//b")),
        packed(named("%2e%2e/out")),
        packed(named("link", stat.S_IFLNK | 0o777)),
        packed(named("pipe", stat.S_IFIFO | 0o600)),
        packed(lambda archive: archive.writestr("a", "x", zipfile.ZIP_BZIP2)),
        packed(twice),
        encrypted(),
        overlapping(),
        b"no archive",
        b"",
        packed(named("a"))[:-10],
    ],
)
def test_what_nobody_packs_in_good_faith_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(data)

    with pytest.raises(InvalidArguments), open_archive(tmp_path / "a.zip", ArchiveLimits()):
        pass


def filled(count: int, size: int) -> Edit:
    def edit(archive: zipfile.ZipFile) -> None:
        for number in range(count):
            archive.writestr(str(number), os.urandom(size))

    return edit


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda archive: archive.writestr("a", bytes(20 * MIB)), "100 times its size"),
        (filled(9, MIB), "8 MiB"),
        (filled(201, 0), "200 entries"),
    ],
)
def test_an_archive_beyond_the_limits_is_refused_unless_the_person_made_it(
    tmp_path: Path, edit: Edit, reason: str
) -> None:
    (tmp_path / "a.zip").write_bytes(packed(edit))
    is_bomb = "times" in reason
    limits = ArchiveLimits() if is_bomb else ArchiveLimits(max_bytes=8 * MIB, max_entries=200)

    with pytest.raises(LimitExceeded, match=reason) as caught, open_archive(tmp_path / "a.zip", limits):
        pass
    assert "--trust" in str(caught.value.hint)
    with open_archive(tmp_path / "a.zip", NO_LIMITS):
        pass


def test_a_directory_of_a_million_entries_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = packed(lambda archive: archive.writestr("a", b""))
    directory, end = entry.index(b"PK\1\2"), entry.index(b"PK\5\6")
    one = entry[directory:end]
    count = 300_000
    tail = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, len(one) * count, directory, 0)
    (tmp_path / "a.zip").write_bytes(entry[:directory] + one * count + tail)

    def read_entry(*_: object) -> None:
        raise AssertionError("the directory is read")

    monkeypatch.setattr(zipfile, "ZipInfo", read_entry)
    with pytest.raises(LimitExceeded), open_archive(tmp_path / "a.zip", ArchiveLimits()):
        pass


def test_an_entry_gives_no_more_than_it_says(tmp_path: Path) -> None:
    data = bytearray(packed(lambda archive: archive.writestr("a", b"x" * MIB)))
    directory = data.index(b"PK\1\2")
    data[directory + 24 : directory + 28] = struct.pack("<I", 10)
    (tmp_path / "a.zip").write_bytes(data)

    def read(archive: ZipArchiveReader) -> bytes:
        with archive.open("a") as file:
            return file.read()

    with (
        open_archive(tmp_path / "a.zip", ArchiveLimits()) as archive,
        pytest.raises(InvalidArguments, match="damaged"),  # its checksum is that of more
    ):
        read(archive)


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"text": 1}', b'{"text": "x", "more": 1}', b"\xff"])
def test_a_document_of_another_kind_is_refused(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(packed(lambda archive: archive.writestr("a.jsonl", line)))

    with open_archive(tmp_path / "a.zip", ArchiveLimits()) as archive, pytest.raises(ToolError):
        list(archive.read_all("a.jsonl", Note))


def test_a_very_long_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_DOCUMENT_BYTES", 100)
    (tmp_path / "a.zip").write_bytes(packed(lambda archive: archive.writestr("a.jsonl", b'{"text": "' + b"x" * 200)))

    with open_archive(tmp_path / "a.zip", ArchiveLimits()) as archive:
        for read in (lambda: archive.read("a.jsonl", Note), lambda: list(archive.read_all("a.jsonl", Note))):
            with pytest.raises(LimitExceeded):
                read()
