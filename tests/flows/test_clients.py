"""What different MCP clients get: by what they declare, by their name, and by how the server was started."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from madang.server.mapping import APP_MIME_TYPE
from madang.settings import UiChoice
from tests.doors import DoorKind, Doors, McpDoor, Shows

PAGE_URI = "ui://playbooks/list"


async def test_a_client_that_declares_mcp_apps_gets_linked_views(mcp_doors: Doors) -> None:
    async with mcp_doors.open(shows="linked") as door:
        await door.done("create_playbook", goal="Ship it", workflow=[])
        tools = await door.tools()
        shown = await door.done("show_playbooks")

    assert tools["show_playbooks"]["_meta"]["ui"] == {"resourceUri": PAGE_URI}
    assert tools["get_playbook_page"]["_meta"]["ui"] == {"resourceUri": PAGE_URI, "visibility": ["app"]}
    assert "_meta" not in tools["list_playbooks"]
    assert shown.content == ("text",)
    assert shown.pause == "choice"
    assert shown.page.startswith("<h1")
    assert "<html" not in shown.page
    assert "select-pb-btn" in shown.page
    assert "\nStatus: Agent paused for user interaction (Select/Delete/Navigate buttons available; " in shown.text


async def test_a_linked_view_can_be_read_as_a_resource_that_fills_itself(memory_doors: Doors) -> None:
    async with memory_doors.open(shows="linked") as door:
        assert isinstance(door, McpDoor)
        shown = [tool.get("_meta", {}).get("ui", {}) for tool in (await door.tools()).values()]
        pages = {ui["resourceUri"] for ui in shown if "resourceUri" in ui}
        resources = (await door.client.list_resources()).resources
        (contents,) = (await door.client.read_resource(PAGE_URI)).contents
        with pytest.raises(MCPError, match="Resource not found"):
            await door.client.read_resource("ui://nothing")

    page = contents.model_dump(by_alias=True)
    assert PAGE_URI in pages
    assert {(resource.uri, resource.mime_type) for resource in resources} == {(uri, APP_MIME_TYPE) for uri in pages}
    assert page["mimeType"] == APP_MIME_TYPE
    assert 'data-refresh-tool="get_playbook_page"' in page["text"]
    assert page["_meta"]["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}


async def test_with_the_option_for_it_a_client_gets_the_page_inside_the_result(mcp_doors: Doors) -> None:
    async with mcp_doors.open() as door:
        await door.done("create_playbook", goal="Ship it", workflow=[])
        tools = await door.tools()
        shown = await door.done("show_playbooks")
        again = await door.done("show_playbooks")
        turned = await door.done("get_playbook_page", page=1)

    assert "get_playbook_page" not in tools
    assert not any("_meta" in tool for tool in tools.values())
    assert shown.content == ("text", "resource")
    resource = shown.resource["resource"]
    assert resource["uri"].startswith(f"{PAGE_URI}/")
    assert resource["uri"] != again.resource["resource"]["uri"]
    assert resource["mimeType"] == "text/html"
    assert resource["text"].startswith("<!doctype html>")
    assert resource["_meta"]["serviceInfo"] == {
        "serverName": "playbook",
        "toolName": "show_playbooks",
        "backendType": "BuiltInWeb",
    }
    assert shown.resource["annotations"] == {"audience": ["user"]}
    assert turned.resource["resource"]["_meta"]["serviceInfo"]["toolName"] == "get_playbook_page"


async def test_a_client_that_declares_nothing_gets_no_page_and_is_told_to_ask_in_the_chat(mcp_doors: Doors) -> None:
    async with mcp_doors.open(shows="off") as door:
        await door.done("create_playbook", goal="Ship it", workflow=[])
        tools = await door.tools()
        shown = await door.done("show_playbooks")

    assert "get_playbook_page" not in tools
    assert (shown.content, shown.page, shown.pause) == (("text",), "", "choice")
    paused = "Status: Agent paused for user interaction (do not go on: the person has not chosen yet. "
    assert f"{paused}This client shows no page" in shown.text
    assert "'select_playbook'" in shown.text


@pytest.mark.parametrize(
    ("ui", "shows", "content", "page_starts"),
    [
        ("embedded", "linked", ("text", "resource"), "<!doctype html>"),
        ("linked", "embedded", ("text",), "<h1"),
        ("off", "linked", ("text",), ""),
        ("embedded", "off", ("text", "resource"), "<!doctype html>"),
    ],
)
async def test_the_ui_option_overrides_what_the_client_declares(
    tmp_path: Path, ui: UiChoice, shows: Shows, content: tuple[str, ...], page_starts: str
) -> None:
    async with Doors(DoorKind("stdio"), tmp_path).open(ui=ui, shows=shows) as door:
        await door.done("create_playbook", goal="Ship it", workflow=[])
        shown = await door.done("show_playbooks")

    assert shown.content == content
    assert shown.page[: len(page_starts) or None] == page_starts


async def test_a_request_can_name_its_own_assistant_and_session(mcp_doors: Doors) -> None:
    async with mcp_doors.open(assistant="one", session="a") as door:
        meta = {"madang/assistantId": "two", "madang/sessionId": "b"}
        await door.send("create_playbook", {"goal": "Two's", "workflow": []}, meta)
        await door.send("create_goal", {"goal": "Goal of b"}, meta)
        mine = await door.done("list_playbooks")
        theirs = await door.send("list_playbooks", {}, meta)
        my_plan = await door.done("get_current_state")
        their_plan = await door.send("get_current_state", {}, {"madang/sessionId": "b"})

    assert mine.text.startswith("[list_playbooks] No playbooks found for agent one.")
    assert theirs.text.startswith("[list_playbooks] Found 1 playbook(s) for agent two.")
    assert my_plan.data["goal"] == ""
    assert their_plan.data["goal"] == "Goal of b"


@pytest.mark.parametrize("name", ["", " padded", "x" * 201])
async def test_a_request_that_names_no_possible_assistant_is_a_protocol_error(memory_doors: Doors, name: str) -> None:
    async with memory_doors.open() as door:
        with pytest.raises(MCPError, match="madang/assistantId must have 1 to 200 printable characters"):
            await door.send("list_playbooks", {}, {"madang/assistantId": name})


@pytest.mark.parametrize(
    ("name", "code"), [("two\nlines", "U+000A"), ("reviewer\u200b", "U+200B"), ("a\x9bb", "U+009B")]
)
async def test_a_name_with_a_character_that_is_not_seen_is_refused_by_that_character(
    memory_doors: Doors, name: str, code: str
) -> None:
    async with memory_doors.open() as door:
        with pytest.raises(MCPError, match=rf"madang/sessionId holds {re.escape(code)}, which is not seen"):
            await door.send("list_playbooks", {}, {"madang/sessionId": name})


async def test_a_name_in_single_letters_is_the_same_name(memory_doors: Doors) -> None:
    async with memory_doors.open() as door:
        for form in ("NFC", "NFD"):
            await door.send("add_todo", {"name": form}, {"madang/sessionId": unicodedata.normalize(form, "배포 회의")})
        plan = await door.send("get_current_state", {}, {"madang/sessionId": "배포 회의"})

    assert [todo["name"] for todo in plan.data["todos"]] == ["NFC", "NFD"]


async def test_an_unknown_tool_is_a_protocol_error_and_the_qualified_name_is_taken(memory_doors: Doors) -> None:
    async with memory_doors.open() as door:
        with pytest.raises(MCPError, match="There is no tool 'no_such_tool'"):
            await door.call("no_such_tool")
        with pytest.raises(MCPError, match="There is no tool 'planning__list_playbooks'"):
            await door.call("planning__list_playbooks")
        with pytest.raises(MCPError, match=r"There is no tool 'add_todos'\. Did you mean 'add_todo'"):
            await door.call("add_todos")
        qualified = await door.done("playbook__list_playbooks")

    assert qualified.text.startswith("[list_playbooks] ")


async def test_arguments_may_be_written_in_snake_case_too(memory_doors: Doors) -> None:
    async with memory_doors.open() as door:
        await door.done("create_playbook", goal="Ship it", workflow=[], initial_command="ship")
        listed = await door.done("list_playbooks", page_size=1, sort_by="goal", sort_order="desc")

    assert listed.data["page"]["pageSize"] == 1
    assert listed.data["page"]["items"][0]["initialCommand"] == "ship"


@pytest.mark.parametrize(("shows", "by"), [("off", "relayed"), ("linked", "client")])
async def test_an_answer_is_relayed_where_the_client_shows_nothing(memory_doors: Doors, shows: Shows, by: str) -> None:
    async with memory_doors.open(shows=shows) as door:
        await door.done("create_playbook", goal="Ship it", workflow=[])
        asked = await door.done("prompt_user", prompt="Which?", type="text")
        shown = await door.done("show_playbooks")
        answered = await door.done("reply_prompt", messageId=asked.data["messageId"], answer="Blue")
        selected = await door.done("select_playbook", id=shown.data["page"]["items"][0]["id"])

    assert (answered.data["by"], selected.data["by"]) == (by, by)
