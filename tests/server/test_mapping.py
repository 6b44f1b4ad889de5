"""Answers as MCP has them."""

from __future__ import annotations

from madang.core.resources import Resource
from madang.core.results import PAUSE_KEY, Link, Reply, ShownPage
from madang.database.sqlite.database import SqliteDatabase
from madang.server import mapping
from madang.services import builtin_services
from tests.asking import NO_FOLDERS

TOOLS = [tool for service in builtin_services(SqliteDatabase(None), NO_FOLDERS) for tool in service.tools]


def test_an_answer_is_text_first_then_data() -> None:
    reply = Reply("add_todo", "planning", "[add_todo] Added", {"todos": []})

    assert mapping.call_result(reply) == {
        "resultType": "complete",
        "content": [{"type": "text", "text": "[add_todo] Added"}],
        "structuredContent": {"todos": []},
        "isError": False,
    }


def test_an_error_is_marked_as_one() -> None:
    error = {"error": {"code": "not_found", "message": "m", "hint": ""}}

    result = mapping.call_result(Reply("t", "s", "[t] Error: m", error, error_code="not_found"))

    assert result["isError"] is True
    assert result["structuredContent"] == error


def test_an_embedded_page_names_the_exact_tool_and_is_for_the_person() -> None:
    page = ShownPage("playbooks", "<p>", "<!doctype html><p>")
    reply = Reply("show_playbooks", "playbook", "text", page=page, pause="choice")

    first, second = (mapping.call_result(reply) for _ in range(2))

    resource = first["content"][1]["resource"]
    assert first["content"][1]["annotations"] == {"audience": ["user"]}
    assert resource["mimeType"] == "text/html"
    assert resource["text"] == page.document
    assert resource["_meta"] == {
        "serviceInfo": {"serverName": "playbook", "toolName": "show_playbooks", "backendType": "BuiltInWeb"}
    }
    assert resource["uri"].startswith("ui://playbooks/")
    assert resource["uri"] != second["content"][1]["resource"]["uri"]
    assert first["_meta"] == {PAUSE_KEY: {"kind": "choice"}}


def test_links_come_after_the_text_and_the_page() -> None:
    page = ShownPage("card", "<p>", "<!doctype html><p>")
    link = Link("madang://exports/1/a.txt", "a.txt", mime_type="text/plain", size=0, description="Figures")

    result = mapping.call_result(Reply("export_file", "workspace", "text", page=page, links=(link,)))

    assert [part["type"] for part in result["content"]] == ["text", "resource", "resource_link"]
    assert result["content"][2] == {
        "type": "resource_link", "uri": "madang://exports/1/a.txt", "name": "a.txt", "title": "a.txt",
        "mimeType": "text/plain", "size": 0, "description": "Figures",
    }  # fmt: skip


def test_a_linked_page_puts_no_html_into_the_content() -> None:
    result = mapping.call_result(Reply("show_playbooks", "playbook", "text", page=ShownPage("playbooks", "<p>hi")))

    assert [part["type"] for part in result["content"]] == ["text"]
    assert result["_meta"] == {
        mapping.FRAGMENT_KEY: "<p>hi",
        "serviceInfo": {"serverName": "playbook", "toolName": "show_playbooks", "backendType": "BuiltInWeb"},
    }


def test_a_file_is_read_as_its_bytes() -> None:
    file = Resource("madang://exports/1/a.bin", "a.bin", "a.bin", b"\xff\x00", "application/octet-stream", size=2)

    assert mapping.file_contents(file, b"\xff\x00")["blob"] == "/wA="
    assert mapping.listed_resource(file)["size"] == 2


def test_tools_for_the_person_are_kept_from_the_model_wherever_the_page_is_shown() -> None:
    names = {mode: {tool["name"] for tool in mapping.listed_tools(TOOLS, mode)} for mode in ("off", "embedded")}
    linked = {tool["name"]: tool for tool in mapping.listed_tools(TOOLS, "linked")}

    assert "reply_prompt" in names["off"], "without a page the model tells what the person answered"
    assert "get_playbook_page" not in names["off"] | names["embedded"]
    assert linked["get_playbook_page"]["_meta"]["ui"]["visibility"] == ["app"]
    assert linked["show_playbooks"]["_meta"]["ui"]["resourceUri"].startswith("ui://")
    assert "_meta" not in linked["add_todo"]


def test_effects_become_the_hints_of_the_protocol() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in mapping.listed_tools(TOOLS, "off")}

    assert hints["get_playbook"] == {
        "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False
    }  # fmt: skip
    assert hints["delete_playbook"]["destructiveHint"] is True
    assert hints["create_playbook"] == dict.fromkeys(hints["create_playbook"], False)


def test_a_page_needs_no_network_and_says_so() -> None:
    contents = mapping.page_contents("playbooks", "<p>")

    assert contents["_meta"]["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}
    assert contents["mimeType"] == mapping.APP_MIME_TYPE
