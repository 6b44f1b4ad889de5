"""The model that `make hosts` gives to real agents: it knows where it is by each request alone, on every wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hosts.conversation import Conversation, Offer, ToolCall, Turn, next_reply
from hosts.script import STEPS
from hosts.wires import ChatWire, GeminiWire, MessagesWire, ResponsesWire, Wire

CREATED = "[create_playbook] Successfully created new playbook.\nID: 01a1e0c3-5ab1-7ac6-9f45-09486b3bab30"

CHAT = {
    "tools": [{"type": "function", "function": {"name": "madang_list_playbooks"}}],
    "messages": [
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "1", "function": {"name": "madang_create_playbook", "arguments": '{"goal": "Bake"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": CREATED},
    ],
}
RESPONSES = {
    "tools": [{"type": "namespace", "name": "mcp__madang", "tools": [{"type": "function", "name": "list_playbooks"}]}],
    "input": [
        {
            "type": "function_call",
            "call_id": "1",
            "namespace": "mcp__madang",
            "name": "create_playbook",
            "arguments": '{"goal": "Bake"}',
        },
        {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": CREATED}]},
    ],
}
MESSAGES = {
    "tools": [{"name": "mcp__madang__list_playbooks"}],
    "messages": [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "1", "name": "mcp__madang__create_playbook", "input": {"goal": "Bake"}}
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": CREATED}]},
    ],
}
GEMINI = {
    "tools": [{"functionDeclarations": [{"name": "mcp_madang_list_playbooks"}]}],
    "contents": [
        {"parts": [{"functionCall": {"name": "mcp_madang_create_playbook", "args": {"goal": "Bake"}}}]},
        {"parts": [{"functionResponse": {"name": "mcp_madang_create_playbook", "response": {"output": CREATED}}}]},
    ],
}


@pytest.mark.parametrize(
    ("wire", "body"),
    [(ChatWire(), CHAT), (ResponsesWire(), RESPONSES), (MessagesWire(), MESSAGES), (GeminiWire(), GEMINI)],
    ids=["chat", "responses", "messages", "gemini"],
)
def test_after_one_of_our_results_comes_the_second_step(wire: Wire, body: dict[str, Any]) -> None:
    conversation = wire.read(body)
    reply = next_reply(conversation)

    assert conversation.results == [CREATED]
    assert isinstance(reply, ToolCall)
    assert reply.name.endswith(STEPS[1].tool)
    assert STEPS[1].tool in json.dumps([data for _, data in wire.streamed(reply)])
    assert STEPS[1].tool in json.dumps(wire.whole(reply))


def test_a_tool_of_the_host_with_the_same_name_is_not_taken_for_ours() -> None:
    offers = [Offer("create_playbook"), Offer("tool_search")]

    assert next_reply(Conversation(offers, [])) == ToolCall(
        "tool_search",
        {
            "query": "select:" + ",".join(sorted({f"mcp__madang__{step.tool}" for step in STEPS})),
            "max_results": 20,
        },
    )


def test_a_deferred_tool_is_called_by_the_name_that_a_search_brought() -> None:
    search = Turn("ToolSearch", {}, "<function>mcp__madang__create_playbook</function>")
    reply = next_reply(Conversation([Offer("ToolSearch")], [search]))

    assert reply == ToolCall("mcp__madang__create_playbook", STEPS[0].arguments([]))


def test_the_script_takes_the_id_from_what_the_model_was_given_and_ends_after_its_last_step() -> None:
    select = next(step for step in STEPS if step.tool == "select_playbook")
    turns = [Turn(f"madang_{step.tool}", {}, CREATED) for step in STEPS]

    assert select.arguments([CREATED]) == {"id": "01a1e0c3-5ab1-7ac6-9f45-09486b3bab30"}
    assert next_reply(Conversation([Offer("madang_create_playbook")], turns)) == "Done."
