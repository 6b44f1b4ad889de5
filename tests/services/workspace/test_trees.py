"""What panels read of the files: the first entries with the state, the others page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from madang.core.errors import NotFound
from madang.core.service import RowQuery
from madang.services.workspace.context import MAX_STATE_ENTRIES, WorkspaceState
from tests.asking import Asker, open_asker
from tests.services.workspace.workspaces import folder_of, stage_upload


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with open_asker() as asker:
        yield asker


async def state(asker: Asker) -> WorkspaceState:
    found = (await asker.provider.service_contexts(asker.call))["workspace"].structured_state
    assert isinstance(found, WorkspaceState)
    return found


async def rows(asker: Asker, under: str, page: int = 1, page_size: int = 100) -> tuple[list[str], int]:
    read = await asker.provider.state_rows(asker.call, "workspace", RowQuery("entries", under, page, page_size))
    return [row.model_dump()["path"] for row in read.rows], read.total


async def test_folders_come_before_files_and_what_is_nearer_to_the_root_before_what_is_in_it(asker: Asker) -> None:
    for path in ("b.md", "sub/deep/d.md", "sub/c.md", "a.md"):
        await asker.done("write_file", path=path, content="x")

    seen = await state(asker)

    assert [entry.path for entry in seen.entries] == ["sub", "a.md", "b.md", "sub/deep", "sub/c.md", "sub/deep/d.md"]
    assert {folder.path: folder.total for folder in seen.folders} == {"": 3, "sub": 2, "sub/deep": 1}


async def test_a_folder_that_does_not_fit_is_read_page_by_page(asker: Asker) -> None:
    folder = folder_of(asker) / "many"
    folder.mkdir()
    for number in range(MAX_STATE_ENTRIES + 50):
        (folder / f"{number:04}.txt").touch()

    seen = await state(asker)
    first, total = await rows(asker, "many")
    third, _ = await rows(asker, "many", page=3)
    past_the_end, _ = await rows(asker, "many", page=9)

    assert [entry.path for entry in seen.entries] == ["many"]
    assert [folder.path for folder in seen.folders] == [""]
    assert (first[0], first[-1], total) == ("many/0000.txt", "many/0099.txt", MAX_STATE_ENTRIES + 50)
    assert (third[0], len(third), past_the_end) == ("many/0200.txt", 50, [])


async def test_pages_go_on_from_folders_to_files(asker: Asker) -> None:
    for path in ("a/x", "b/x", "c/x", "1.md", "2.md"):
        await asker.done("write_file", path=path, content="x")

    pages = [(await rows(asker, "", page, 2))[0] for page in (1, 2, 3)]

    assert pages == [["a", "b"], ["c", "1.md"], ["2.md"]]


async def test_a_folder_that_is_not_there_has_no_rows(asker: Asker) -> None:
    with pytest.raises(NotFound):
        await rows(asker, "nowhere")
    with pytest.raises(NotFound):
        await asker.provider.state_rows(asker.call, "workspace", RowQuery("nothing"))


async def test_what_the_person_uploads_is_there_and_replaces_nothing(asker: Asker) -> None:
    source = stage_upload(asker, b"\x00\xff")
    await asker.done("upload_file", path="sub/picture.bin", source=source)

    again = await asker.ask("upload_file", path="sub/picture.bin", source=source)

    assert again.error_code == "conflict"
    assert (folder_of(asker) / "sub" / "picture.bin").read_bytes() == b"\x00\xff"
    assert [entry.path for entry in (await state(asker)).entries] == ["sub", "sub/picture.bin"]
