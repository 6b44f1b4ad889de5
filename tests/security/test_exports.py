"""Exports of hostile workspaces (T10), and hostile files on their way to a browser (T15)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import sync_playwright

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.results import Reply
from madang.files.folders import Folders
from tests.asking import Asker, open_asker
from tests.browser.embedding import installed_browser
from tests.security.served import TOKEN, Answer, Served, serve

CANARY = b"the secret that must not leave its folder"


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with open_asker() as asker:
        yield asker


@pytest.fixture
def workspace(asker: Asker) -> Path:
    with asker.folders.of(asker.call) as session:
        return session.path / "files"


def packed(reply: Reply) -> dict[str, bytes]:
    """Return what is in an archive, after two programs found it whole and the manifest was found to be true."""
    path = Path(reply.data["path"])
    subprocess.run(["unzip", "-tqq", path], check=True, stdout=subprocess.DEVNULL)
    with zipfile.ZipFile(path) as archive:
        contents = {info.filename: archive.read(info) for info in archive.infolist()}
    assert reply.data["files"] == [{"path": name, "size": len(data)} for name, data in contents.items()]
    assert reply.data["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert reply.data["size"] == path.stat().st_size
    return contents


@pytest.mark.parametrize("name", ["a", "notes.txt"])
async def test_t10_a_file_that_is_named_many_times_is_packed_once(asker: Asker, workspace: Path, name: str) -> None:
    (workspace / name).write_bytes(b"own")

    reply = await asker.done("export_zip", files=[name, name, f"./{name}", "."])

    assert packed(reply) == {name: b"own"}
    assert (reply.data["fileCount"], reply.data["skipped"]) == (1, [])


async def test_t10_links_are_named_and_neither_followed_nor_packed(
    asker: Asker, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_bytes(CANARY)
    (workspace / "own.txt").write_bytes(b"own")
    (workspace / "file").symlink_to(tmp_path / "secrets" / "key")
    (workspace / "folder").symlink_to(tmp_path / "secrets")
    (workspace / "dangling").symlink_to(tmp_path / "nothing")
    (workspace / "loop").symlink_to("loop")
    (workspace / "inside").symlink_to("own.txt")
    (workspace / "exports").symlink_to(workspace.parent / "exports")
    (workspace / "root").symlink_to("/")
    os.mkfifo(workspace / "pipe")
    links = ["file", "folder", "dangling", "loop", "inside", "exports", "root"]

    whole = await asker.done("export_zip", files=["."])
    named = await asker.done("export_zip", files=["own.txt", *links, "folder/key", "root/etc/passwd", "pipe"])

    assert packed(whole) == packed(named) == {"own.txt": b"own"}
    for reply, more in ((whole, []), (named, ["folder/key", "root/etc/passwd"])):
        reasons = {file["path"]: file["reason"] for file in reply.data["skipped"]}
        assert reasons == {**dict.fromkeys([*links, *more], "link"), "pipe": "not_regular"}
        assert all(f"  {name}: it is or leads through a symbolic link" in reply.text for name in links)
    for name in [*links, "folder/key", "root/etc/passwd", "pipe"]:
        assert (await asker.ask("export_file", path=name)).error_code in ("invalid_path", "not_regular"), name


async def test_t10_a_package_never_holds_a_package(asker: Asker, workspace: Path) -> None:
    (workspace / "own.txt").write_bytes(b"own")

    for _ in range(3):
        reply = await asker.done("export_zip", files=["."], packageName="own")

        assert packed(reply) == {"own.txt": b"own"}


async def test_t10_files_that_grow_and_shrink_are_packed_as_the_manifest_says(asker: Asker, workspace: Path) -> None:
    for name in ("grows", "shrinks"):
        (workspace / name).write_bytes(b"x" * 3_000_000)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            with (workspace / "grows").open("ab") as file:
                file.write(b"y" * 4096 if file.tell() < 6_000_000 else b"")
            for size in (0, 2_000_000):
                os.truncate(workspace / "shrinks", size)

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(15):
            contents = packed(await asker.done("export_zip", files=["."]))

            assert set(contents) == {"grows", "shrinks"}
            assert contents["grows"].startswith(b"x" * 3_000_000)
            copy = await asker.done("export_file", path="grows")
            assert copy.data["sha256"] == hashlib.sha256(Path(copy.data["path"]).read_bytes()).hexdigest()
            assert copy.data["size"] == Path(copy.data["path"]).stat().st_size
    finally:
        stop.set()
        changing.join()


async def test_t10_swapping_a_file_for_a_link_while_it_is_packed_leads_nowhere(
    asker: Asker, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "a.txt").write_bytes(CANARY)
    (workspace / "own.txt").write_bytes(b"own")
    (workspace / "folder").mkdir()
    (workspace / "folder" / "a.txt").write_bytes(b"good")
    (workspace.parent / "link").symlink_to(tmp_path / "secrets")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for source, target in (("folder", "aside"), ("link", "folder"), ("folder", "link"), ("aside", "folder")):
                old = workspace.parent / source if source in ("link", "aside") else workspace / source
                new = workspace.parent / target if target in ("link", "aside") else workspace / target
                os.rename(old, new)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(60):
            contents = packed(await asker.done("export_zip", files=["own.txt", "folder", "folder/a.txt"]))
            assert contents in ({"own.txt": b"own"}, {"own.txt": b"own", "folder/a.txt": b"good"})
            reply = await asker.ask("export_file", path="folder/a.txt")
            assert reply.is_error or Path(reply.data["path"]).read_bytes() == b"good"
    finally:
        stop.set()
        swapping.join()


# T15: the way to a browser


HTML = b"<!doctype html><script>window.__pwned = 1; fetch('/mcp')</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.__pwned = 1'><script>alert(1)</script></svg>"
HOSTILE = [
    ("HTML named .png", "picture.png", "", HTML),
    ("HTML", "page.html", "", HTML),
    ("SVG with script", "chart.svg", "", SVG),
    ("quotes", "a.txt", 'a"; filename="evil.html', b"x"),
    ("CRLF", "a.txt", "a.txt\r\nSet-Cookie: stolen=1\r\n\r\n<script>", b"x"),
    ("한글", "월간 보고서.pdf", "", b"%PDF-1.7"),
    ("right to left", "a.txt", "photo\u202egnp.exe", b"MZ"),
    ("percent", "a.txt", "100%0d%0aX: y", b"x"),
    ("long", "a.txt", "가" * 500, b"x"),
    ("emoji and backslash", "a.txt", "👍\\'`;.txt", b"x"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("served")) as served:
        yield served


def exported(served: Served, path: str, content: bytes, **arguments: Any) -> dict[str, Any]:
    call = Call(AssistantId("default"), SessionId("default"))
    with Folders(served.data_dir / "workspaces").of(call) as session:
        session.files.write(path, [content])
    answer = served.call(served.session(), "export_file", {"path": path, **arguments}).message()
    data: dict[str, Any] = answer["result"]["structuredContent"]
    return data


def fetched(served: Served, url: str, method: str = "GET", **headers: str) -> Answer:
    """Ask as a browser does: without the token."""
    given = {"host": served.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return served.request(method, urlsplit(url).path, headers=list(given.items()))


def assert_is_only_to_be_saved(answer: Answer) -> None:
    headers = answer.headers
    assert headers["content-disposition"].startswith('attachment; filename="')
    assert headers["content-disposition"].isascii()
    assert headers["content-type"] == "application/octet-stream"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert not {"set-cookie", "x", "access-control-allow-origin"} & set(headers)


@pytest.mark.parametrize(("path", "name", "content"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_t15_a_hostile_file_is_an_attachment_and_no_header_is_split(
    served: Served, path: str, name: str, content: bytes
) -> None:
    data = exported(served, path, content, **({"displayName": name} if name else {}))

    answer = fetched(served, data["downloadUrl"])
    head = fetched(served, data["downloadUrl"], "HEAD")

    assert (answer.status, answer.body) == (200, content)
    assert answer.headers["content-length"] == str(len(content))
    assert_is_only_to_be_saved(answer)
    plain, _, encoded = answer.headers["content-disposition"].partition("; filename*=UTF-8''")
    assert encoded == quote(data["name"], safe="")
    assert plain.count('"') == 2
    assert "\\" not in plain
    # A status of 200 without a body: the length is told and nothing comes.
    assert (head.status, head.body) == (200, b"")
    assert {**head.headers, "date": ""} == {**answer.headers, "date": ""}


def test_t15_only_the_address_opens_a_file_and_only_that_file(served: Served) -> None:
    data = exported(served, "a.txt", b"mine")
    url = data["downloadUrl"]
    key = urlsplit(url).path.split("/")[2]
    gone = fetched(served, url.replace(key, "x" * len(key)))

    assert len(key) >= 43
    assert gone.status == 404
    assert data["path"].rsplit("/", 1)[-1].partition("_")[0] not in url, "the id of the resource is no key"
    for target in (f"/exports/{key}", f"/exports/{key}/", "/exports/", f"/exports/{key}/../../madang.db",
                   f"/exports/{key}/a/b", f"/exports/{key[:-1]}/a.txt", f"/exports//{key}/a.txt"):  # fmt: skip
        answer = fetched(served, target)
        assert (answer.status, answer.body) == (404, gone.body), target
    assert fetched(served, f"/exports/{key}/any%20other%0d%0aname").body == b"mine"
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert fetched(served, url, method).status == 401, method


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"sec_fetch_site": "none", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}, 200),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}, 200),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"}, 403),
        ({"sec_fetch_site": "same-site", "sec_fetch_mode": "cors", "sec_fetch_dest": "empty"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.test"}, 421),
    ],
)
def test_t15_the_gate_stands_before_downloads_too(served: Served, headers: dict[str, str], status: int) -> None:
    url = exported(served, "a.txt", b"mine")["downloadUrl"]

    answer = fetched(served, url, **headers)

    assert answer.status == status
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_t15_a_large_file_is_streamed_whole(served: Served) -> None:
    content = os.urandom(1 << 20) * 20

    data = exported(served, "large.bin", content)

    assert hashlib.sha256(fetched(served, data["downloadUrl"]).body).hexdigest() == data["sha256"]


def test_t43_the_keys_of_downloads_are_written_down_nowhere(served: Served) -> None:
    key = urlsplit(exported(served, "a.txt", b"mine")["downloadUrl"]).path.split("/")[2]
    assert fetched(served, f"/exports/{key}/a.txt").status == 200
    assert TOKEN not in key

    hits = [path for path in served.data_dir.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]

    assert hits == []


def test_t15_chromium_saves_what_it_would_otherwise_run(served: Served, tmp_path: Path) -> None:
    """A link on another site, to HTML that is called a picture, with a Korean name."""
    data = exported(served, "그림.png", HTML)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=installed_browser(), chromium_sandbox=os.geteuid() != 0, args=["--disable-gpu"]
        )
        page = browser.new_page()
        page.route("http://host.example/", lambda route: route.fulfill(
            content_type="text/html; charset=utf-8", body=f'<a href="{data["downloadUrl"]}">get</a>'
        ))  # fmt: skip
        page.goto("http://host.example/")
        with page.expect_download(timeout=60_000) as downloading:
            page.get_by_text("get").click()
        downloading.value.save_as(tmp_path / "saved")
        name, url = downloading.value.suggested_filename, page.url
        browser.close()

    assert (tmp_path / "saved").read_bytes() == HTML
    assert (name, url) == ("그림.png", "http://host.example/")


@contextmanager
def _exporting(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "madang", "call", "export_zip", '{"files": ["."]}', "--data-dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def test_t55_an_export_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """Killed while it writes, ten times; the next one to use the folder sweeps what the dead have left."""
    folders = Folders(tmp_path / "workspaces")
    call = Call(AssistantId("default"), SessionId("default"))
    with folders.of(call) as session:
        path = session.path
    (path / "files" / "large.bin").write_bytes(os.urandom(128 << 20))
    left: dict[str, int] = {}
    for megabytes in range(10):
        with _exporting(tmp_path) as process:
            while not any(size > megabytes << 20 for name, size in _drafts(path).items() if name not in left):
                assert process.poll() is None, "it was done before it was killed"
        assert list((path / "exports").iterdir()) == []
        assert len(_drafts(path)) == 1, "what the killed one before it left was swept"
        left = _drafts(path)

    with Folders(tmp_path / "workspaces").of(call):
        assert _drafts(path) == {}


def _drafts(path: Path) -> dict[str, int]:
    sizes = {}
    for draft in (path / "temporary").glob("draft-*"):
        with suppress(FileNotFoundError):
            sizes[draft.name] = draft.stat().st_size
    return sizes


# Hard links, and names that deceive


async def test_a_hard_link_is_not_exported_and_that_is_said(asker: Asker, workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    asker.keep_file("a.txt", b"a")
    os.link(outside, workspace / "linked.txt")

    alone = await asker.ask("export_file", path="linked.txt")
    reply = await asker.done("export_zip", files=["."])

    assert alone.error_code == "not_regular"
    assert "hard link" in alone.text
    assert reply.data["skipped"] == [{"path": "linked.txt", "reason": "hard_link"}]
    assert "linked.txt: it is a hard link" in reply.text
    assert list(packed(reply)) == ["a.txt"]


async def test_names_in_a_package_look_like_what_they_are(asker: Asker) -> None:
    for name in ("rtl\u202egpj.exe", "ze\u200bro.txt", ".hidden/\u2066x", "이름.txt", "plain.txt", "Plain.TXT"):
        asker.keep_file(name, b"x")

    reply = await asker.done("export_zip", files=["."])

    names = {"rtlgpj.exe", "zero.txt", ".hidden/x", "이름.txt", "plain.txt", "Plain.TXT"}
    assert set(packed(reply)) == names
    assert "is packed as 'rtlgpj.exe'" in reply.text
    assert "differ by upper and lower case alone" in reply.text


async def test_two_names_that_look_the_same_do_not_replace_each_other(asker: Asker) -> None:
    asker.keep_file("a.txt", b"1")
    asker.keep_file("a\u200b.txt", b"2")

    reply = await asker.done("export_zip", files=["."])

    assert list(packed(reply)) == ["a.txt"]
    assert [file["reason"] for file in reply.data["skipped"]] == ["duplicate"]
