"""Finding what was said and what tools returned: Korean and English, newest first, of one's own alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

import pytest

from madang.agent.distil import distil
from madang.core.calls import Call
from madang.core.errors import Unavailable
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.phrases import say
from madang.database.port import Transaction
from madang.llm.messages import Part, ResultPart, TextPart
from madang.records.analysis.analysis import Analysis
from madang.records.runs.journal import RunCall
from madang.records.runs.message_search import MessageHit
from madang.records.runs.words import QUOTING_TOOLS
from tests.agent.bench import ME, Bench, bench, tool_call
from tests.postgresql import url_in

CHAT: list[Sequence[Part]] = [[TextPart("Noted.")]]


@pytest.fixture(params=["disk", "server"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_in(tmp_path) if request.param == "server" else ""


async def post(b: Bench, call: Call, text: str) -> None:
    await b.runner.post(call, [TextPart(text)])
    await b.runner.wait_idle()


def texts(hits: Sequence[MessageHit]) -> list[str]:
    return [hit.excerpt for hit in hits]


async def test_messages_and_results_are_found_newest_first(tmp_path: Path, url: str) -> None:
    script: list[Sequence[Part]] = [
        [TextPart("Noted.")],
        [tool_call("add_todo", name="Call the plumber")],
        [TextPart("Done.")],
    ]
    other = replace(ME, session_id=SessionId("other"))
    async with bench(tmp_path, *script, url=url) as b:
        await post(b, ME, "환불 규정을 알려 주세요 for the plumber")
        await post(b, other, "Remember the plumber's invoice 4711")
        search = b.search

        hits = await search.search(ME, "plumber")
        assert [(hit.session_id, hit.message.role) for hit in hits] == [
            ("other", "tool"),
            ("other", "user"),
            ("tea", "user"),
        ]
        assert "Call the plumber" in hits[0].excerpt
        assert hits[-1].title == "환불 규정을 알려 주세요 for the plumber"
        assert [hit.session_id for hit in await search.search(ME, "plumbers INVOICES")] == ["other"]
        assert [hit.session_id for hit in await search.search(ME, "환불이 규정")] == ["tea"]
        assert await search.search(ME, "plumber nowhere") == []
        assert await search.search(ME, "  ") == []
        assert [hit.session_id for hit in await search.search(ME, "plumber", session_id=ME.session)] == ["tea"]
        assert await search.search(ME, "plumber", session_id=SessionId("none")) == []
        assert len(await search.search(ME, "plumber", limit=1)) == 1


async def test_nobody_finds_what_another_user_said(tmp_path: Path, url: str) -> None:
    async with bench(tmp_path, *CHAT, url=url) as b:
        await post(b, ME, "my secret plumber")
        eve = replace(ME, user_id=UserId("eve"))
        await post(b, eve, "a plumber of eve")

        assert texts(await b.search.search(ME, "plumber")) == ["my secret plumber"]
        assert texts(await b.search.search(eve, "plumber")) == ["a plumber of eve"]
        assert await b.search.search(eve, "secret") == []


async def test_the_words_go_with_the_session(tmp_path: Path, url: str) -> None:
    async with bench(tmp_path, *CHAT, url=url) as b:
        await post(b, ME, "my secret plumber")
        await b.madang.session_operations.forget(ME)

        assert await b.search.search(ME, "plumber") == []
        for table in ("message", "message_number", "message_word", "usage", "run", "run_call"):
            sql = f"SELECT count(*) FROM {table}"

            async def count(tx: Transaction, sql: str = sql) -> int:
                row = await tx.one(sql)
                assert row is not None
                return int(row[0])

            assert await b.madang.database.read(count, user_id=ME.user_id) == 0, table


async def test_a_message_that_could_not_be_analyzed_is_stored_and_found_later(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise Unavailable(say("No dictionary."))

    async with bench(tmp_path, *CHAT, url=url) as b:
        await post(b, ME, "an old plumber")
        with monkeypatch.context() as patch:
            patch.setattr(Analysis, "tokenize", fail)
            await post(b, ME, "a plumber")
        await post(b, ME, "a new plumber")

        assert texts(await b.search.search(ME, "plumber")) == ["a new plumber", "a plumber", "an old plumber"]


async def test_a_queued_message_is_found_once_it_was_given(tmp_path: Path, url: str) -> None:
    script: list[Sequence[Part]] = [
        [tool_call("prompt_user", prompt="Which tea?", type="text")],
        [TextPart("As you like.")],
    ]
    async with bench(tmp_path, *script, url=url) as b:
        run = await b.say("Tea, please")
        assert run is not None
        await b.runner.post(ME, [TextPart("Call the plumber, rather")])
        await b.ended(run)

        assert texts(await b.search.search(ME, "plumber")) == ["Call the plumber, rather"]


async def test_a_model_searches_the_sessions_of_its_assistant(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [
        [TextPart("Noted.")],
        [TextPart("Noted.")],
        [tool_call("search_messages", query="plumber")],
        [TextPart("I have.")],
    ]
    async with bench(tmp_path, *script) as b:
        await post(b, replace(ME, session_id=SessionId("old")), "The plumber costs 300")
        await post(b, replace(ME, session_id=SessionId("x"), assistant_id=AssistantId("else")), "Another plumber")
        run = await b.say("What did he cost, again?")
        assert run is not None
        assert run.is_tainted, "what it found may be anybody's words"
        [result] = b.results()
        assert "The plumber costs 300" in result.text
        assert "Another plumber" not in result.text


async def test_a_search_never_finds_what_searches_found(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [
        [TextPart("Noted.")],
        [tool_call("search_messages", query="plumber")],
        [tool_call("agent__search_messages", query="plumber Friday")],
        [tool_call("search_messages", query="comes plumber")],
        [TextPart("That day.")],
    ]
    async with bench(tmp_path, *script) as b:
        await b.say("The plumber comes on Friday")
        run = await b.say("When does he come?")
        assert run is not None
        assert (await b.ended(run)).state == "finished"

        results = [part.text for message in b.model.requests[-1].messages for part in message.parts if is_result(part)]
        assert [text.count("\n- ") for text in results] == [1, 1, 1]
        assert [hit.message.role for hit in await b.search.search(ME, "plumber")] == ["user"]


async def test_every_tool_that_quotes_messages_is_known_to_their_index(tmp_path: Path) -> None:
    async with bench(tmp_path, [TextPart("Fine.")]) as b:
        assert [name for name in QUOTING_TOOLS if b.madang.provider.find_tool(name) is None] == []


def is_result(part: Part) -> TypeGuard[ResultPart]:
    return isinstance(part, ResultPart)


async def test_a_run_is_saved_as_a_playbook(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [
        [tool_call("write_file", "c1", path="tea.txt", content="Oolong")],
        [tool_call("export_file", "c2", path="tea.txt")],
        [tool_call("save_as_playbook", "c3", goal="Export the tea")],
        [TextPart("Saved.")],
    ]
    async with bench(tmp_path, *script) as b:
        run = await b.say("Export tea, and keep how")
        assert run is not None
        [result] = b.results()
        assert not result.is_error, result.text
        listed = await b.madang.provider.execute_tool(ME, "list_playbooks", {})
        [item] = listed.data["page"]["items"]
        assert (item["goal"], item["steps"]) == ("Export the tea", 2)


def made(number: int, tool: str, arguments: str, result: str, outcome: str = "ok") -> RunCall:
    return RunCall(number, 0, f"c{number}", tool, arguments, "done", "", "", outcome, ({"text": result},))  # type: ignore[arg-type]


def test_a_playbook_has_what_mattered_and_what_one_step_took_from_another() -> None:
    calls = [
        made(1, "list_files", "{}", "a.txt, b.txt"),
        made(2, "list_stores", "{}", "store 0198-aaaa-bbbb"),
        made(3, "add_content", '{"storeId": "0198-aaaa-bbbb", "content": "Tea"}', "added"),
        made(4, "add_content", '{"content": "Tea", "storeId": "0198-aaaa-bbbb"}', "added"),
        made(5, "add_todo", '{"name": "x"}', "no", outcome="error"),
    ]

    steps = distil(calls, lambda tool: tool.startswith("add"), frozenset())

    assert [step["action"]["toolName"] for step in steps] == ["list_stores", "add_content"]
    assert steps[0]["outputVariable"] == "list_stores_2"
    assert steps[1]["requiredData"] == ["list_stores_2"]
    assert "{list_stores_2}" in steps[1]["description"]
