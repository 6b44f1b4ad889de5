"""A session that works in a folder of the person's own: fenced as every workspace, and never taken away with it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.app import Madang, open_madang
from madang.core.calls import Call
from madang.core.errors import Conflict, SetupError
from madang.core.ids import SessionId
from madang.files.folders import staging
from madang.settings import Settings
from tests.asking import Asker

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "프로젝트"
    (project / ".git/hooks").mkdir(parents=True)
    (project / ".git/config").write_text("[core]\n")
    (project / "main.py").write_text("print('hello')\n")
    (tmp_path / "secret.txt").write_text("secret")
    return project


@pytest.fixture
async def madang(tmp_path: Path, project: Path) -> AsyncIterator[Madang]:
    async with open_madang(Settings(tmp_path / "data", workspace=project)) as madang:
        await madang.use_workspace(madang.call("python"))
        yield madang


@pytest.fixture
def asker(madang: Madang) -> Asker:
    return asking(madang)


def asking(madang: Madang, session: str = "default") -> Asker:
    call = replace(madang.call("python"), session_id=SessionId(session))
    return Asker(madang.provider, madang.database, call, madang.folders)


def state_of(path: Path) -> dict[str, object]:
    return {
        str(item.relative_to(path)): item.read_bytes() if item.is_file() else None
        for item in path.rglob("*")
        if not item.is_symlink()
    }


async def test_the_tools_work_in_it_and_nothing_else_is_left_there(asker: Asker, project: Path) -> None:
    assert "hello" in (await asker.done("read_file", path="main.py")).text
    assert "main.py" in (await asker.done("grep", pattern="hello")).text
    await asker.done("edit_file", path="main.py", edits=[{"oldText": "hello", "newText": "안녕"}])
    await asker.done("write_file", path="docs/new.md", content="new\n")
    await asker.done("move_file", source="docs/new.md", target="docs/old.md")
    await asker.done("export_file", path="main.py")

    assert (project / "main.py").read_text() == "print('안녕')\n"
    assert sorted(state_of(project)) == [".git", ".git/config", ".git/hooks", "docs", "docs/old.md", "main.py"]


async def test_a_session_with_a_folder_is_listed_from_then_on(madang: Madang, asker: Asker) -> None:
    assert await madang.sessions.get(asker.call) is not None


async def test_another_process_and_another_start_work_in_it_too(
    madang: Madang, asker: Asker, tmp_path: Path, project: Path
) -> None:
    async with open_madang(Settings(tmp_path / "data")) as other:
        await asking(other).done("write_file", path="b.txt", content="b")
        assert "b.txt" in (await asker.done("list_directory")).text
    assert (project / "b.txt").read_text() == "b"
    assert os.listdir(madang.folders.path(asker.call) / "files") == []


async def test_nothing_leads_out_of_it(asker: Asker, project: Path, tmp_path: Path) -> None:
    (project / "out").symlink_to(tmp_path)
    (project / "file").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(project / "pipe")
    os.link(tmp_path / "secret.txt", project / "hard")
    outside = state_of(tmp_path / "data" / "workspaces")

    for path in ("../secret.txt", "out/secret.txt", "file", str(tmp_path / "secret.txt"), "pipe", "~/x"):
        assert (await asker.ask("read_file", path=path)).is_error, path
        assert (await asker.ask("write_file", path=path, content="x")).is_error, path
    assert (await asker.ask("write_file", path="out/new.txt", content="x")).is_error
    assert (await asker.ask("move_file", source="main.py", target="out/main.py")).is_error
    assert (await asker.ask("export_file", path="hard")).is_error
    await asker.done("write_file", path="hard", content="only in the folder")
    assert (tmp_path / "secret.txt").read_text() == "secret"
    assert "secret" not in (await asker.done("grep", pattern="s.cret")).text
    assert state_of(tmp_path / "data" / "workspaces").keys() >= outside.keys()


@pytest.mark.parametrize("name", [".git", ".GIT", "sub/.git", ".g\u200cit", "git~1", ".git."])
async def test_what_git_keeps_is_read_and_not_changed(asker: Asker, project: Path, name: str) -> None:
    """A hook or a setting there is a program that the person's next git command starts."""
    before = state_of(project)
    for tool, arguments in [
        ("write_file", {"path": f"{name}/hooks/pre-commit", "content": "x"}),
        ("write_file", {"path": name, "content": "gitdir: /tmp"}),
        ("move_file", {"source": "main.py", "target": f"{name}/main.py"}),
        ("delete_file", {"path": f"{name}/config"}),
    ]:
        reply = await asker.ask(tool, **arguments)
        assert reply.is_error, tool
    assert (await asker.ask("move_file", source=".git", target="kept")).is_error
    assert "core" in (await asker.done("read_file", path=".git/config")).text
    assert state_of(project) == before


@pytest.mark.parametrize("last", ["HEAD", "objects", "refs", "commondir"])
@pytest.mark.parametrize("folder", ["", "sub/deep"])
async def test_no_folder_is_made_one_that_git_takes_for_its_own(
    asker: Asker, project: Path, folder: str, last: str
) -> None:
    """A bare repository is plain files: with a `config` of the agent's, the next `git status` would run its program."""
    shutil.rmtree(project / ".git")
    place = f"{folder}/" if folder else ""
    settings = f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch {project}/ran\n"
    steps = {
        "config": {"path": f"{place}config", "content": settings},
        "HEAD": {"path": f"{place}HEAD", "content": "ref: refs/heads/main\n"},
        "objects": {"path": f"{place}objects/info/x", "content": ""},
        "refs": {"path": f"{place}refs/heads/x", "content": ""},
        "commondir": {"path": f"{place}commondir", "content": "..\n"},
    }
    others = ("HEAD",) if last == "commondir" else tuple({"HEAD", "objects", "refs"} - {last})
    for name in ("config", *others):
        await asker.done("write_file", **steps[name])
    await asker.done("write_file", path="staged/x", content="ref: refs/heads/main\n")

    refused = await asker.ask("write_file", **steps[last])
    source = "staged" if last in ("objects", "refs") else "staged/x"
    moved = await asker.ask("move_file", source=source, target=f"{place}{last}")
    spelled = await asker.ask("move_file", source=source, target=f"{place}{last.swapcase()}")

    assert [reply.error_code for reply in (refused, moved, spelled)] == ["denied"] * 3
    assert "Git takes for a repository" in refused.text
    subprocess.run(["git", "status"], cwd=project / folder, capture_output=True, check=False)
    assert not (project / "ran").exists()


async def test_a_bare_repository_of_the_persons_is_read_and_not_changed(asker: Asker, project: Path) -> None:
    subprocess.run(["git", "init", "--bare", "-q", "backup"], cwd=project, check=True)
    before = state_of(project)

    changes: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": "backup/config", "content": "[core]\n\tpager = touch x\n"}),
        ("write_file", {"path": "backup/hooks/post-receive", "content": "x"}),
        ("edit_file", {"path": "backup/config", "edits": [{"oldText": "[core]", "newText": "[x]"}]}),
        ("delete_file", {"path": "backup/HEAD"}),
        ("move_file", {"source": "backup/HEAD", "target": "HEAD"}),
        ("move_file", {"source": "main.py", "target": "backup/hooks"}),
    ]
    for tool, arguments in changes:
        assert (await asker.ask(tool, **arguments)).error_code == "denied", tool
    assert "[core]" in (await asker.done("read_file", path="backup/config")).text
    assert state_of(project) == before


async def test_new_files_can_be_read_by_whom_the_folder_can(asker: Asker, project: Path) -> None:
    def permissions(name: str) -> int:
        return stat.S_IMODE((project / name).stat().st_mode)

    (project / "private").mkdir(mode=0o700)
    project.chmod(0o777)
    (project / "main.py").chmod(0o664)
    for name in ("open.txt", "private/closed.txt", "sub/new.txt", "main.py"):
        await asker.done("write_file", path=name, content="x")

    assert (permissions("open.txt"), permissions("private/closed.txt")) == (0o644, 0o600)
    assert permissions("main.py") == 0o664
    assert permissions("sub") & 0o022 == 0


async def test_the_state_and_the_model_are_told_which_folder_it_is(madang: Madang, asker: Asker, project: Path) -> None:
    context = (await asker.provider.service_contexts(asker.call))["workspace"]
    assert context.structured_state.folder == str(project)  # type: ignore[attr-defined]
    assert str(project) in await asker.provider.build_tool_prompt(asker.call)
    other = asking(madang, "other")
    context = (await other.provider.service_contexts(other.call))["workspace"]
    assert context.structured_state.folder == ""  # type: ignore[attr-defined]


async def test_a_folder_that_has_gone_is_told_and_nothing_is_lost(
    madang: Madang, asker: Asker, project: Path, tmp_path: Path
) -> None:
    run = asker.with_call(run_id="run-1")
    await run.done("write_file", path="main.py", content="changed")
    export = (await asker.done("export_file", path="main.py")).data
    project.rename(tmp_path / "moved")

    for tool, arguments in [("read_file", {"path": "main.py"}), ("write_file", {"path": "a", "content": "x"})]:
        reply = await run.ask(tool, **arguments)
        assert reply.is_error
        assert str(project) in reply.text
    assert not project.exists()
    assert Path(str(export["path"])).read_text() == "changed"
    context = (await asker.provider.service_contexts(asker.call))["workspace"]
    assert context.structured_state.is_folder_missing  # type: ignore[attr-defined]
    assert len(context.structured_state.exports) == 1  # type: ignore[attr-defined]
    (tmp_path / "moved").rename(project)
    assert (await madang.file_undo.take_back(asker.call, "run-1")).restored == ["main.py"]
    assert (project / "main.py").read_text() == "print('hello')\n"


async def test_a_link_in_the_place_of_the_folder_is_not_followed(asker: Asker, project: Path, tmp_path: Path) -> None:
    project.rename(tmp_path / "moved")
    project.symlink_to(tmp_path / "moved")

    assert (await asker.ask("read_file", path="main.py")).is_error


async def test_a_session_keeps_its_folder_unless_that_has_moved(
    madang: Madang, asker: Asker, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(Conflict):
        madang.folders.bind(asker.call, other)
    busy = asking(madang, "busy")
    await busy.done("write_file", path="a.txt", content="a")
    with pytest.raises(Conflict):
        madang.folders.bind(busy.call, other)
    assert "a.txt" in (await busy.done("list_directory")).text
    async with open_madang(replace(madang.settings, workspace=other)) as second:
        with pytest.raises(SetupError):
            await second.use_workspace(asker.call)

    project.rename(tmp_path / "moved")
    madang.folders.bind(asker.call, tmp_path / "moved")
    assert "hello" in (await asker.done("read_file", path="main.py")).text


async def test_sessions_in_the_same_folder_wait_for_each_other(
    madang: Madang, asker: Asker, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = replace(asker.call, session_id=SessionId("second"))
    madang.folders.bind(second, project)
    monkeypatch.setattr(staging, "MAX_LOCK_WAIT_S", 0)

    def is_busy(call: Call) -> bool:
        with madang.folders.of(call) as session:
            try:
                with session.files.locked():
                    return False
            except staging.WorkspaceBusy:
                return True

    with madang.folders.of(asker.call) as session, session.files.locked():
        assert is_busy(second)
    assert not is_busy(second)


async def test_a_session_that_is_deleted_copied_exported_or_imported_leaves_the_folder_alone(
    madang: Madang, asker: Asker, project: Path, tmp_path: Path
) -> None:
    await asker.with_call(run_id="run-1").done("write_file", path="main.py", content="changed")
    await asker.done("export_file", path="main.py")
    before = state_of(project)
    person = replace(asker.call, actor="person")
    operations = madang.session_operations

    await operations.export(person, tmp_path / "session.zip")
    await operations.copy(person, SessionId("copy"))
    imported = await operations.import_(replace(person, session_id=None), tmp_path / "session.zip")

    with zipfile.ZipFile(tmp_path / "session.zip") as archive:
        assert json.loads(archive.read("workspace/folder.json")) == {"folder": str(project), "isInArchive": False}
        assert not [name for name in archive.namelist() if name.startswith("workspace/files")]
    assert madang.folders.personal(asking(madang, "copy").call) == project
    assert madang.folders.personal(asking(madang, imported.id).call) is None
    for session in ("default", "copy", imported.id):
        await operations.forget(replace(person, session_id=SessionId(session)))
    assert state_of(project) == before
    assert os.listdir(tmp_path / "data/workspaces") == []


async def test_a_session_is_deleted_while_its_folder_is_gone(
    madang: Madang, asker: Asker, project: Path, tmp_path: Path
) -> None:
    await asker.done("write_file", path="a", content="x")
    project.rename(tmp_path / "moved")

    await madang.session_operations.forget(replace(asker.call, actor="person"))

    assert os.listdir(tmp_path / "data/workspaces") == []
    assert (tmp_path / "moved/a").read_text() == "x"


async def test_a_draft_of_a_killed_process_is_swept_by_the_next_write(asker: Asker, project: Path) -> None:
    (project / ".madang-drafts").mkdir()
    (project / ".madang-drafts/draft-1").write_text("half")

    await asker.done("write_file", path="a", content="x")

    assert not (project / ".madang-drafts").exists()


async def test_a_link_in_the_place_of_the_drafts_is_not_followed(asker: Asker, project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".madang-drafts").symlink_to(outside)

    assert (await asker.ask("write_file", path="a", content="x")).is_error

    assert os.listdir(outside) == []
