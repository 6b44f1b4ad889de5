"""The table of what a run may do by itself: every tool there is, and the kinds of tool that are to come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from madang.agent.policy import ASK_FIRST, decide_by_traits
from madang.app import open_madang
from madang.core.calls import Actor, Door
from madang.core.errors import Denied
from madang.core.ids import SessionId
from madang.core.pauses import Decline, Permission
from madang.core.results import Reply
from madang.core.tools import Tool
from madang.core.trust import Origin
from madang.records.assistants import AssistantRecord
from madang.settings import Settings
from tests.agent.bench import ME
from tests.agent.outside import Outside
from tests.agent.stage import ask, open_stage
from tests.model_wires import Piece, Say

TRUSTED = {
    "erase",
    "create_goal",
    "clear_goal",
    "add_todo",
    "mark_todo",
    "update_todo",
    "clear_todos",
    "add_observation",
    "clear_session",
    "get_current_state",
    "prompt_user",
    "wait_for_user",
    "visualize_data",
    "create_store",
}
"""Tools whose results say only what Madang computed, or what the person typed in this session."""

SHARED = {"create_playbook", "update_playbook", "delete_playbook", "import_playbooks"}
"""What other sessions notice: asked for once the model was shown something untrusted."""

FOR_GOOD: set[str] = set()
"""What takes away something without a way back."""

README = (Origin("file", "README.md"),)


async def every_tool(folder: Path) -> dict[str, Tool]:
    async with open_madang(Settings(data_dir=folder)) as madang:
        madang.provider.register(Outside())
        services = await madang.provider.open_services()
        return {tool.name: tool for service in services for tool in service.tools}


async def test_each_tool_is_decided_as_the_contract_says(tmp_path: Path) -> None:
    tools = [tool for tool in (await every_tool(tmp_path)).values() if tool.audience == "model"]

    clean = {tool.name for tool in tools if decide_by_traits(tool, None).verdict != "allow"}
    tainted = {tool.name for tool in tools if decide_by_traits(tool, README).verdict != "allow"}

    assert clean == FOR_GOOD | {"erase", "send"}
    assert tainted == FOR_GOOD | SHARED | {"erase", "send"}
    assert {decide_by_traits(tool, README).verdict for tool in tools} == {"allow", "ask"}


async def test_a_result_is_untrusted_unless_its_tool_says_otherwise(tmp_path: Path) -> None:
    tools = await every_tool(tmp_path)

    assert {name for name, tool in tools.items() if tool.trusted} == TRUSTED
    fetch = tools["fetch"]
    assert fetch.origins(Reply("fetch", "outside", "Words")) == (Origin("tool", "fetch"),)
    assert fetch.origins(Reply("fetch", "outside", "No", error_code="not_found")) == (Origin("tool", "fetch"),)
    assert fetch.origins(Reply("fetch", "outside", "No", error_code="denied")) == ()
    assert fetch.origins(Reply("fetch", "outside", "None", origins=())) == ()
    assert tools["add_todo"].origins(Reply("add_todo", "planning", "Added", origins=README)) == README


async def test_an_approval_says_what_was_read_and_why_it_is_asked(tmp_path: Path) -> None:
    tool = (await every_tool(tmp_path))["create_playbook"]
    many = (*README, Origin("tool", "grep"), Origin("name", "evil.txt"), Origin("archive"))

    assert str(decide_by_traits(tool, README).reason) == snapshot(
        "'create_playbook' changes what other sessions use. It is asked because of what was read in this session: "
        "README.md."
    )
    assert str(decide_by_traits(tool, many).reason) == snapshot(
        "'create_playbook' changes what other sessions use. It is asked because of what was read in this session: "
        "README.md, what 'grep' returned, the name 'evil.txt', …."
    )
    assert str(decide_by_traits(tool, ()).reason) == "'create_playbook' changes what other sessions use."


async def test_an_assistant_that_is_set_to_ask_first_does(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible", [ask("add_todo", name="Buy tea")], [Say("Done.")]) as stage:
        assistants = stage.agent.madang.assistants
        await assistants.save(ME.user_id, AssistantRecord(ME.assistant, policy={ASK_FIRST: ["planning"]}))
        run = await stage.say("Remember tea")
        [pause] = await stage.open_pauses(run)
        assert (pause.kind, pause.tool) == ("approval", "add_todo")
        await stage.agent.stores.approvals.decide(ME, pause.id, allow=True, scope="session")
        await stage.over()
        assert "Buy tea" in (await stage.call("get_current_state")).text


async def test_what_was_allowed_for_the_session_is_not_asked_again_there(tmp_path: Path) -> None:
    turns: list[list[Piece]] = [[ask("erase", name="a")], [Say("1")], [ask("erase", name="b")], [Say("2")]]
    async with open_stage(tmp_path, "compatible", *turns) as stage:
        [pause] = await stage.open_pauses(await stage.say("Clear a"))
        await stage.agent.stores.approvals.decide(ME, pause.id, allow=True, scope="session")
        await stage.over()
        run = await stage.say("Clear b")

        assert run.state == "finished"
        assert stage.outside.erased == ["a", "b"]
        elsewhere = replace(ME, session_id=SessionId("coffee"))
        assert (await stage.say("Clear a", elsewhere)).state == "waiting"


@pytest.mark.parametrize(
    ("door", "actor", "may_allow", "may_deny"),
    [
        ("host", "person", True, True),
        ("command", "person", True, True),
        ("command", "program", False, True),
        ("python", "program", False, False),
        ("mcp-stdio", "foreign", False, False),
        ("mcp-http", "foreign", False, False),
        ("agent", "model", False, False),
    ],
)
async def test_who_decides_over_a_call_follows_from_the_door(
    tmp_path: Path, door: Door, actor: Actor, may_allow: bool, may_deny: bool
) -> None:
    async with open_stage(tmp_path, "compatible", [ask("erase", name="a")], [Say("Done.")]) as stage:
        [pause] = await stage.open_pauses(await stage.say("Erase a"))
        call, inbox = replace(ME, door=door, actor=actor), stage.agent.inbox
        if not may_allow:
            with pytest.raises(Denied):
                await inbox.settle(call, pause, Permission(True))
        if not may_deny:
            with pytest.raises(Denied):
                await inbox.settle(call, pause, Decline())
        assert [one.id for one in await inbox.list_open(ME.user_id)] == [pause.id]

        settled = await inbox.settle(call if may_deny else ME, pause, Permission(may_allow))

        assert settled.status == ("answered" if may_allow else "cancelled")
        await stage.over()
        assert stage.outside.erased == (["a"] if may_allow else [])
