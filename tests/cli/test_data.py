"""All data at once: backed up while it is written, restored elsewhere, exported and imported, deleted."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest

from madang.cli import main
from madang.cli.exports import export_everything, import_everything
from madang.core.errors import MadangError
from madang.records.data_folder import back_up_folder, restore_folder
from tests.whole_sessions import House, all_rows, contents_of, exported, fill, open_house, without_moments

WRITER = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from madang.app import open_madang
from madang.core.ids import SessionId
from madang.settings import Settings

async def write():
    async with open_madang(Settings(Path(sys.argv[1]))) as madang:
        for number in range(1, 100_000):
            session = f"{sys.argv[2]} {(number - 1) // int(sys.argv[3])}"
            call = replace(madang.call("python"), session_id=SessionId(session))
            content = f"{number}\\n" * 200
            for tool, arguments in (
                ("add_todo", {"name": f"todo {number}"}),
                ("write_file", {"path": f"{number % 7}.txt", "content": content}),
            ):
                reply = await madang.provider.execute_tool(call, tool, arguments)
                assert not reply.is_error, reply.text
            print(number, flush=True)

asyncio.run(write())
"""
TODOS_PER_SESSION = 100
"""Fewer than a plan takes: a fast writer would come to its limit."""


@contextmanager
def writing(folder: Path, session: str) -> Iterator[list[int]]:
    """A process that writes to-dos and files without pause; gives the numbers it has written so far."""
    command = [sys.executable, "-c", WRITER, str(folder), session, str(TODOS_PER_SESSION)]
    written: list[int] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = process.stdout
        reader = threading.Thread(target=lambda: written.extend(int(line) for line in lines))
        reader.start()
        try:
            wait_for(lambda: bool(written))
            yield written
        finally:
            process.kill()
            reader.join()


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.01)


def todos(folder: Path, session: str, capsys: pytest.CaptureFixture[str]) -> list[int]:
    """Return the numbers of the to-dos that a writer has written."""
    numbers: list[int] = []
    for part in count():
        capsys.readouterr()
        options = ["--json", "--session", f"{session} {part}", "--data-dir", str(folder)]
        assert main(["call", "get_current_state", *options]) == 0
        names = [todo["name"] for todo in json.loads(capsys.readouterr().out)["todos"]]
        numbers += [int(name.removeprefix("todo ")) for name in names]
        if len(names) < TODOS_PER_SESSION:
            break
    return numbers


def files_of(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Return the files that a backup has, with their modes and times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(("madang.db", "index/", "owners/")) and "/temporary/" not in name:
            status = path.stat()
            found[name] = (path.read_bytes(), stat.S_IMODE(status.st_mode), status.st_mtime_ns)
    return found


def test_a_backup_under_load_is_whole_and_restored_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    with writing(folder, "one") as one, writing(folder, "two") as two:
        for number in range(3):
            before = (one[-1], two[-1])
            backup = tmp_path / f"{number}.zip"
            assert main(["backup", str(backup), "--data-dir", str(folder)]) == 0
            elsewhere = tmp_path / f"restored {number}"
            assert main(["restore", str(backup), "--data-dir", str(elsewhere)]) == 0

            # What was written before is there, without a gap; each file is one that was written.
            for session, least in zip(("one", "two"), before, strict=True):
                numbers = todos(elsewhere, session, capsys)
                assert numbers == list(range(1, len(numbers) + 1))
                assert len(numbers) >= least
            contents = [data for name, (data, _, _) in files_of(elsewhere).items() if name.endswith(".txt")]
            assert contents
            assert [data for data in contents if len(set(data.splitlines())) != 1 or data.count(b"\n") != 200] == []
            wait_for(lambda before=before: one[-1] > before[0] and two[-1] > before[1])


async def test_a_backup_of_everything_is_restored_equal(tmp_path: Path) -> None:
    async with open_house(tmp_path / "source", "disk", session="모두") as house:
        await fill(house, "zebra")
        await fill(house.session("other"), "quokka")
    source = tmp_path / "source" / "data"
    (source / "config.toml").write_text('locale = "ko"\n')
    (source / "token").write_text("t" * 40)
    empty = next((source / "workspaces").iterdir()) / "files" / "empty" / "folder"
    empty.mkdir(parents=True)
    script = empty.parent.parent / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o700)
    back_up_folder(source, tmp_path / "b.zip", "test")

    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "data").mkdir(mode=0o700)
    restore_folder(tmp_path / "b.zip", target := tmp_path / "target" / "data")

    files = files_of(source)
    del files["token"]
    assert files_of(target) == files
    assert (target / empty.relative_to(source)).is_dir()
    assert stat.S_IMODE((target / "madang.db").stat().st_mode) == 0o600
    with (
        closing(apsw.Connection(str(source / "madang.db"))) as one,
        closing(apsw.Connection(str(target / "madang.db"))) as two,
    ):
        assert _dump(one) == _dump(two)
    assert stat.S_IMODE((tmp_path / "b.zip").stat().st_mode) == 0o600
    async with open_house(tmp_path / "target", "disk", session="모두") as house:
        reply = await house.asker.done("keyword_similarity_search", query="zebra")
        assert "zebra.txt" in reply.text, "the index was not made anew"


def _dump(connection: apsw.Connection) -> dict[str, list[Any]]:
    names = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: list(connection.execute(f'SELECT * FROM "{name}"')) for name in names}


def test_links_and_pipes_are_left_out_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    assert main(["call", "write_file", '{"path": "a.txt", "content": "a"}', "--data-dir", str(folder)]) == 0
    files = next((folder / "workspaces").iterdir()) / "files"
    (files / "link").symlink_to("/etc/passwd")
    (files / "folder").symlink_to("/etc")
    os.mkfifo(files / "pipe")
    capsys.readouterr()

    assert main(["backup", str(tmp_path / "b.zip"), "--data-dir", str(folder)]) == 0

    assert "3 left out" in capsys.readouterr().out
    assert not [name for name in zipfile.ZipFile(tmp_path / "b.zip").namelist() if "passwd" in name or "link" in name]


def test_a_folder_with_data_is_not_restored_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    assert main(["call", "add_todo", '{"name": "Look"}', "--data-dir", str(folder)]) == 0
    assert main(["backup", str(tmp_path / "b.zip"), "--data-dir", str(folder)]) == 0
    capsys.readouterr()

    assert main(["restore", str(tmp_path / "b.zip"), "--data-dir", str(folder)]) == 2
    assert "There is data in" in capsys.readouterr().err
    assert main(["backup", str(tmp_path / "b.zip"), "--data-dir", str(folder)]) == 2
    assert "already" in capsys.readouterr().err
    assert main(["call", "get_current_state", "--data-dir", str(folder)]) == 0
    assert "Look" in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["no zip", "another zip", "changed database", "missing file", "path out", "newer"])
def test_what_is_no_backup_leaves_nothing_behind(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    assert main(["call", "write_file", '{"path": "a.txt", "content": "a"}', "--data-dir", str(folder)]) == 0
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    assert main(["backup", str(good), "--data-dir", str(folder)]) == 0
    if damage == "no zip":
        bad.write_bytes(b"my notes" * 1000)
    else:
        with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
            for name in source.namelist():
                data = source.read(name)
                if damage == "another zip" and name == "backup.json":
                    continue
                if damage == "changed database" and name == "madang.db":
                    data = data[:-1] + b"x"
                if damage == "missing file" and name.endswith("a.txt"):
                    continue
                if damage == "path out" and name == "files.jsonl":
                    data += b'{"path": "token", "mode": 384, "modifiedNs": 0}\n'
                if damage == "newer" and name == "backup.json":
                    data = json.dumps({**json.loads(data), "format": 9}).encode()
                target.writestr(name, data)
    elsewhere = tmp_path / "elsewhere"
    capsys.readouterr()

    assert main(["restore", str(bad), "--data-dir", str(elsewhere)]) == 2

    assert capsys.readouterr().err.count("\n") == 1
    assert list(elsewhere.iterdir()) == []


# Export and import


@pytest.fixture(params=["disk", "server"])
def back_end(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_everything_is_exported_readable_and_imported_equal(tmp_path: Path, back_end: str) -> None:
    names = ("모두 one", "other/two")
    before, after = {}, {}
    async with open_house(tmp_path / "source", back_end) as house:
        for name in names:
            await fill(house.session(name), "zebra")
            before[name] = await exported(house.session(name), tmp_path / f"{names.index(name)}.zip")
        playbooks = await portable(house)
        manifest, _ = await export_everything(house.madang, tmp_path / "all.zip")
        sessions = {session.id for session in manifest.sessions}
        assert set(names) <= sessions
    async with open_house(tmp_path / "target", back_end) as house:
        imported = await import_everything(house.madang, tmp_path / "all.zip")
        assert imported.sessions == len(sessions)
        assert imported.renamed == []
        for name in names:
            after[name] = await exported(house.session(name), tmp_path / f"again {names.index(name)}.zip")
        assert await portable(house) == playbooks
        rows = await all_rows(house.madang.database)
        again = await import_everything(house.madang, tmp_path / "all.zip")
        assert again.playbooks == 0, "playbooks that are there are not added again"
        assert len(again.renamed) == len(sessions)
        assert sum(rows.values()) < sum((await all_rows(house.madang.database)).values())
    for name in names:
        # An archive may be anybody's, so what is imported is tainted: that is all that differs.
        assert after[name]["session.json"].pop("isTainted") is True
        assert before[name]["session.json"].pop("isTainted") is False
        assert without_moments(after[name]) == without_moments(before[name])

    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        listed = archive.namelist()
        overview = archive.read("README.md").decode()
        pages = [archive.read(name).decode() for name in listed if name.endswith("/README.md")]
    assert "모두 one" in overview
    assert all(link in listed for link in _links(overview))
    assert [page for page in pages if "zebra" not in page and "other" in page] == []
    assert contents_of(tmp_path / "all.zip")


async def portable(house: House) -> Any:
    reply = await house.asker.done("export_playbooks", format="json")
    return json.loads(reply.data["document"])


async def test_a_deleted_playbook_is_in_a_backup_and_not_in_an_export(tmp_path: Path) -> None:
    async with open_house(tmp_path / "source", "disk") as house:
        created = await house.asker.done("create_playbook", goal="Rehearse", initialCommand="Rehearse", workflow=[])
        id = created.data["playbook"]["id"]
        await house.asker.done("delete_playbook", id=id)
        await export_everything(house.madang, tmp_path / "all.zip")
    back_up_folder(tmp_path / "source" / "data", tmp_path / "b.zip", "test")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "data").mkdir(mode=0o700)
    restore_folder(tmp_path / "b.zip", tmp_path / "target" / "data")

    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert [name for name in archive.namelist() if b"Rehearse" in archive.read(name)] == []
    async with open_house(tmp_path / "target", "disk") as house:
        await house.asker.done("restore_playbook", id=id)
        assert "Rehearse" in (await house.asker.done("get_playbook", id=id)).text


def _links(page: str) -> list[str]:
    return [part.partition(")")[0] for part in page.split("](")[1:]]


def test_exporting_makes_no_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--data-dir", str(tmp_path / "data")]

    assert main(["export", "--all", str(tmp_path / "all.zip"), *folder]) == 0

    assert "0 session(s), 0 playbook(s)" in capsys.readouterr().out
    assert main(["sessions", "list", *folder]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("kind", ["one session", "no zip"])
def test_what_is_no_export_of_everything_is_said(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--data-dir", str(tmp_path / "data")]
    path = tmp_path / "x.zip"
    if kind == "one session":
        assert main(["call", "add_todo", '{"name": "Look"}', *folder]) == 0
        assert main(["sessions", "export", "default", str(path), *folder]) == 0
    else:
        path.write_bytes(b"my notes")
    capsys.readouterr()

    assert main(["import", str(path), *folder]) == 2

    assert capsys.readouterr().err.startswith("madang: This is no ")


# Deleting


def test_deleting_everything_leaves_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    options = ["--data-dir", str(folder)]
    for words in (
        ["call", "add_todo", '{"name": "Look"}'],
        ["call", "write_file", '{"path": "a.txt", "content": "a"}'],
        ["call", "add_content", '{"content": "words", "storeId": ""}'],
        ["call", "keyword_similarity_search", '{"query": "words", "storeId": ""}'],
        ["token"],
    ):
        main([*words, *options])
    (folder / "config.toml").write_text("")
    (folder / "madang.db.before-20260101T000000000000").write_text("an older copy")
    (folder / ".keys.json.0199d1c2.part").write_text("of an earlier version")
    killed = ".restore.0123abcd-0199d1c2-3b4a-7c5d-8e6f-012345678901.part"
    (folder / killed).write_text("")
    (folder / f"{killed}-files" / "workspaces").mkdir(parents=True)
    assert any((folder / "workspaces").iterdir())
    capsys.readouterr()

    assert main(["delete", "--all", "--yes", *options]) == 0

    assert capsys.readouterr().out == f"Deleted: {folder} is empty.\n"
    assert list(folder.iterdir()) == []
    assert main(["delete", "--all", "--yes", *options]) == 0


def test_what_is_not_ours_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("mine")
    (tmp_path / "workspaces").symlink_to(outside)

    assert main(["delete", "--all", "--yes", "--data-dir", str(tmp_path)]) == 0

    assert "not Madang's: thesis.txt" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert (outside / "kept.txt").exists()


def test_a_folder_that_is_used_is_not_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with writing(tmp_path, "default"):
        assert main(["delete", "--all", "--yes", "--data-dir", str(tmp_path)]) == 2
        assert "Another Madang uses this data folder." in capsys.readouterr().err
        assert (tmp_path / "madang.db").exists()
    assert main(["delete", "--all", "--yes", "--data-dir", str(tmp_path)]) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 1), ("", 1)])
def test_deleting_asks(
    tmp_path: Path, answer: str, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("")
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))

    assert main(["delete", "--all", "--data-dir", str(tmp_path)]) == code

    assert "This cannot be undone." in capsys.readouterr().out
    assert (tmp_path / "config.toml").exists() is (code == 1)


def test_deleting_without_a_terminal_or_all_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: False)
    (tmp_path / "config.toml").write_text("")

    assert main(["delete", "--all", "--data-dir", str(tmp_path)]) == 2
    with pytest.raises(SystemExit):
        main(["delete", "--yes", "--data-dir", str(tmp_path)])
    assert (tmp_path / "config.toml").exists()


@pytest.mark.parametrize(
    ("words", "means"),
    [
        (["backup", "x"], "pg_dump"),
        (["restore", "x"], "pg_restore"),
        (["delete", "--all", "--yes"], "Drop the database"),
    ],
)
def test_a_server_is_backed_up_by_its_own_means(
    tmp_path: Path, words: list[str], means: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--database", "postgresql://u@h/d", "--data-dir", str(tmp_path)]) == 2

    told = capsys.readouterr().err
    assert "on a database server" in told
    assert means in told


def test_a_full_disk_leaves_no_half_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data"
    assert main(["call", "add_todo", '{"name": "Look"}', "--data-dir", str(folder)]) == 0

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("madang.records.data_folder._copy", fail)

    with pytest.raises(MadangError, match="no space left"):
        back_up_folder(folder, tmp_path / "b.zip", "test")

    assert [path.name for path in tmp_path.iterdir()] == ["data"]
