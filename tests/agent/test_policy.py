"""The table of what a run may do by itself: every tool there is, and the kinds of tool that are to come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from madang.agent.policy import ASK_FIRST, decide_by_traits
from madang.app import open_madang
from madang.core.ids import SessionId
from madang.core.tools import Tool
from madang.settings import Settings
from madang.storage.assistants import AssistantRecord
from tests.agent.bench import ME
from tests.agent.outside import Outside
from tests.agent.stage import ask, open_stage
from tests.model_wires import Piece, Say

BEYOND_THE_SESSION = {"create_playbook", "update_playbook", "delete_playbook", "import_playbooks"}
"""What changes something that other sessions have: asked for once something untrusted was read."""

UNTRUSTED = {"read_content", "keyword_similarity_search", "import_file", "fetch"}


async def every_tool(folder: Path) -> dict[str, Tool]:
    async with open_madang(Settings(data_dir=folder)) as madang:
        madang.provider.register(Outside())
        services = await madang.provider.open_services()
        return {tool.name: tool for service in services for tool in service.tools}


@pytest.mark.parametrize("is_tainted", [False, True])
async def test_each_tool_is_decided_as_the_contract_says(tmp_path: Path, is_tainted: bool) -> None:
    decided = {
        name: decide_by_traits(tool, is_tainted=is_tainted).verdict
        for name, tool in (await every_tool(tmp_path)).items()
    }

    exceptions = {name: verdict for name, verdict in decided.items() if verdict != "allow"}
    if is_tainted:
        assert exceptions == {**dict.fromkeys(BEYOND_THE_SESSION, "ask"), "erase": "ask", "send": "deny"}
    else:
        assert exceptions == {"erase": "ask", "send": "ask"}


async def test_what_brings_in_foreign_words_is_marked(tmp_path: Path) -> None:
    assert {name for name, tool in (await every_tool(tmp_path)).items() if tool.untrusted} == UNTRUSTED


async def test_what_destroys_for_good_beyond_the_session_is_none_of_ours(tmp_path: Path) -> None:
    """A tool that does comes with a decision about it: this list is where it is taken."""
    tools = (await every_tool(tmp_path)).values()
    lasting = {tool.name for tool in tools if tool.effect == "destroy" and tool.reach != "session"}

    assert {tool.name for tool in tools if tool.name in lasting and not tool.restorable} == {"erase"}


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
