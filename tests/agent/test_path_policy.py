"""Paths under a rule: asked for or denied, whatever tool names them and however they are spelled."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from madang.agent.approvals import Approvals
from madang.agent.rules import NO_RULES, ApprovalRules, parse_rules
from madang.agent_app import open_agent
from madang.app import Madang
from madang.core.calls import Call
from madang.core.errors import SetupError
from madang.core.ids import AssistantId, SessionId
from madang.core.pauses import PauseForm, PauseRecord
from madang.core.results import Reply
from madang.llm.opening import OpenedModel
from madang.services import prebuilt_schemas
from madang.settings import Settings
from tests.agent.bench import ME
from tests.agent.stage import ask, open_stage
from tests.model_wires import Say

SECRET = "s3cr3t-canary"
MODEL = Call(AssistantId("default"), SessionId("tea"), actor="model", door="agent")


@dataclass
class Workplace:
    """A session of an agent, its folder, and a folder that files may be imported from."""

    madang: Madang
    files: Path
    outside: Path

    async def ask(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool as the model."""
        return await self.madang.provider.execute_tool(MODEL, tool, arguments)

    async def verdict(self, tool: str, /, **arguments: Any) -> str:
        return (await self.decide(tool, **arguments))[0]

    async def decide(self, tool: str, /, **arguments: Any) -> tuple[str, str]:
        found = self.madang.provider.find_tool(tool)
        assert found is not None
        decision = await self.madang.provider.decide(MODEL, found, arguments)
        return decision.verdict, str(decision.reason or "")


Opener = Callable[..., AbstractAsyncContextManager[Workplace]]


def _no_model(name: str) -> OpenedModel:
    raise AssertionError


@pytest.fixture
def workplace(tmp_path: Path) -> Opener:
    @asynccontextmanager
    async def opened(rules: ApprovalRules = NO_RULES, *, is_bound: bool = False) -> AsyncIterator[Workplace]:
        outside = tmp_path / "outside"
        project = tmp_path / "project"
        for folder in (outside, project):
            folder.mkdir(exist_ok=True)
        settings = Settings(tmp_path / "data", allow_folders=(outside,), workspace=project if is_bound else None)
        async with open_agent(settings, _no_model, rules=rules) as agent:
            madang = agent.madang
            await madang.use_workspace(MODEL)
            with madang.folders.of(MODEL) as session:
                files = project if is_bound else session.path / "files"
            (files / ".env").write_text(f"KEY={SECRET}\n")
            (files / "notes.md").write_text("KEY=notes\n")
            (outside / ".env").write_text(f"KEY={SECRET}\n")
            yield Workplace(madang, files, outside)

    return opened


def rules(text: str) -> ApprovalRules:
    return parse_rules(text.encode(), "rules.toml", set(prebuilt_schemas()))


async def test_what_is_private_is_asked_for_by_its_path_and_the_reason(workplace: Opener) -> None:
    async with workplace() as place:
        verdict, reason = await place.decide("read_file", path="./.env")

        assert verdict == "ask"
        assert reason == "'read_file' is about '.env': such files hold passwords and keys of programs. " + (
            "This is asked each time."
        )
        assert SECRET not in (await place.ask("read_file", path=".env")).text
        assert "notes" in (await place.ask("read_file", path="notes.md")).text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": ".env"}),
        ("read_file", {"path": "././/.env"}),
        ("read_file", {"path": ".ENV"}),
        ("read_file", {"path": ".e\u200dnv"}),
        ("edit_file", {"path": ".env", "edits": [{"oldText": "a", "newText": "b"}]}),
        ("grep", {"pattern": "KEY", "path": ".env"}),
        ("list_directory", {"path": ".ssh"}),
        ("search_files", {"pattern": "*", "path": ".aws"}),
        ("move_file", {"source": ".env", "target": "notes.txt"}),
        ("move_file", {"source": ".config", "target": "config"}),
        ("export_file", {"path": ".env"}),
        ("export_zip", {"files": ["notes.md", ".env"]}),
        ("export_zip", {"files": '["notes.md", ".env"]'}),
        ("import_file", {"source": "{outside}/.env", "path": "notes.txt"}),
        ("import_file", {"source": "file://{outside}/%2Eenv", "path": "notes.txt"}),
        ("add_content", {"fileUrl": ".env"}),
        ("add_content", {"fileUrl": "./.env"}),
        ("add_content", {"file_url": "file://{files}/.env"}),
        ("add_content", {"fileUrl": "file://localhost{files}/./%2e%65nv"}),
        ("add_content", {"fileUrl": "{outside}/.env"}),
    ],
)
async def test_no_tool_and_no_spelling_goes_around(workplace: Opener, tool: str, arguments: dict[str, Any]) -> None:
    async with workplace() as place:
        places = {"files": str(place.files), "outside": str(place.outside)}
        filled = {
            name: value.format(**places) if isinstance(value, str) and "[" not in value else value
            for name, value in arguments.items()
        }

        reply = await place.ask(tool, **filled)

        assert reply.error_code in ("approval_required", "invalid_arguments"), reply.text
        assert SECRET not in reply.text
        assert (place.files / ".env").exists()


@pytest.mark.parametrize("path", ["a/../.env", "link", "folder/.env", "%2eenv"])
async def test_links_and_ways_up_lead_nowhere(workplace: Opener, path: str) -> None:
    async with workplace() as place:
        (place.files / "a").mkdir()
        os.symlink(".env", place.files / "link")
        os.symlink(".", place.files / "folder")

        for tool, argument in (("read_file", "path"), ("add_content", "fileUrl"), ("export_file", "path")):
            reply = await place.ask(tool, **{argument: path})
            assert reply.is_error
            assert SECRET not in reply.text


async def test_a_walk_leaves_out_what_is_under_a_rule_and_says_so(workplace: Opener) -> None:
    async with workplace() as place:
        (place.files / ".ssh").mkdir()
        (place.files / ".ssh/config").write_text(f"KEY={SECRET}\n")
        note = "2 files and folders are under a rule and were left out: 'read_file' asks the person."

        walks: list[tuple[str, dict[str, Any]]] = [
            ("grep", {"pattern": "KEY"}),
            ("list_directory", {"depth": 3}),
            ("search_files", {"pattern": "*"}),
        ]
        for tool, arguments in walks:
            reply = await place.ask(tool, **arguments)
            assert "notes.md" in reply.text
            assert ".env" not in reply.text
            assert "config" not in reply.text
            assert SECRET not in reply.text
            assert note in reply.text, reply.text
        packed = await place.ask("export_zip", files=["."])
        assert [one["path"] for one in packed.data["files"]] == ["notes.md"]
        assert packed.data["skipped"] == [{"path": path, "reason": "rule"} for path in (".env", ".ssh")]


async def test_what_grep_leaves_out_does_not_tell_what_is_in_it(workplace: Opener) -> None:
    """A count of files that match would tell a model the secret, letter by letter."""
    async with workplace() as place:
        right, wrong = [(await place.ask("grep", pattern=f"KEY=s{one}cr")).text for one in "34"]

        assert right == wrong.replace("s4cr", "s3cr")


async def test_a_folder_that_the_person_allowed_is_listed(workplace: Opener) -> None:
    async with workplace(rules('allow_untrusted = ["list_directory:.ssh"]')) as place:
        (place.files / ".ssh").mkdir()
        (place.files / ".ssh/config").write_text("x")

        assert "config" in (await place.ask("list_directory", path=".ssh")).text
        assert await place.verdict("read_file", path=".ssh/config") == "ask"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": ".envrc", "content": "x"}),
        ("write_file", {"path": "sub/makefile", "content": "x", "mode": "append"}),
        ("edit_file", {"path": "Makefile", "edits": [{"oldText": "a", "newText": "b"}]}),
        ("delete_file", {"path": ".husky/pre-commit"}),
        ("move_file", {"source": "notes.md", "target": ".vscode/tasks.json"}),
        ("move_file", {"source": ".gitattributes", "target": "attributes"}),
        ("move_file", {"source": "staged", "target": ".github"}),
        ("move_file", {"source": "staged/workflows", "target": ".github"}),
        ("move_file", {"source": "staged/Makefile", "target": "sub"}),
        ("import_file", {"source": "{outside}/Makefile"}),
        ("import_file", {"source": "{outside}/x", "path": ".idea/workspace.xml"}),
    ],
)
async def test_what_runs_by_itself_is_asked_for_in_a_folder_of_the_persons_own(
    workplace: Opener, tool: str, arguments: dict[str, Any]
) -> None:
    async with workplace(is_bound=True) as place:
        filled = {
            name: value.format(outside=place.outside) if isinstance(value, str) else value
            for name, value in arguments.items()
        }
        assert await place.verdict(tool, **filled) == "ask"
        assert (await place.ask(tool, **filled)).error_code == "approval_required"
    async with workplace() as place:
        own = replace(MODEL, session_id=SessionId("own"))
        found = place.madang.provider.find_tool(tool)
        assert found is not None
        assert (await place.madang.provider.decide(own, found, filled)).verdict == "allow"


async def test_the_code_of_a_project_is_written_unasked(workplace: Opener) -> None:
    async with workplace(is_bound=True) as place:
        for path in ("src/main.py", "package.json", "conftest.py", ".env", ".github/CODEOWNERS"):
            assert await place.verdict("write_file", path=path, content="x") == "allow"


async def test_a_rule_denies_a_path_to_every_tool_that_would_use_it_so(workplace: Opener) -> None:
    async with workplace(rules('deny = ["read_file:notes*", "write_file:docs/**", "move_file:kept"]')) as place:
        for tool, arguments in [
            ("read_file", {"path": "Notes.md"}),
            ("grep", {"pattern": "x", "path": "notes.md"}),
            ("export_file", {"path": "notes.md"}),
            ("add_content", {"fileUrl": "notes.md"}),
            ("move_file", {"source": "notes.md", "target": "a.md"}),
            ("write_file", {"path": "docs/a.md", "content": "x"}),
            ("delete_file", {"path": "docs/a.md"}),
            ("move_file", {"source": "a.md", "target": "docs"}),
            ("move_file", {"source": "kept", "target": "other"}),
            ("import_file", {"source": f"{place.outside}/x", "path": "docs/x"}),
        ]:
            assert (await place.decide(tool, **arguments))[0] == "deny", (tool, arguments)
        for tool, arguments in [
            ("write_file", {"path": "notes.md", "content": "x"}),
            ("read_file", {"path": "docs/a.md"}),
            ("delete_file", {"path": "kept"}),
        ]:
            assert await place.verdict(tool, **arguments) == "allow", tool
        assert "notes.md" not in (await place.ask("list_directory")).text
        reply = await place.ask("read_file", path="notes.md")
        assert "'read_file' is denied for 'notes.md' by a rule of the person's." in reply.text


async def test_a_rule_loosens_for_the_tool_and_the_path_that_it_names(workplace: Opener) -> None:
    text = 'allow = ["write_file:Makefile", "read_file:.env"]\nallow_untrusted = ["write_file:.github/workflows/**"]'
    async with workplace(rules(text), is_bound=True) as place:
        assert await place.verdict("write_file", path="Makefile", content="x") == "allow"
        assert await place.verdict("write_file", path="sub/Makefile", content="x") == "allow"
        assert await place.verdict("delete_file", path="Makefile") == "ask"
        assert await place.verdict("read_file", path=".env") == "allow"
        assert await place.verdict("grep", pattern="x", path=".env") == "ask"
        assert await place.verdict("write_file", path=".github/workflows/ci.yml", content="x") == "allow"
        assert await place.verdict("write_file", path=".GITHUB/workflows/ci.yml", content="x") == "ask"


async def test_a_tool_that_is_allowed_without_a_path_is_not_allowed_guarded_ones(workplace: Opener) -> None:
    async with workplace(rules('allow = ["read_file"]\nallow_untrusted = ["read_file"]')) as place:
        assert await place.verdict("read_file", path=".env") == "ask"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('deny = ["read_file:"]', "no pattern of paths"),
        ('deny = ["read_file:../x"]', "no pattern of paths"),
        ('deny = ["raed_file:x"]', "name a tool that there is not: 'raed_file'"),
        ('deny = ["read_file:x"]\nallow = ["read_file:x"]', "'read_file:x' is both allowed and denied"),
    ],
)
def test_a_slip_in_a_rule_of_paths_is_refused(text: str, words: str) -> None:
    with pytest.raises(SetupError, match=words):
        rules(text)


async def test_a_rule_of_paths_for_a_tool_without_any_is_refused(workplace: Opener) -> None:
    with pytest.raises(SetupError, match="gives paths to 'add_todo', which takes none"):
        async with workplace(rules('deny = ["add_todo:x"]')):
            pass


async def test_hangul_in_parts_is_the_same_name(workplace: Opener) -> None:
    async with workplace(rules('deny = ["read_file:비밀.txt"]')) as place:
        (place.files / unicodedata.normalize("NFD", "비밀.txt")).write_text(SECRET)

        for path in ("비밀.txt", unicodedata.normalize("NFD", "비밀.txt")):
            assert SECRET not in (await place.ask("read_file", path=path)).text
        assert SECRET not in (await place.ask("grep", pattern="s3")).text


async def test_the_person_is_asked_and_the_model_reads_what_they_allowed(tmp_path: Path) -> None:
    turns = [ask("read_file", path=".env")], [ask("read_file", path=".env")], [Say("Done.")]
    async with open_stage(tmp_path, "compatible", *turns) as stage:
        await stage.call("write_file", path=".env", content=f"KEY={SECRET}\n")
        run = await stage.say("Read it")
        [pause] = await stage.open_pauses(run)
        [form] = await stage.agent.stores.approvals.read_pauses(ME, [pause])
        assert "is about '.env': such files hold passwords" in str(form.reason)
        assert form.scopes == ("once",)
        assert stage.count(SECRET) == 0

        await stage.agent.stores.approvals.decide(ME, pause.id, allow=True, scope="session")
        [again] = await stage.open_pauses(await stage.settled())

        assert again.id != pause.id, "each time, whatever was allowed for the session"
        assert stage.count(SECRET) == 1
        assert await stage.agent.decisions.list_all(ME.user_id) == []


async def test_why_it_is_asked_is_there_from_the_moment_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks before the run has begun to wait must not be offered to allow it for the session."""
    async with open_stage(tmp_path, "compatible", [ask("read_file", path=".env")], [Say("Done.")]) as stage:
        ask_person, seen = Approvals.ask, list[PauseForm]()

        async def ask_and_look(approvals: Approvals, *arguments: Any) -> PauseRecord:
            pause = await ask_person(approvals, *arguments)
            seen.extend(await approvals.read_pauses(ME, [pause]))
            return pause

        monkeypatch.setattr(Approvals, "ask", ask_and_look)
        await stage.open_pauses(await stage.say("Read it"))

        [form] = seen
        assert form.scopes == ("once",)
        assert "such files hold passwords" in str(form.reason)
