"""Exports through every MCP door: the official client reads what the link names, and gets the same bytes."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import httpx2
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folders
from tests.doors import DoorKind, Doors, McpDoor

CONTENT = bytes(range(256)) * 4000


def keep_file(data_dir: Path, path: str, content: bytes) -> None:
    with Folders(data_dir / "workspaces").of(Call(AssistantId("default"), SessionId("default"))) as session:
        session.files.write(path, [content])


async def test_the_link_of_an_export_is_read_as_the_same_bytes(mcp_doors: Doors) -> None:
    keep_file(mcp_doors.data_dir, "그림/하나.png", CONTENT)
    async with mcp_doors.open() as door:
        assert isinstance(door, McpDoor)
        await door.done("create_playbook", goal="is listed too", workflow=[])
        result = await door.client.call_tool("export_zip", {"files": ["그림"], "packageName": "자료"})
        text, page, link = result.content
        assert isinstance(link, types.ResourceLink)
        (contents,) = (await door.client.read_resource(link.uri)).contents
        listed = (await door.client.list_resources()).resources

    assert isinstance(text, types.TextContent)
    assert isinstance(page, types.EmbeddedResource)
    assert isinstance(contents, types.BlobResourceContents)
    data = base64.b64decode(contents.blob, validate=True)
    assert result.structured_content
    assert hashlib.sha256(data).hexdigest() == result.structured_content["sha256"]
    assert (link.name, link.mime_type, link.size) == ("자료.zip", "application/zip", len(data))
    assert [(one.name, one.size) for one in listed if one.uri == link.uri] == [("자료.zip", len(data))]


async def test_where_http_is_served_an_export_has_an_address_that_needs_no_token(tmp_path: Path) -> None:
    keep_file(tmp_path, "a.bin", CONTENT)
    async with Doors(DoorKind("http"), tmp_path).open() as door, httpx2.AsyncClient(verify=False) as browser:
        exported = await door.done("export_file", path="a.bin")

        answer = await browser.get(exported.data["downloadUrl"])

    assert exported.data["downloadUrl"] in exported.text
    assert (answer.status_code, answer.content) == (200, CONTENT)


async def test_an_export_that_is_too_large_to_read_names_its_address(tmp_path: Path) -> None:
    keep_file(tmp_path, "large.bin", b"x" * (16 * 1024 * 1024 + 1))
    async with Doors(DoorKind("http"), tmp_path).open() as door, httpx2.AsyncClient(verify=False) as browser:
        assert isinstance(door, McpDoor)
        exported = await door.done("export_file", path="large.bin")

        with pytest.raises(MCPError) as raised:
            await door.client.read_resource(exported.data["uri"])
        answer = await browser.get(str(raised.value).rpartition(" ")[2])

    assert "a resource is read up to 16.0 MB" in str(raised.value)
    assert len(answer.content) == 16 * 1024 * 1024 + 1


async def test_without_http_there_is_no_address(tmp_path: Path) -> None:
    keep_file(tmp_path, "a.bin", CONTENT)
    async with Doors(DoorKind("memory"), tmp_path).open() as door:
        exported = await door.done("export_file", path="a.bin")

    assert exported.data["downloadUrl"] == ""
    assert "http://" not in exported.text
