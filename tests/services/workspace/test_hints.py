"""What the workspace answers when a call was nearly right: the nearest name, and the call that would work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.asking import Asker, open_asker
from tests.services.workspace.workspaces import folder_of


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with open_asker() as asker:
        asker.keep_file("notes/todo.md", b"buy milk\ncall Kim\n\npay rent\n")
        yield asker


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {}),
        ("edit_file", {"edits": [{"oldText": "a", "newText": "b"}]}),
        ("list_directory", {}),
        ("search_files", {"pattern": "*"}),
        ("grep", {"pattern": "a"}),
        ("delete_file", {}),
        ("export_file", {}),
    ],
)
async def test_a_path_that_is_not_there_is_answered_with_the_nearest(
    asker: Asker, tool: str, arguments: dict[str, Any]
) -> None:
    reply = await asker.ask(tool, path="notes/todos.md", **arguments)

    unchanged = " Nothing was changed." if tool in ("edit_file", "delete_file") else ""
    assert reply.text == (
        f"[{tool}] Error: There is no 'notes/todos.md'; the nearest name is 'notes/todo.md'.{unchanged}\n"
        "Hint: Call Madang's 'list_directory' with path 'notes' to see what is there."
    )
    assert reply.error_code == "not_found"


async def test_the_nearest_path_is_told_in_korean(asker: Asker) -> None:
    reply = await asker.with_call(locale="ko").ask("read_file", path="notes/todos.md")

    assert reply.text == (
        "[read_file] 오류: 'notes/todos.md'가 없습니다. 가장 비슷한 이름은 'notes/todo.md'입니다.\n"
        "힌트: Madang의 'list_directory'에 path 'notes'를 주어 호출해 무엇이 있는지 보세요."
    )


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("note/todos.md", "notes/todo.md"),
        ("Notes/TODO.md", "notes/todo.md"),
        ("todo.md", "notes/todo.md"),
        ("elsewhere/deep/todo.md", "notes/todo.md"),
        ("nots", "notes"),
        ("nothing/like/it.txt", ""),
    ],
)
async def test_each_name_of_a_path_may_be_wrong(asker: Asker, path: str, nearest: str) -> None:
    reply = await asker.ask("move_file", source=path, target="moved.md")

    message = reply.data["error"]["message"].removesuffix(" Nothing was changed.")
    assert message == f"There is no '{path}'" + (f"; the nearest name is '{nearest}'." if nearest else ".")


async def test_no_name_outside_of_the_workspace_is_suggested(asker: Asker) -> None:
    (asker.folders.allowed[0] / "secret.txt").write_text("secret")
    (folder_of(asker) / "door").symlink_to(asker.folders.allowed[0])

    inside = await asker.ask("read_file", path="door/secrets.txt")
    outside = await asker.ask("import_file", source=str(asker.folders.allowed[0] / "secrets.txt"))

    assert "secret.txt" not in inside.text
    assert "secret.txt" not in outside.text
    assert outside.data["error"]["hint"] == (
        "Ask the person where the file is: folders outside of the workspace cannot be listed."
    )


async def test_a_file_that_is_there_may_be_overwritten_on_purpose(asker: Asker) -> None:
    reply = await asker.ask("write_file", path="notes/todo.md", content="x", mode="create")

    assert (reply.error_code, reply.data["error"]["hint"]) == (
        "conflict",
        "Call Madang's 'write_file' with mode 'overwrite' to replace it, or with another path to keep it.",
    )


async def test_an_edit_is_told_what_the_line_really_says(asker: Asker) -> None:
    edits = [{"oldText": "pay the rent", "newText": "pay rent and gas"}]

    english = await asker.ask("edit_file", path="notes/todo.md", edits=edits)
    korean = await asker.with_call(locale="ko").ask("edit_file", path="notes/todo.md", edits=edits)

    assert english.text == (
        "[edit_file] Error: The oldText of edit 1 of 1 is not in 'notes/todo.md'. "
        'Line 4 of the file really says: "pay rent" (80 % alike). Nothing was changed.\n'
        "Hint: Call Madang's 'edit_file' again with oldText exactly as the file has it."
    )
    assert '파일의 4번째 줄은 실제로 이렇습니다: "pay rent" (80 % 일치). 아무것도 바뀌지 않았습니다.\n' in korean.text


async def test_a_range_says_that_it_is_a_part_and_how_to_go_on(asker: Asker) -> None:
    english = await asker.done("read_file", path="notes/todo.md", startLine=2, endLine=3)
    korean = await asker.with_call(locale="ko").done("read_file", path="notes/todo.md", endLine=1)

    assert english.text == (
        "[read_file] 'notes/todo.md' (28 B, utf-8, line ends: lf): only lines 2 to 3 are shown here, "
        "the whole has 4 lines:\n"
        "     2\tcall Kim\n"
        "     3\t\n"
        "\n"
        "Not the whole file. 1 more line(s) after these: Madang's 'read_file' with path 'notes/todo.md', startLine 4."
    )
    assert korean.text.endswith("이 뒤로 3줄이 더 있습니다: Madang의 'read_file'에 path 'notes/todo.md', startLine 2.")


async def test_a_range_that_does_not_fit_goes_on_to_its_end(asker: Asker) -> None:
    asker.keep_file("long.txt", b"line\n" * 5_000)

    reply = await asker.done("read_file", path="long.txt", endLine=3_000)

    last = reply.data["endLine"]
    assert reply.data["next"] == (
        f"Not the whole file. {3_000 - last} more line(s) after these: "
        f"Madang's 'read_file' with path 'long.txt', startLine {last + 1}, endLine 3000."
    )


async def test_a_long_listing_names_the_whole_next_call(asker: Asker) -> None:
    for number in range(60):
        asker.keep_file(f"notes/{number:02}.txt")

    english = await asker.done("list_directory", path="notes", depth=2, limit=100)
    korean = await asker.with_call(locale="ko").done("list_directory", path="notes", depth=2)

    assert "\n… 11 more: Madang's 'list_directory' with path 'notes', depth 2, offset 50.\n" in english.text
    assert "… 11개가 더 있습니다: Madang의 'list_directory'에 path 'notes', depth 2, offset 50.\n" in korean.text
    assert "offset" not in english.data["next"]
    assert "offset 50." in korean.data["next"]
