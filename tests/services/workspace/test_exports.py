"""Exports as an agent meets them: what they answer, what is in them, and what is left when something goes wrong."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import zipfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after

from madang.core.calls import PageMode
from madang.core.errors import LimitExceeded
from madang.core.ids import SessionId
from madang.core.results import Reply
from madang.files.folders import Folders
from madang.rendering.replies import reply
from madang.services.workspace.engine import exports as engine
from madang.services.workspace.engine.exports import Exports
from madang.services.workspace.views import exports as views
from tests.asking import CALL, Asker, open_asker


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with open_asker() as asker:
        yield asker


def workspace(asker: Asker) -> Path:
    with asker.folders.of(asker.call) as session:
        return session.path / "files"


def left_behind(folders: Folders) -> list[str]:
    """Return what there is beside the workspace."""
    with folders.of(CALL) as session:
        names = [path.name for name in ("exports", "temporary") for path in (session.path / name).iterdir()]
    return [name for name in names if name != "lock"]


def archive_of(reply: Reply) -> zipfile.ZipFile:
    archive = zipfile.ZipFile(reply.data["path"])
    assert archive.testzip() is None
    return archive


def contents_of(reply: Reply) -> dict[str, int]:
    """Return what is in the archive, and check that the manifest says the same."""
    with archive_of(reply) as archive:
        packed = {info.filename: info.file_size for info in archive.infolist()}
    assert [{"path": path, "size": size} for path, size in packed.items()] == reply.data["files"]
    assert len(packed) == reply.data["fileCount"]
    return packed


def reasons_of(reply: Reply) -> dict[str, str]:
    return {skipped["path"]: skipped["reason"] for skipped in reply.data["skipped"]}


async def test_a_file_is_exported_with_text_card_and_link(asker: Asker) -> None:
    asker.keep_file("notes/오늘.md", b"# Today\n")

    reply = await asker.done("export_file", path="notes/오늘.md", displayName="보고서", description="Figures of <May>")

    id = Path(reply.data["path"]).name.partition("_")[0]
    digest = hashlib.sha256(b"# Today\n").hexdigest()
    assert reply.text == (
        "[export_file] File '보고서.md' was exported successfully.\n"
        "Description: Figures of <May>\n"
        f"It is at: {reply.data['path']}\n"
        f"Link: madang://exports/{id}/%EB%B3%B4%EA%B3%A0%EC%84%9C.md\n"
        "Size: 8 B (8 bytes)\n"
        "\n"
        "The export is done. Tell the person where the file is."
    )
    assert reply.data == {
        "name": "보고서.md",
        "path": reply.data["path"],
        "size": 8,
        "sha256": digest,
        "mimeType": "text/markdown",
        "uri": f"madang://exports/{id}/%EB%B3%B4%EA%B3%A0%EC%84%9C.md",
        "downloadUrl": "",
        "fileCount": 1,
        "files": [{"path": "notes/오늘.md", "size": 8}],
        "skippedCount": 0,
        "skipped": [],
        "next": "The export is done. Tell the person where the file is.",
    }
    assert Path(reply.data["path"]).read_bytes() == b"# Today\n"
    assert Path(reply.data["path"]).stat().st_mode & 0o777 == 0o600
    (link,) = reply.links
    assert (link.uri, link.name, link.mime_type, link.size) == (reply.data["uri"], "보고서.md", "text/markdown", 8)
    assert reply.pause is None
    assert reply.page
    assert "Figures of &lt;May&gt;" in reply.page.fragment
    assert digest in reply.page.fragment


async def test_the_words_are_those_of_the_seed_in_korean(asker: Asker) -> None:
    asker.keep_file("document.pdf")
    korean = asker.with_call(locale="ko")

    file = await korean.done("export_file", path="document.pdf")
    package = await korean.done("export_zip", files=["document.pdf"], packageName="자료")

    assert file.text.splitlines()[:2] == [
        "[export_file] 파일 'document.pdf'가 성공적으로 export되었습니다.",
        f"있는 곳: {file.data['path']}",
    ]
    assert package.text.startswith(
        "[export_zip] ZIP 패키지 '자료.zip'이 성공적으로 생성되었습니다. 1개 파일이 포함되어 있습니다.\n"
    )


async def test_without_pages_the_text_says_where_the_export_is_and_names_no_link(asker: Asker) -> None:
    asker.keep_file("a.txt", b"a")

    reply = await asker.with_call(pages="off").done("export_zip", files=["a.txt", "gone.txt"], packageName="all")

    assert reply.text == (
        "[export_zip] ZIP package 'all.zip' was created with 1 file(s).\n"
        f"It is at: {reply.data['path']}\n"
        f"Size: {reply.data['size']} B ({reply.data['size']} bytes)\n"
        "\n"
        "Files:\n"
        "  a.txt (1 B)\n"
        "\n"
        "Skipped, and not in the package (1):\n"
        "  gone.txt: there is no such file\n"
        "\n"
        "The export is done. Tell the person where it is, what the package holds and what was skipped."
    )


async def test_the_link_below_is_an_address_that_a_browser_opens(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    with folders.of(CALL) as session:
        session.files.write("a.txt", [b"a"])
    export = await Exports(folders).export_file(CALL, "a.txt", "")

    result = views.exported(export, "", "http://127.0.0.1:1/exports/key/a.txt")
    korean = reply("workspace", "export_file", replace(CALL, locale="ko", pages="off"), result)

    assert [str(line) for line in result.text[:2]] == [
        "File 'a.txt' was exported successfully. It can be downloaded from the link below.",
        "Download (for an hour): http://127.0.0.1:1/exports/key/a.txt",
    ]
    assert "성공적으로 export되었습니다. 아래 링크에서 다운로드할 수 있습니다.\n" in korean.text
    assert str(export.path) not in korean.text


@pytest.mark.parametrize(
    ("pages", "told"),
    [
        ("linked", "The export is done. Tell the person that they can save the file from the card."),
        ("off", "The export is done. Tell the person where the file is."),
    ],
)
async def test_the_card_is_named_only_where_it_is_shown_and_can_save(
    tmp_path: Path, pages: PageMode, told: str
) -> None:
    folders = Folders(tmp_path)
    with folders.of(CALL) as session:
        session.files.write("a.txt", [b"a"])
    export = await Exports(folders).export_file(CALL, "a.txt", "")
    call = replace(CALL, pages=pages)

    served = reply("workspace", "export_file", call, views.exported(export, "", "http://127.0.0.1:1/exports/key/a.txt"))
    alone = reply("workspace", "export_file", call, views.exported(export, "", ""))

    assert served.text.splitlines()[-1] == told
    assert alone.text.splitlines()[-1] == "The export is done. Tell the person where the file is."


async def test_an_export_stays_as_it_was(asker: Asker) -> None:
    asker.keep_file("a.txt", b"before")
    reply = await asker.done("export_file", path="a.txt")

    asker.keep_file("a.txt", b"after")
    again = await asker.done("export_file", path="a.txt")

    assert Path(reply.data["path"]).read_bytes() == b"before"
    assert Path(again.data["path"]).read_bytes() == b"after"


async def test_a_package_holds_files_and_everything_below_folders(asker: Asker) -> None:
    asker.keep_file("a.txt", b"a")
    asker.keep_file("그림/하나.png", b"12")
    asker.keep_file("그림/deep/down/둘.png", b"345")
    asker.keep_file("other.txt", b"not wanted")

    reply = await asker.done("export_zip", files=["그림", "./a.txt"], packageName="자료 2026.zip")

    assert contents_of(reply) == {"그림/deep/down/둘.png": 3, "그림/하나.png": 2, "a.txt": 1}
    assert "ZIP package '자료 2026.zip' was created with 3 file(s)." in reply.text
    assert "  그림/하나.png (2 B)\n" in reply.text
    with archive_of(reply) as archive:
        assert archive.read("그림/하나.png") == b"12"
        assert all(info.flag_bits & 0x800 for info in archive.infolist() if not info.filename.isascii())


async def test_the_whole_workspace_is_a_dot(asker: Asker) -> None:
    asker.keep_file("a.txt", b"a")
    asker.keep_file("b/c.txt", b"c")
    first = await asker.done("export_zip", files=["."])

    again = await asker.done("export_zip", files=["."])

    assert contents_of(again) == contents_of(first) == {"a.txt": 1, "b/c.txt": 1}


async def test_what_is_named_twice_is_packed_once(asker: Asker) -> None:
    asker.keep_file("b/c.txt", b"c")

    reply = await asker.done("export_zip", files=["b", "b/c.txt", "./b//c.txt", "b", "gone", "gone"])

    assert contents_of(reply) == {"b/c.txt": 1}
    assert reasons_of(reply) == {"gone": "missing"}


async def test_a_missing_file_is_named(asker: Asker) -> None:
    asker.keep_file("a.txt", b"a")

    reply = await asker.done("export_zip", files=["a.txt", "gone.txt", "a.txt/below"])

    assert contents_of(reply) == {"a.txt": 1}
    assert reasons_of(reply) == {"gone.txt": "missing", "a.txt/below": "missing"}
    assert "Skipped, and not in the package (2):\n  gone.txt: there is no such file\n" in reply.text
    assert reply.page
    assert "gone.txt" in reply.page.fragment


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (["gone.txt", "also gone"], "not_found"),
        (["empty"], "not_found"),
        (["link"], "not_regular"),
        (["."], "not_regular"),
    ],
)
async def test_with_nothing_left_there_is_an_error_and_no_package(asker: Asker, files: list[str], code: str) -> None:
    (workspace(asker) / "empty").mkdir()
    (workspace(asker) / "link").symlink_to("/etc/hostname")

    reply = await asker.ask("export_zip", files=files)

    assert reply.error_code == code
    assert left_behind(asker.folders) == []


@pytest.mark.parametrize("tool", ["export_file", "export_zip"])
async def test_a_path_out_of_the_workspace_makes_nothing(asker: Asker, tool: str) -> None:
    asker.keep_file("a.txt")
    for path in ("../a", "/etc/passwd", "~/x", "a/../../b", "%2e%2e/x", "..\\x", "x" * 3999):
        arguments: dict[str, Any] = {"path": path} if tool == "export_file" else {"files": ["a.txt", path]}

        reply = await asker.ask(tool, **arguments)

        assert reply.error_code == "invalid_path", path
    assert left_behind(asker.folders) == []


async def test_a_folder_is_not_exported_as_a_file(asker: Asker) -> None:
    asker.keep_file("b/c.txt")

    reply = await asker.ask("export_file", path="b")

    assert reply.error_code == "not_regular"


async def test_times_before_and_after_those_of_archives_are_moved_into_them(asker: Asker) -> None:
    for name, year in (("old", 1970), ("new", 2500), ("usual", 2024)):
        asker.keep_file(name, b"x")
        at = datetime(year, 6, 1, 12, tzinfo=UTC).timestamp()
        os.utime(workspace(asker) / name, (at, at))

    reply = await asker.done("export_zip", files=["old", "new", "usual"])

    with archive_of(reply) as archive:
        assert [info.date_time[0] for info in archive.infolist()] == [1980, 2107, 2024]


async def test_two_spellings_of_one_name_do_not_become_two_files(asker: Asker) -> None:
    folder = workspace(asker)
    (folder / "각.txt").write_bytes(b"composed")
    (folder / "\u1100\u1161\u11a8.txt").write_bytes(b"in parts")

    reply = await asker.done("export_zip", files=["."])

    assert len(contents_of(reply)) == 1
    assert list(reasons_of(reply).values()) == ["duplicate"]


async def test_names_that_other_systems_read_as_paths_are_left_out(asker: Asker) -> None:
    folder = workspace(asker)
    (folder / "good.txt").write_bytes(b"x")
    (folder / "..\\evil.txt").write_bytes(b"x")
    (folder / "C:evil.txt").write_bytes(b"x")
    (folder / "line\nbreak").write_bytes(b"x")
    Path(os.fsdecode(os.fsencode(folder) + b"/not-unicode-\xff")).write_bytes(b"x")

    reply = await asker.done("export_zip", files=["."])

    assert contents_of(reply) == {"good.txt": 1}
    assert reply.data["skippedCount"] == 4
    assert {reasons_of(reply)["..\\evil.txt"], reasons_of(reply)["C:evil.txt"]} == {"name"}


async def test_a_tree_that_is_too_deep_says_what_is_missing(asker: Asker) -> None:
    asker.keep_file("top.txt", b"x")
    deep = "/".join(["d"] * 70)
    asker.keep_file(f"{deep}/bottom.txt", b"x")

    reply = await asker.done("export_zip", files=["."])

    assert contents_of(reply) == {"top.txt": 1}
    assert reasons_of(reply) == {"/".join(["d"] * 64): "too_deep"}


@pytest.mark.slow
async def test_more_files_than_fit_the_old_format_are_packed(tmp_path: Path) -> None:
    """65,536 names need ZIP64. Straight to the engine: a reply would draw all of them."""
    folders = Folders(tmp_path)
    with folders.of(CALL) as session:
        for number in range(65_600):
            (session.path / "files" / f"{number}").touch()

    export = await Exports(folders).export_zip(CALL, ["."], "")

    with zipfile.ZipFile(export.path) as archive:
        assert len(archive.namelist()) == export.file_count == 65_600
        assert [file.path for file in export.files] == archive.namelist()[:5_000]


class Held:
    """Parts of a file that come when the test says so."""

    def __init__(self) -> None:
        self.first_is_taken = threading.Event()
        self.go_on = threading.Event()

    def chunks(self, file: object) -> Iterator[bytes]:
        yield b"first"
        self.first_is_taken.set()
        assert self.go_on.wait(60)
        yield b"second"


async def test_a_cancelled_export_stops_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders, held = Folders(tmp_path), Held()
    with folders.of(CALL) as session:
        session.files.write("a.txt", [b"x"])
    monkeypatch.setattr(engine, "_chunks", held.chunks)
    exporting = asyncio.create_task(Exports(folders).export_file(CALL, "a.txt", ""))

    with fail_after(60):
        await asyncio.to_thread(held.first_is_taken.wait)
        assert len(left_behind(folders)) == 1, "the draft"
        exporting.cancel()
        await asyncio.sleep(0)
        held.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await exporting

    assert left_behind(folders) == []


async def test_exports_are_listed_and_read_as_resources_of_their_own_session(asker: Asker) -> None:
    asker.keep_file("a.bin", bytes(range(256)))
    first = await asker.done("export_file", path="a.bin")
    second = await asker.done("export_zip", files=["a.bin"])
    other = asker.with_call(session_id=SessionId("other"))

    listed = await asker.provider.list_resources(asker.call)
    read = await asker.provider.read_resource(asker.call, first.data["uri"])

    uris = [resource.uri for resource in listed.resources if resource.uri.startswith("madang://exports/")]
    assert uris == [second.data["uri"], first.data["uri"]]
    assert read
    assert (read.body, read.size, read.name) == (bytes(range(256)), 256, "a.bin")
    assert (await other.provider.list_resources(other.call)).resources == []
    assert await other.provider.read_resource(other.call, first.data["uri"]) is None
    for uri in ("madang://exports/nothing", first.data["uri"] + "/x", "madang://exports/../a.bin"):
        assert await asker.provider.read_resource(asker.call, uri) is None


async def test_lists_of_exports_are_paged(asker: Asker) -> None:
    asker.keep_file("a.txt")
    for _ in range(60):
        await asker.done("export_file", path="a.txt")

    first = await asker.provider.list_resources(asker.call)
    second = await asker.provider.list_resources(asker.call, first.after)

    assert (len(first.resources), len(second.resources), second.after) == (50, 10, "")
    assert len({resource.uri for resource in [*first.resources, *second.resources]}) == 60


async def test_a_new_export_is_told_to_whoever_watches(asker: Asker) -> None:
    asker.keep_file("a.txt")
    changes = asker.provider.watch_resources(asker.call)
    with fail_after(60):
        await anext(changes)

        await asker.done("export_file", path="a.txt")

        await anext(changes)
    await changes.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_an_export_that_is_too_large_to_read_says_where_it_is(asker: Asker) -> None:
    with (workspace(asker) / "large.bin").open("wb") as large:
        large.truncate(16 * 1024 * 1024 + 1)
    reply = await asker.done("export_file", path="large.bin")

    with pytest.raises(LimitExceeded, match=r"'large.bin' has 16\.0 MB; a resource is read up to 16\.0 MB"):
        await asker.provider.read_resource(asker.call, reply.data["uri"])

    assert reply.page
    assert "data-download" not in reply.page.fragment


@pytest.mark.parametrize("tool", ["export_file", "export_zip"])
async def test_what_is_too_large_is_refused_before_it_is_copied(asker: Asker, tool: str) -> None:
    asker.keep_file("a.txt", b"x")
    with (workspace(asker) / "large.bin").open("wb") as large:
        large.truncate(4 * 1024**3)
    with (workspace(asker) / "larger.bin").open("wb") as larger:
        larger.truncate(10 * 1024**3)
    arguments: dict[str, Any] = {"path": "larger.bin"} if tool == "export_file" else {"files": ["a.txt", "large.bin"]}

    reply = await asker.ask(tool, **arguments)

    assert reply.error_code == "limit_exceeded"
    assert left_behind(asker.folders) == []


async def test_an_empty_file_is_a_file(asker: Asker) -> None:
    asker.keep_file("empty.txt")

    file = await asker.done("export_file", path="empty.txt")
    package = await asker.done("export_zip", files=["empty.txt"])

    assert (file.data["size"], file.data["sha256"]) == (0, hashlib.sha256().hexdigest())
    assert contents_of(package) == {"empty.txt": 0}
    assert hashlib.sha256(Path(package.data["path"]).read_bytes()).hexdigest() == package.data["sha256"]
    assert Path(package.data["path"]).stat().st_size == package.data["size"]
