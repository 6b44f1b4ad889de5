"""A Python program at every door: tools are methods, and answers and errors are the same whichever way they came."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import assert_type

import pytest

from madang.client import ModelTools, connect, unwrap
from madang.core.errors import InvalidArguments, NotFound, SetupError, UnknownTool
from madang.services.planning.domain import Todo
from madang.services.playbook.domain import Playbook, PlaybookSummary, StepInput
from madang.services.playbook.tools import PlaybookTools
from madang.services.playbook.views.playbooks import PlaybookChanged
from madang.services.ui.tools import UiTools
from madang.settings import Settings
from tests.doors import TOKEN, Doors, serving_http

STEPS = [{"description": "Look at the log", "action": {"tool_name": "read_file", "purpose": "Find the error"}}]


async def test_the_fields_of_an_answer_are_attributes(doors: Doors) -> None:
    async with doors.open() as door, door.connect() as server:
        for number in range(3):
            await server.create_playbook(goal=f"Goal {number}", workflow=STEPS, initial_command="Begin")
        listed = await server.list_playbooks(page_size=2, sort_by="goal", sort_order="desc")
        again = await server.listPlaybooks(pageSize=2, sortBy="goal", sortOrder="desc")
        first = await server.get_playbook(id=listed.page.items[0].id)

    assert [playbook.goal for playbook in listed.page.items] == ["Goal 2", "Goal 1"]
    assert (listed.page.total_items, listed.page.totalPages, listed["page"]["hasNextPage"]) == (3, 2, True)
    assert again == listed
    assert listed.text.startswith("[list_playbooks] Found 3 playbook(s)")
    assert first.playbook.workflow[0].action.tool_name == "read_file"
    typed = unwrap(first.playbook, Playbook)
    assert (typed.initial_command, typed.workflow[0].action.tool_name) == ("Begin", "read_file")


async def test_what_a_store_holds_is_read_like_the_fields_of_an_object(doors: Doors) -> None:
    """`server.list_content(store_id).contents`, as those who show files to the person have always written it."""
    async with doors.open() as door, door.connect() as server:
        store = await server.create_store(metadata={"name": "Papers"})
        added = await server.add_content(
            store_id=store.store_id, content="첫 줄\n둘째 줄\n", metadata={"filename": "메모.txt"}
        )
        contents = (await server.list_content(store_id=store.store_id)).contents
        read = await server.read_content(content_id=added.content_id, line_range={"from_line": 2, "to_line": 2})

    assert [(content.filename, content.line_count, content.mimeType) for content in contents] == [
        ("메모.txt", 2, "text/plain")
    ]
    assert (read.content, read.line_range, read.total_lines) == ("둘째 줄\n", [2, 2], 2)


async def test_an_answer_that_pauses_says_so_at_every_door(doors: Doors) -> None:
    async with doors.open() as door, door.connect() as server:
        asked = await server.prompt_user(prompt="Which?", type="text")
        plain = await server.get_current_state()

    assert asked.pause is not None
    assert (asked.pause.kind, plain.pause) == ("prompt", None)
    assert asked.next
    assert asked.next == asked["next"]


async def test_the_tools_for_the_person_are_left_out_at_every_door(doors: Doors) -> None:
    async with doors.open() as door, door.connect() as server:
        names = [definition["name"] for definition in ModelTools(server, "anthropic").definitions]

    assert {"prompt_user", "get_prompt", "list_playbooks", "select_playbook"} <= set(names)
    assert not {"reply_prompt", "resume_from_wait", "get_playbook_page"} & set(names)
    assert [name for name in names if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)] == []


async def test_a_pause_is_at_the_answered_call(quick_doors: Doors) -> None:
    async with quick_doors.open() as door, door.connect() as server:
        tools = ModelTools(server)
        arguments = '{"prompt": "Which?", "type": "text"}'
        call = {"id": "c1", "type": "function", "function": {"name": "prompt_user", "arguments": arguments}}
        answered = await tools.run(call)

    assert answered.pause is not None
    assert answered.pause.kind == "prompt"
    assert tools.message(call, "This one") == {"role": "tool", "tool_call_id": "c1", "content": "This one"}


async def test_the_raw_response_is_unwrapped_to_the_same_data(doors: Doors) -> None:
    async with doors.open() as door, door.connect() as server:
        await server.add_todo(name="Write it down")
        response = await server.call("get_current_state", {})
        answer = await server.get_current_state()

    assert unwrap(response) == unwrap(answer)
    assert unwrap(answer.todos[0], Todo).name == "Write it down"


async def test_our_own_tools_have_the_types_of_their_methods(quick_doors: Doors) -> None:
    """`assert_type` is for mypy: it fails the check when the types get lost."""
    step = StepInput(description="Look at the log")
    async with quick_doors.open() as door, door.connect() as server:
        created = await server.typed(PlaybookTools.create_playbook)("Find it", [step], success_criteria=None)
        listing = await server.typed(PlaybookTools.list_playbooks)(page_size=5)
        with pytest.raises(NotFound):
            await server.typed(PlaybookTools.get_playbook)(id="nobody")
        with pytest.raises(TypeError, match="pag_size"):
            await server.typed(PlaybookTools.list_playbooks)(pag_size=5)  # type: ignore[call-arg]

    assert_type(created, PlaybookChanged)
    assert_type(listing.page.items, list[PlaybookSummary])
    assert created.playbook.workflow[0].description == "Look at the log"
    assert [(type(item), item.id) for item in listing.page.items] == [(PlaybookSummary, created.playbook.id)]


async def test_a_tool_that_is_kept_from_the_list_can_still_be_called(memory_doors: Doors) -> None:
    async with memory_doors.open(shows="embedded") as door, door.connect() as server:
        asked = await server.typed(UiTools.prompt_user)("Which?", "text")
        reply = await server.typed(UiTools.reply_prompt)(message_id=asked.message_id, answer="This one")
        listed = "reply_prompt" in server.tools

    assert (listed, reply.answer) == (False, "This one")


async def test_an_error_is_the_same_exception_at_every_door(doors: Doors) -> None:
    async with doors.open(locale="ko") as door, door.connect() as server:
        with pytest.raises(NotFound) as missing:
            await server.get_playbook(id="nobody")
        with pytest.raises(InvalidArguments) as invalid:
            await server.list_playbooks(page=0)
        with pytest.raises(UnknownTool) as unknown:
            await server.call("make_coffee", {})
        with pytest.raises(AttributeError, match="Did you mean 'list_playbooks'"):
            _ = server.list_playbook

    assert str(missing.value) == "플레이북 nobody를 찾을 수 없습니다."
    assert "'list_playbooks'" in str(missing.value.hint)
    assert (invalid.value.code, unknown.value.code) == ("invalid_arguments", "unknown_tool")
    assert "make_coffee" in str(unknown.value)


async def test_a_program_sees_the_tools_for_the_person_and_gets_no_page(tmp_path: Path) -> None:
    command = ["madang", "mcp", "--data-dir", str(tmp_path)]
    async with connect(command) as server:
        asked = await server.call("prompt_user", {"prompt": "Which?", "type": "text"})
        prompt = unwrap(asked)
        await server.reply_prompt(message_id=prompt["messageId"], answer="This one")
        answer = await server.get_prompt(message_id=prompt["messageId"])

    assert [part.type for part in asked.content] == ["text"]
    assert answer.answer == "This one"


async def test_each_connection_can_name_its_own_session(tmp_path: Path) -> None:
    command = ["madang", "mcp", "--data-dir", str(tmp_path)]
    async with connect(command, session="one") as one, connect(command, session="two") as two:
        await one.add_todo(name="Only here")
        counts = [len((await server.get_current_state()).todos) for server in (one, two)]

    assert counts == [1, 0]


async def test_over_http_the_token_is_sent(tmp_path: Path) -> None:
    async with serving_http(Settings(tmp_path, token=TOKEN)) as address:
        async with connect(address, token=TOKEN, session="mine") as server:
            await server.create_goal(goal="Ship it")
            state = await server.get_current_state()
        with pytest.raises(SetupError, match="cannot be reached"):
            async with connect(address, token="another"):
                pass

    assert state.goal == "Ship it"


async def test_an_address_where_nobody_listens_is_one_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(SetupError, match="cannot be reached: All connection attempts failed"):
            async with connect(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"):
                pass
