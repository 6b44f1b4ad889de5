"""Playbooks as resources and skills, and how clients hear that they changed, also from other processes."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
import yaml
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from tests.doors import DoorKind, Doors, McpDoor

TEMPLATE = "skill://playbook-{id}/SKILL.md"


def _is_page(resource: types.Resource) -> bool:
    return resource.uri.startswith("ui://")


async def test_a_playbook_can_be_read_as_a_skill_by_its_address(mcp_doors: Doors) -> None:
    async with mcp_doors.open() as door:
        assert isinstance(door, McpDoor)
        id = await _keep(door, goal='배포: "서버" & <b>')
        listed = (await door.client.list_resources()).resources
        templates = (await door.client.list_resource_templates()).resource_templates
        (contents,) = (await door.client.read_resource(TEMPLATE.format(id=id))).contents

    assert [resource.uri for resource in listed if not _is_page(resource)] == [TEMPLATE.format(id=id)]
    assert [template.uri_template for template in templates] == [TEMPLATE, "madang://exports/{id}"]
    assert isinstance(contents, types.TextResourceContents)
    _, frontmatter, body = contents.text.split("---\n", 2)
    assert yaml.safe_load(frontmatter) == {"name": f"playbook-{id}", "description": '배포: "서버" & <b>'}
    assert "  1. build" in body


async def test_skills_are_listed_with_the_digest_of_what_is_read(memory_doors: Doors) -> None:
    async with memory_doors.open() as door:
        assert isinstance(door, McpDoor)
        id = await _keep(door)
        uri = TEMPLATE.format(id=id)
        listed = await _request(door, "skills/list", {})
        one = await _request(door, "skills/get", {"uri": uri})
        (contents,) = (await door.client.read_resource(uri)).contents

    assert isinstance(contents, types.TextResourceContents)
    data = contents.text.encode()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert listed["skills"] == [
        {
            "uri": uri,
            "frontmatter": {"name": f"playbook-{id}", "description": "Deploy"},
            "resources": [{"uri": uri, "digest": digest, "size": len(data)}],
        }
    ]
    assert one["skill"] == listed["skills"][0]


async def test_resources_come_in_lists_that_a_cursor_leads_through(memory_doors: Doors) -> None:
    async with memory_doors.open() as door:
        assert isinstance(door, McpDoor)
        ids = [await _keep(door) for _ in range(60)]
        first = await door.client.list_resources()
        second = await door.client.list_resources(cursor=first.next_cursor)

    assert _is_page(first.resources[0])
    uris = [resource.uri for resource in (*first.resources, *second.resources) if not _is_page(resource)]
    assert uris == [TEMPLATE.format(id=id) for id in ids]
    assert second.next_cursor is None


@pytest.mark.parametrize("cursor", ["x", "playbook:-1", "playbook:1.5", "planning:", "playbook:٣"])
async def test_a_cursor_that_is_not_ours_is_refused(memory_doors: Doors, cursor: str) -> None:
    async with memory_doors.open() as door:
        assert isinstance(door, McpDoor)
        with pytest.raises(MCPError, match="cursor") as refused:
            await door.client.list_resources(cursor=cursor)

    assert refused.value.error.code == types.INVALID_PARAMS


async def test_the_skill_of_another_assistant_is_answered_like_one_that_is_not_there(memory_doors: Doors) -> None:
    async with memory_doors.open(assistant="writer") as door:
        id = await _keep(door)
    async with memory_doors.open(assistant="reader") as door:
        assert isinstance(door, McpDoor)
        answers = []
        for uri in (TEMPLATE.format(id=id), TEMPLATE.format(id="nobody")):
            with pytest.raises(MCPError) as refused:
                await door.client.read_resource(uri)
            answers.append((refused.value.error.code, refused.value.error.message))

    assert answers == [(types.INVALID_PARAMS, "Resource not found")] * 2


@pytest.mark.parametrize("way", ["memory", "stdio", "http"])
async def test_a_listening_client_hears_of_changes_made_in_other_processes(
    tmp_path: Path, way: Literal["memory", "stdio", "http"]
) -> None:
    async with Doors(DoorKind(way), tmp_path).open() as door:
        assert isinstance(door, McpDoor)
        id = await _keep(door)
        uri = TEMPLATE.format(id=id)
        async with (
            asyncio.timeout(60),
            door.client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as changes,
        ):
            await _elsewhere(tmp_path, "update_playbook", f'{{"id": "{id}", "playbook": {{"goal": "New"}}}}')
            heard = [await anext(changes), await anext(changes)]

    assert set(heard) == {ResourcesListChanged(), ResourceUpdated(uri)}


@pytest.mark.parametrize("way", ["memory", "stdio", "http"])
async def test_a_client_of_the_older_era_is_told_without_asking_and_subscribes_to_single_resources(
    tmp_path: Path, way: Literal["memory", "stdio", "http"]
) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    async with asyncio.timeout(60), Doors(DoorKind(way, "legacy"), tmp_path).open(on_message=heard.put) as door:
        assert isinstance(door, McpDoor)
        subscribed, other = await _keep(door), await _keep(door)
        with pytest.warns(MCPDeprecationWarning):
            await door.client.session.subscribe_resource(TEMPLATE.format(id=subscribed))
        await _elsewhere(tmp_path, "delete_playbook", f'{{"id": "{other}"}}')
        await _elsewhere(tmp_path, "delete_playbook", f'{{"id": "{subscribed}"}}')
        updated = [TEMPLATE.format(id=subscribed)]
        is_told_of_the_list = False
        while updated or not is_told_of_the_list:
            match await heard.get():
                case types.ResourceListChangedNotification():
                    is_told_of_the_list = True
                case types.ResourceUpdatedNotification(params=params):
                    updated.remove(params.uri)


async def _keep(door: Any, goal: str = "Deploy") -> str:
    outcome = await door.done("create_playbook", goal=goal, workflow=[{"description": "build"}])
    return str(outcome.data["playbook"]["id"])


async def _elsewhere(data_dir: Path, tool: str, arguments: str) -> None:
    """Call a tool in another process on the same data folder."""
    command = [sys.executable, "-m", "madang", "call", tool, arguments, "--data-dir", str(data_dir)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0


class _Result(types.Result, extra="allow"):
    pass


class _Params(types.RequestParams, extra="allow"):
    pass


async def _request(door: McpDoor, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request of an extension that the official client has no method for."""
    request: Any = types.Request(method=method, params=_Params.model_validate(params))
    result = await door.client.session.send_request(request, _Result)
    return result.model_dump(by_alias=True)
