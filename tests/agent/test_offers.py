"""Which tools a model is listed, by its window, and how it comes to the others."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from madang.agent.found_tools import FINDERS
from madang.agent.history import count_tool
from madang.agent.offers import MAX_LISTED_TOKENS, MAX_NAMES, MAX_SCHEMAS
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.schema_tools import SchemaTool
from madang.core.service import Service, ServiceMetadata
from madang.llm.base import ModelRequest
from madang.llm.messages import CallPart, Part, ResultPart, TextPart
from madang.records.assistants import AssistantRecord
from tests.agent.bench import ME, Bench, bench, tool_call
from tests.agent.outside import Outside
from tests.agent.talker import Talker
from tests.postgresql import url_in

SMALL = 8_000
DONE: Sequence[Part] = [TextPart("Done.")]


class _Nothing(Document):
    pass


async def _nothing(call: Call, arguments: Mapping[str, Any]) -> ToolResult[_Nothing]:
    return ToolResult([say("Done.")], _Nothing())


def _many_tools(count: int = 150) -> Service:
    """Return a service as another server's would be: too much for any list."""
    service = Service()
    service.metadata = ServiceMetadata("garden", say("Garden"), say("Plants of all kinds."), "1")
    schema = {"type": "object", "properties": {"bed": {"type": "string", "description": "which bed " * 20}}}
    service.tools = [
        SchemaTool(
            name=f"garden__plant_{number}",
            description=f"Plant the rose number {number} in a bed.",
            arguments=schema,
            effect="read",
            handler=_nothing,
        )
        for number in range(count)
    ]
    return service


def use(name: str, call_id: str = "u1", /, **arguments: Any) -> CallPart:
    return tool_call("use_tool", call_id, name=name, arguments=arguments)


def names(request: ModelRequest) -> list[str]:
    return [tool.name for tool in request.tools]


def prefix(request: ModelRequest) -> str:
    """Return what stands before the history."""
    return json.dumps([request.instructions, [[tool.name, tool.description, tool.schema] for tool in request.tools]])


def history(request: ModelRequest) -> list[str]:
    return [str(message) for message in request.messages]


# What is listed


async def test_few_tools_are_listed_whole_and_a_store_that_says_nothing_is_not_told_but_taken(tmp_path: Path) -> None:
    elsewhere = replace(ME, session_id=SessionId("elsewhere"))
    store = ""

    def reply(request: ModelRequest, number: int) -> Sequence[Part]:
        return [tool_call("add_content", content="Oolong", storeId=store)] if number == 1 else DONE

    async with bench(tmp_path, script=(model := Talker(reply))) as b:
        added = await b.madang.provider.execute_tool(ME, "add_content", {"content": "Sencha"})
        for _ in range(2):
            await b.madang.provider.execute_tool(elsewhere, "create_store", {})
        store = added.data["storeId"]
        await b.say("Keep this")

        last = model.requests[-1]
        assert not FINDERS & set(names(last))
        assert "write_file" in names(last)
        schemas = {tool.name: tool.schema for tool in last.tools}
        assert "storeId" not in json.dumps([schemas[name] for name in ("add_content", "read_content", "list_content")])
        assert "storeId" in schemas["delete_store"]["properties"]
        [result] = b.results()
        assert not result.is_error, result.text


async def test_a_session_with_two_stores_at_its_first_request_is_told_of_them(tmp_path: Path) -> None:
    async with bench(tmp_path, DONE) as b:
        for _ in range(2):
            await b.madang.provider.execute_tool(ME, "create_store", {})
        await b.say("Hello")

        schemas = {tool.name: tool.schema for tool in b.model.requests[0].tools}
        assert "storeId" in schemas["add_content"]["properties"]


async def test_a_small_window_is_listed_planning_questions_and_what_the_session_has(tmp_path: Path) -> None:
    async with bench(tmp_path, DONE, window_tokens=SMALL) as b:
        await b.madang.provider.execute_tool(ME, "add_content", {"content": "Oolong is half fermented."})
        await b.say("Hello")

        [request] = b.model.requests
        listed = set(names(request))
        assert {"add_todo", "prompt_user", "read_content", *FINDERS} <= listed
        assert not {"write_file", "create_playbook", "visualize_data", "search_messages"} & listed
        assert sum(map(count_tool, request.tools)) < SMALL // 4 + 200  # and the two that find the others
        [finder] = [tool for tool in request.tools if tool.name == "find_tools"]
        assert "workspace (" in finder.description
        assert "planning (" not in finder.description


async def test_more_tools_than_anybody_should_be_listed_are_found_in_a_large_window_too(tmp_path: Path) -> None:
    async with bench(tmp_path, [tool_call("find_tools", query="plant a rose")], DONE, window_tokens=1_000_000) as b:
        b.madang.provider.register(_many_tools())
        await b.say("Hello")

        assert sum(map(count_tool, b.model.requests[0].tools)) < MAX_LISTED_TOKENS
        [found] = b.results()
        told = [json.loads(line) for line in found.text.splitlines() if line.startswith("{")]
        assert [tool["name"].rpartition("_")[0] for tool in told] == ["garden__plant"] * MAX_SCHEMAS
        assert set(told[0]) == {"name", "description", "parameters"}
        others = next(line for line in found.text.splitlines() if line.startswith("Others"))
        assert others.count(",") == MAX_NAMES - 1
        assert found.text.endswith("Call one with 'use_tool': its name, and its arguments as an object.")
        # Another server has said what its tools are for.
        [call] = await b.stores.calls.list_by_run(ME.user_id, await _last_run(b))
        assert call.origins


async def test_a_korean_question_finds_a_tool_and_is_answered_in_korean(tmp_path: Path) -> None:
    script = [tool_call("find_tools", query="파일 이름을 바꾸고 싶어요")], DONE
    async with bench(tmp_path, *script, window_tokens=SMALL, locale="ko") as b:
        await b.say("이름을 바꿔 줘")

        [found] = b.results()
        first, *lines = found.text.splitlines()
        assert "맞는 도구 5개" in first
        assert json.loads(lines[0])["name"] == "move_file"
        assert not any(call.origins for call in await b.stores.calls.list_by_run(ME.user_id, await _last_run(b)))


async def _last_run(b: Bench) -> str:
    rows = await b.madang.database.find("SELECT id FROM run ORDER BY no DESC LIMIT 1", user_id=ME.user_id)
    return str(rows[0][0])


async def test_an_assistant_that_cannot_find_tools_is_listed_all_of_them(tmp_path: Path) -> None:
    async with bench(tmp_path, DONE, window_tokens=SMALL) as b:
        granted = ("planning", "ui", "workspace", "playbook", "chart", "content")
        await b.madang.assistants.save(ME.user_id, AssistantRecord(AssistantId("default"), services=granted))
        await b.say("Hello")

        assert {"write_file", "create_playbook"} <= set(names(b.model.requests[0]))
        assert not FINDERS & set(names(b.model.requests[0]))


# What stays


@pytest.mark.parametrize("window", [SMALL, 16_000, 200_000])
@pytest.mark.parametrize("is_crowded", [False, True])
async def test_the_beginning_stays_within_and_between_turns_and_when_a_tool_was_found(
    tmp_path: Path, window: int, is_crowded: bool
) -> None:
    script: list[Sequence[Part]] = [
        [tool_call("find_tools", "c1", query="write a file")],
        [use("write_file", "c2", path="tea.md", content="Oolong")],
        [tool_call("add_content", "c3", content="Sencha")],
        DONE,
        [tool_call("create_store", "c4")],
        DONE,
    ]
    async with bench(tmp_path, *script, window_tokens=window) as b:
        if is_crowded:
            b.madang.provider.register(_many_tools())
        await b.say("Write it")
        await b.say("And a store")

        requests = b.model.requests
        assert len(requests) == 6
        assert {prefix(request) for request in requests} == {prefix(requests[0])}
        for earlier, later in pairwise(requests):
            assert history(later)[: len(earlier.messages)] == history(earlier)
        assert (window == SMALL or is_crowded) == (set(names(requests[0])) >= FINDERS)
        page = await b.madang.provider.execute_tool(ME, "read_file", {"path": "tea.md"})
        assert "Oolong" in page.text


@pytest.fixture(params=["disk", "server"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_in(tmp_path) if request.param == "server" else ""


async def test_what_was_settled_is_kept_by_the_next_process_a_fork_a_copy_and_an_archive(
    tmp_path: Path, url: str
) -> None:
    async with bench(tmp_path, DONE, window_tokens=SMALL, url=url) as b:
        await b.say("Hello")
        first = prefix(b.model.requests[0])

    async with bench(tmp_path, DONE, window_tokens=200_000, url=url) as b:
        await b.say("Hello again")
        assert prefix(b.model.requests[-1]) == first
        [message, *_] = await b.stores.messages.read_page(ME)
        fork, copy, back = (replace(ME, session_id=SessionId(name)) for name in ("fork", "copy", "back"))
        await b.madang.session_operations.fork(ME, SessionId("fork"), message.id)
        await b.madang.session_operations.copy(ME, SessionId("copy"))
        await b.madang.session_operations.export(ME, tmp_path / "tea.zip")
        await b.madang.session_operations.forget(ME)
        await b.madang.session_operations.import_(back, tmp_path / "tea.zip")
        for call in (fork, copy, back):
            await b.runner.post(call, [TextPart("Hello there")])
            await b.runner.wait_idle()
            assert prefix(b.model.requests[-1]) == first, call.session
        fresh = replace(ME, session_id=SessionId("fresh"))
        await b.runner.post(fresh, [TextPart("Hello")])
        await b.runner.wait_idle()
        assert not FINDERS & set(names(b.model.requests[-1]))


# What is called


async def test_a_call_through_use_tool_is_kept_and_shown_as_the_tool_and_sent_as_it_was_made(tmp_path: Path) -> None:
    asked = use("write_file", path="tea.md", content="Oolong")
    async with bench(tmp_path, [asked], DONE, window_tokens=SMALL) as b:
        run = await b.say("Write it")
        assert run is not None

        [call] = await b.stores.calls.list_by_run(ME.user_id, run.id)
        assert (call.tool, json.loads(call.arguments)) == ("write_file", {"path": "tea.md", "content": "Oolong"})
        [shown] = [message for message in await b.stores.messages.read_page(ME) if message.role == "assistant"][:1]
        assert shown.parts[0]["tool"] == "write_file"
        assert "use_tool" not in [event.payload.get("toolCallName") for event in (await b.events.read(ME)).events]
        _, message, results = b.model.requests[-1].messages
        assert message.parts == (asked,)
        [result] = results.parts
        assert isinstance(result, ResultPart)
        assert result.tool == "use_tool"
        assert result.text.startswith("[write_file] ")
    # The rows are written by then.
    with closing(sqlite3.connect(tmp_path / "madang.db")) as database:
        assert database.execute("SELECT tool, effect FROM audit").fetchall() == [("write_file", "write")]


@pytest.mark.parametrize(
    "call",
    [
        tool_call("write_file", path="tea.md", content="Oolong"),
        tool_call("use_tool", name="workspace__write_file", arguments={"path": "tea.md", "content": "Oolong"}),
        tool_call("use_tool", name="write_file", arguments='{"path": "tea.md", "content": "Oolong"}'),
    ],
)
async def test_a_tool_that_is_not_listed_is_called_by_its_name_as_well(tmp_path: Path, call: CallPart) -> None:
    async with bench(tmp_path, [call], DONE, window_tokens=SMALL) as b:
        await b.say("Write it")

        [result] = b.results()
        assert not result.is_error, result.text
        assert "write_file" not in names(b.model.requests[0])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "use_tool", "arguments": {"name": "add_todo", "arguments": {}}}, "'use_tool' cannot be called with"),
        ({"name": "write_file"}, "arguments: is required"),
        ({"name": "write_file", "arguments": "tea"}, "arguments: must be an object"),
        ({"name": 3, "arguments": {}}, "name: must be a string"),
        ({"name": "write_file", "arguments": {}, "path": "tea.md"}, "path: is not an argument of this tool"),
        ({"name": "rename_file", "arguments": {}}, "Did you mean 'move_file'"),
        ({"name": "write_file", "arguments": {"path": 3}}, "[write_file] Error: path: must be a string"),
        ({"name": "reply_prompt", "arguments": {"messageId": "m", "answer": "yes"}}, "for the person, not for"),
        ({"name": "get_current_state", "arguments": {}}, "[get_current_state] "),
    ],
)
async def test_what_names_no_tool_or_none_for_a_model_is_answered_so(
    tmp_path: Path, arguments: dict[str, Any], told: str
) -> None:
    async with bench(tmp_path, [tool_call("use_tool", "u1", **arguments)], DONE, window_tokens=SMALL) as b:
        await b.say("Do it")

        [result] = b.results()
        assert told in result.text


async def test_a_call_through_use_tool_is_asked_for_as_the_tool_itself_is(tmp_path: Path) -> None:
    async with bench(tmp_path, [use("send", text="Hello")], DONE, window_tokens=SMALL) as b:
        outside = Outside()
        b.madang.provider.register(outside)
        run = await b.say("Send it")
        assert run is not None

        [pause] = await b.open_pauses(run)
        assert (run.state, pause.kind) == ("waiting", "approval")
        assert outside.holder.sent == []
        [call] = await b.stores.calls.list_by_run(ME.user_id, run.id)
        assert call.tool == "send"


async def test_the_same_call_through_use_tool_again_and_again_ends_the_run(tmp_path: Path) -> None:
    async with bench(tmp_path, [use("list_directory")], window_tokens=SMALL) as b:
        run = await b.say("Look")

        assert run is not None
        assert (run.state, run.error_code) == ("failed", "loop")


async def test_nobody_but_a_runs_model_is_listed_the_two_or_may_call_them(tmp_path: Path) -> None:
    async with bench(tmp_path, DONE) as b:
        provider = b.madang.provider
        for call in (ME, b.madang.call("python"), replace(ME, door="mcp-http", actor="foreign")):
            assert not FINDERS & {tool.name for tool in await provider.available_tools(call)}
            refused = await provider.execute_tool(call, "find_tools", {"query": "files"})
            assert refused.error_code == "denied"
