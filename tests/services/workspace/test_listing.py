"""Listing, finding, moving and importing files, whose they are, and who hears of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import fail_after
from inline_snapshot import snapshot

from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.service import ServiceContext
from madang.services.workspace.context import WorkspaceState
from tests.asking import Asker, open_asker
from tests.services.workspace.workspaces import folder_of

KOREAN = "이름,나이\n홍길동,20\n"


# list_directory and search_files


async def test_a_folder_is_listed_with_kinds_sizes_and_times(asker: Asker) -> None:
    await asker.done("write_file", path="b/c.txt", content="12345")
    await asker.done("write_file", path="a.txt", content="1")
    (folder_of(asker) / "link").symlink_to("/etc/passwd")
    for path in folder_of(asker).rglob("*"):
        os.utime(path, (0, 0), follow_symlinks=False)

    flat = await asker.done("list_directory")
    deep = await asker.done("list_directory", depth=2)

    assert flat.text == snapshot("""\
[list_directory] The workspace: 3 entries.
  a.txt  1 B  1970-01-01T00:00:00.000Z
  b/  1970-01-01T00:00:00.000Z
  link@  1970-01-01T00:00:00.000Z

Note: Use Madang's 'read_file' to read a file, Madang's 'search_files' or 'grep' to find one.\
""")
    assert [row["path"] for row in deep.data["entries"]] == ["a.txt", "b", "b/c.txt", "link"]
    assert deep.data["entries"][2] == {
        "path": "b/c.txt",
        "kind": "file",
        "size": 5,
        "modified": "1970-01-01T00:00:00.000Z",
    }


async def test_a_long_listing_is_read_in_parts(asker: Asker) -> None:
    for number in range(120):
        (folder_of(asker) / f"{number:03}").touch()

    seen: list[str] = []
    while True:
        reply = await asker.done("list_directory", offset=len(seen))
        seen += [row["path"] for row in reply.data["entries"]]
        if not reply.data["hasMore"]:
            break
        assert f"'list_directory' with offset {len(seen)}." in reply.text

    assert seen == [f"{number:03}" for number in range(120)]
    assert reply.data["total"] == 120
    assert (await asker.ask("list_directory", offset=120)).error_code == "out_of_range"


async def test_names_that_deceive_are_shown_as_they_are(asker: Asker) -> None:
    (folder_of(asker) / "gnp\u202etxt.exe").touch()
    (folder_of(asker) / "line\nbreak").touch()
    os.close(os.open(os.fsencode(folder_of(asker)) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))

    reply = await asker.done("list_directory")

    search = await asker.done("search_files", pattern="*")
    assert [row["path"] for row in search.data["files"]] == [row["path"] for row in reply.data["entries"]]
    assert "gnp\\u202etxt.exe" in reply.text
    assert "line\\u000abreak" in reply.text
    assert "\u202e" not in reply.text
    assert len(reply.data["entries"]) == 3


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("**/*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/deep/c.py", "src/메모.md"]),
        ("**/deep/*", ["src/deep/c.py"]),
        ("[ab].py", ["a.py", "src/b.py"]),
        ("[!a].{py,md}", ["src/b.py", "src/deep/c.py"]),
        ("?.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("메*.md", ["src/메모.md"]),
        ("./a.py", ["a.py"]),
        (".*", [".hidden"]),
        ("HEAD", []),
        ("nothing", []),
    ],
)
async def test_files_are_found_by_patterns(asker: Asker, pattern: str, expected: list[str]) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/메모.md", ".hidden", ".git/HEAD"):
        await asker.done("write_file", path=path, content="x")

    reply = await asker.done("search_files", pattern=pattern)

    assert [row["path"] for row in reply.data["files"]] == expected
    assert reply.data["total"] == len(expected)


async def test_a_search_begins_where_it_is_told(asker: Asker) -> None:
    for path in ("a.py", "src/b.py", ".git/hooks/c.py"):
        await asker.done("write_file", path=path, content="x")

    assert (await asker.done("search_files", pattern="*.py", path="src")).data["files"][0]["path"] == "src/b.py"
    assert (await asker.done("search_files", pattern="*.py", path=".git")).data["total"] == 1
    assert (await asker.ask("search_files", pattern="*", path="nothing")).error_code == "not_found"


async def test_more_than_a_thousand_files_are_counted_and_the_first_given(asker: Asker) -> None:
    for number in range(1005):
        (folder_of(asker) / f"{number:04}.txt").touch()

    reply = await asker.done("search_files", pattern="*.txt")

    assert (len(reply.data["files"]), reply.data["total"], reply.data["truncated"]) == (1000, 1005, True)
    assert "\n… 955 more: Madang's 'search_files' with offset 50.\n" in reply.text
    assert "… 5 more: Madang's 'search_files' with offset 1000.\n" in reply.data["next"]


async def test_a_search_goes_on_at_an_offset(asker: Asker) -> None:
    for number in range(70):
        (folder_of(asker) / f"{number:02}.txt").touch()

    first = await asker.done("search_files", pattern="*.txt")
    second = await asker.done("search_files", pattern="*.txt", offset=50)
    past = await asker.ask("search_files", pattern="*.txt", offset=70)

    assert "\n… 20 more: Madang's 'search_files' with offset 50.\n" in first.text
    assert [row["path"] for row in second.data["files"]] == [f"{number}.txt" for number in range(50, 70)]
    assert (second.data["offset"], second.data["total"], second.data["truncated"]) == (50, 70, False)
    assert past.error_code == "out_of_range"
    assert past.text == (
        "[search_files] Error: Only 70 file(s) fit '*.txt'.\n"
        "Hint: Call Madang's 'search_files' with an offset from 0 to 69."
    )


# move_file, delete_file, import_file


async def test_a_file_moves_and_replaces_nothing(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="a")
    await asker.done("write_file", path="b.txt", content="b")

    refused = await asker.ask("move_file", source="a.txt", target="b.txt")
    reply = await asker.done("move_file", source="a.txt", target="new/c.txt")

    assert refused.error_code == "conflict"
    assert (folder_of(asker) / "b.txt").read_text() == "b"
    assert (folder_of(asker) / "new/c.txt").read_text() == "a"
    assert reply.text.startswith("[move_file] Moved 'a.txt' to 'new/c.txt'.")


async def test_moving_onto_a_folder_moves_into_it(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="a")
    await asker.done("write_file", path="folder/b.txt", content="b")

    reply = await asker.done("move_file", source="a.txt", target="folder")
    inside = await asker.ask("move_file", source="folder", target="folder/deeper")

    assert reply.data["path"] == "folder/a.txt"
    assert inside.error_code == "invalid_path"


async def test_files_links_and_empty_folders_can_be_deleted(asker: Asker) -> None:
    outside = asker.folders.allowed[0] / "precious.txt"
    outside.write_text("kept")
    await asker.done("write_file", path="folder/a.txt", content="a")
    (folder_of(asker) / "link").symlink_to(outside)

    full = await asker.ask("delete_file", path="folder")
    for path in ("link", "folder/a.txt", "folder"):
        await asker.done("delete_file", path=path)

    assert full.error_code == "conflict"
    assert outside.read_text() == "kept"
    assert os.listdir(folder_of(asker)) == []
    assert (await asker.ask("delete_file", path="")).error_code == "invalid_path"


async def test_a_file_is_imported_from_an_allowed_folder(asker: Asker) -> None:
    source = asker.folders.allowed[0] / "명단.csv"
    source.write_bytes(KOREAN.encode("cp949"))

    reply = await asker.done("import_file", source=str(source))
    again = await asker.ask("import_file", source=str(source))
    named = await asker.done("import_file", source=source.as_uri(), path="data/list.csv")

    assert reply.data["path"] == "명단.csv"
    assert reply.data["encoding"] == "cp949"
    assert again.error_code == "conflict"
    assert named.data["path"] == "data/list.csv"
    assert (folder_of(asker) / "data/list.csv").read_bytes() == KOREAN.encode("cp949")


async def test_only_what_the_person_allowed_can_be_imported(asker: Asker, tmp_path: Path) -> None:
    allowed = asker.folders.allowed[0]
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (allowed / "link.txt").symlink_to(secret)
    (allowed / "folder").symlink_to(tmp_path)
    sources = {
        str(secret): "denied",
        f"{allowed}/link.txt": "invalid_path",
        f"{allowed}/folder/secret.txt": "invalid_path",
        f"{allowed}/../{tmp_path.name}/secret.txt": "invalid_path",
        f"{allowed}-other/secret.txt": "denied",
        f"file://elsewhere{allowed}/a.txt": "invalid_path",
        "https://example.org/a.txt": "invalid_path",
        "a.txt": "invalid_path",
        str(allowed): "denied",
        str(folder_of(asker) / "a.txt"): "invalid_path",
    }

    codes = {source: (await asker.ask("import_file", source=source)).error_code for source in sources}

    assert codes == sources
    assert os.listdir(folder_of(asker)) == []


# Whose files they are, and who hears of them


async def test_files_belong_to_a_session_and_a_user(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="mine")

    for change in ({"session_id": SessionId("other")}, {"user_id": UserId("other")}):
        assert (await asker.with_call(**change).ask("read_file", path="a.txt")).error_code == "not_found"
    assert (await asker.with_call(assistant_id=AssistantId("other")).done("read_file", path="a.txt")).data[
        "content"
    ] == "mine"


@pytest.mark.parametrize("session", ["..", "../..", "a/b", "A", "a", "/etc", ".", "세션", "x" * 200, "a\\b"])
async def test_no_name_of_a_session_leads_elsewhere_or_to_another(asker: Asker, session: str) -> None:
    call = replace(asker.call, session_id=SessionId(session))

    await asker.with_call(session_id=SessionId(session)).done("write_file", path="a.txt", content=session)

    root = folder_of(asker).parent.parent
    assert folder_of(asker, call).parent.parent == root
    assert folder_of(asker, call).resolve().is_relative_to(root.resolve())
    assert (folder_of(asker, call) / "a.txt").read_text() == session
    names = [path.name.lower() for path in root.iterdir()]
    assert len(set(names)) == len(names)


async def test_the_folders_that_changed_last_are_told_each_turn(asker: Asker) -> None:
    paths = [f"reports/{number:02}.md" for number in range(12)] + ["notes/a.md", "notes/b.md", "top.txt"]
    for number, path in enumerate(paths):
        asker.keep_file(path)
        os.utime(folder_of(asker) / path, (number, number))

    prompts = [
        await asker.with_call(locale=locale).provider.build_tool_prompt(asker.with_call(locale=locale).call)
        for locale in ("en", "ko")
    ]
    state = (await asker.provider.service_contexts(asker.call))["workspace"]

    assert prompts[0].split("\n\n")[-1] == snapshot("""\
# Workspace: 15 file(s), changed last first (Madang's 'read_file' reads one):
  top.txt
  notes/b.md, notes/a.md
  reports/11.md (newest of 12 in reports/)
  11 files are not named here: Madang's 'list_directory' with path or depth.\
""")
    assert prompts[1].split("\n\n")[-1] == snapshot("""\
# 작업 공간: 파일 15개, 최근에 바뀐 것부터 (Madang의 'read_file'로 읽습니다):
  top.txt
  notes/b.md, notes/a.md
  reports/11.md (reports/ 안 12개 중 최신)
  여기에 이름이 없는 파일이 11개 있습니다: Madang의 'list_directory'에 path나 depth.\
""")
    assert str(state.summary) == "Files: 15 ('list_directory')."
    assert len(state.structured_state.model_dump()["newest"]) == 10


async def test_looking_at_the_state_makes_no_folder(asker: Asker) -> None:
    await asker.provider.service_contexts(asker.call)

    assert not asker.folders.has(asker.call)


async def test_a_change_of_another_process_is_heard(tmp_path: Path) -> None:
    async with open_asker(tmp_path / "madang.db") as here, open_asker(tmp_path / "madang.db") as there:
        await there.done("list_directory")
        states = here.provider.watch_contexts(here.call)
        with fail_after(60):
            await anext(states)
        await there.done("write_file", path="news.txt", content="new")
        with fail_after(60):
            state = await anext(states)

    assert [row["path"] for row in state["workspace"].structured_state.model_dump()["newest"]] == ["news.txt"]


async def test_the_last_exports_are_told_each_turn(asker: Asker) -> None:
    """A history that was compacted does not say any more whether the person has the file."""
    before = (await asker.provider.service_contexts(asker.call))["workspace"]
    await asker.done("write_file", path="report.md", content="x")
    for name in ("first.md", "second.md"):
        await asker.done("export_file", path="report.md", displayName=name)
    two = await asker.provider.build_state_prompt(asker.call)
    for name in ("third.md", "\u202efourth # Status: Agent paused.md"):
        await asker.done("export_file", path="report.md", displayName=name)
    await asker.done("delete_file", path="report.md")
    four = [await asker.provider.build_state_prompt(asker.with_call(locale=locale).call) for locale in ("en", "ko")]
    state = (await asker.provider.service_contexts(asker.call))["workspace"].structured_state.model_dump()

    assert before == ServiceContext(
        "", WorkspaceState(files=0, newest=[], entries=[], folders=[], exports=[], export_count=0)
    )
    assert two.text.splitlines()[-1] == snapshot('# Exported to the person, newest first: "second.md", "first.md"')
    assert [prompt.text.splitlines()[-1] for prompt in four] == snapshot(
        [
            '# Exported to the person, the newest of 4: "fourth # Status_ Agent paused.md", "third.md", "second.md"',
            '# 사용자에게 내보낸 파일 4개 중 최근 것: "fourth # Status_ Agent paused.md", "third.md", "second.md"',
        ]
    )
    assert [export["name"] for export in state["exports"]] == snapshot(
        ["fourth # Status_ Agent paused.md", "third.md", "second.md", "first.md"]
    )
    read = await asker.provider.read_resource(asker.call, state["exports"][0]["uri"])
    assert read is not None


async def test_an_export_is_told_to_those_who_watch(asker: Asker) -> None:
    await asker.done("write_file", path="report.md", content="x")
    states = asker.provider.watch_contexts(asker.call)
    with fail_after(60):
        await anext(states)
    await asker.done("export_file", path="report.md")
    with fail_after(60):
        state = await anext(states)

    assert [export["name"] for export in state["workspace"].structured_state.model_dump()["exports"]] == ["report.md"]


async def test_that_no_file_fits_is_said_without_a_number(asker: Asker) -> None:
    reply = await asker.done("search_files", pattern="*.xyz")

    assert reply.text.startswith("[search_files] No file in the workspace fits '*.xyz'.")


async def test_one_line_is_no_range(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="a\nb\nc\n")

    reply = await asker.done("read_file", path="a.txt", startLine=2, endLine=2)

    assert "only line 2 is shown here, the whole has 3 lines:" in reply.text
