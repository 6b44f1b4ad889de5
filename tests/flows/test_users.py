"""Users who share a database: what one keeps is not there for the other, through every door that can be opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from madang.app import open_madang
from madang.core.ids import UserId
from madang.core.results import Reply
from madang.settings import Settings
from tests.postgresql import url_in


@pytest.mark.parametrize("on_a_server", [False, True], ids=["file", "server"])
async def test_what_one_user_keeps_is_not_there_for_another(tmp_path: Path, on_a_server: bool) -> None:
    alice = Settings(tmp_path, user=UserId("alice"), database=url_in(tmp_path) if on_a_server else "")
    made = await _call(alice, "create_playbook", {"goal": "Hers", "workflow": []})
    await _call(alice, "add_todo", {"name": "hers"})

    bob = replace(alice, user=UserId("bob"))
    listed = await _call(bob, "list_playbooks", {})
    read = await _call(bob, "get_playbook", {"id": made.data["playbook"]["id"]})
    missing = await _call(bob, "get_playbook", {"id": "01a1dec6-90fb-7add-86bb-a99277478186"})
    plan = await _call(bob, "get_current_state", {})

    assert listed.data["page"]["totalItems"] == 0
    assert (read.error_code, missing.error_code) == ("not_found", "not_found")
    assert plan.data["todos"] == []
    assert (await _call(alice, "list_playbooks", {})).data["page"]["totalItems"] == 1


async def _call(settings: Settings, tool: str, arguments: dict[str, object]) -> Reply:
    async with open_madang(settings) as madang:
        return await madang.provider.execute_tool(madang.call("python"), tool, arguments)
