"""What a connecting model is told about the server."""

from __future__ import annotations

from pathlib import Path

from madang.app import open_madang
from madang.core.ids import AssistantId
from madang.server.mcp import McpServer
from madang.settings import Settings


async def _instructions(settings: Settings) -> str:
    async with open_madang(settings) as madang:
        return McpServer(madang.provider, madang.call("mcp-stdio")).server.instructions or ""


async def test_the_instructions_name_tools_of_the_registered_services_alone(tmp_path: Path) -> None:
    every = await _instructions(Settings(tmp_path))
    planning = await _instructions(Settings(tmp_path, services=("planning",)))

    assert all(name in every for name in ("list_playbooks", "get_current_state", "prompt_user", "add_content", "grep"))
    assert planning == (
        "Madang keeps its state through restarts. Planning tools hold the goal, todos and observations of this "
        "session. Call get_current_state first when you come back to work."
    )


async def test_the_instructions_leave_out_services_that_the_assistant_may_not_use(tmp_path: Path) -> None:
    settings = Settings(tmp_path, assistant=AssistantId("writer"), grants={"writer": ("playbook",)})

    assert "get_current_state" not in await _instructions(settings)


async def test_the_instructions_tell_madangs_tools_from_the_hosts_of_the_same_names(tmp_path: Path) -> None:
    workspace = await _instructions(Settings(tmp_path, services=("workspace",)))
    chart = await _instructions(Settings(tmp_path, services=("chart",)))

    assert workspace.endswith("Where the host has tools of the same names, Madang's are meant here.")
    assert "the host" not in chart
