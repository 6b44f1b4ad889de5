"""Answers by those who may not, answers twice, late and at once (T27, T28, T29, T34)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from madang.app import Madang, open_madang
from madang.core.ids import SessionId, UserId
from madang.core.results import Reply
from madang.settings import Settings
from madang.system import clock
from tests.flows.test_elicitation import SELECT, asking

LATER = datetime(2999, 1, 1, tzinfo=UTC)
RACES = 1000


async def call(madang: Madang, tool: str, arguments: dict[str, Any], **whose: Any) -> Reply:
    return await madang.provider.execute_tool(replace(madang.call("python"), **whose), tool, arguments)


@pytest.mark.parametrize(
    "stranger", [{"session_id": SessionId("another")}, {"user_id": UserId("somebody")}], ids=["session", "user"]
)
async def test_t27_somebody_elses_question_is_answered_like_one_that_never_was(
    tmp_path: Path, stranger: dict[str, Any]
) -> None:
    """The same words for both, from one look-up by id and owner: neither text nor time tells that the id is taken."""
    async with open_madang(Settings(tmp_path)) as madang:
        asked = await call(madang, "prompt_user", SELECT)
        waiting = await call(madang, "wait_for_user", {"message": "Plug it in"})
        id, wait_id = asked.data["messageId"], waiting.data["waitId"]
        for tool, arguments, taken in (
            ("reply_prompt", {"messageId": id, "answer": "부산"}, id),
            ("reply_prompt", {"messageId": id, "cancelled": True}, id),
            ("reply_prompt", {"messageId": id, "answer": ["no", "option"]}, id),
            ("get_prompt", {"messageId": id}, id),
            ("get_prompt", {"messageId": wait_id}, wait_id),
            ("resume_from_wait", {"waitId": wait_id}, wait_id),
        ):
            never = taken[:-4] + "0000"
            theirs = await call(madang, tool, arguments, **stranger)
            unknown = await call(madang, tool, {**arguments, next(iter(arguments)): never}, **stranger)

            assert theirs.error_code == "not_found"
            assert theirs.text.replace(taken, never) == unknown.text
        listed = await call(madang, "list_prompts", {}, **stranger)
        kept = await call(madang, "get_prompt", {"messageId": id})
        resumed = await call(madang, "resume_from_wait", {"waitId": wait_id})

    assert (listed.data["prompts"], listed.data["total"]) == ([], 0)
    assert kept.data["status"] == "pending"
    assert not resumed.is_error


async def test_t28_an_answer_counts_once_and_the_same_one_again_is_answered_as_before(tmp_path: Path) -> None:
    async with open_madang(Settings(tmp_path)) as madang:
        id = (await call(madang, "prompt_user", SELECT)).data["messageId"]
        first = await call(madang, "reply_prompt", {"messageId": id, "answer": "부산"})
        again = await call(madang, "reply_prompt", {"messageId": id, "answer": "부산"})
        other = await call(madang, "reply_prompt", {"messageId": id, "answer": "서울"})
        cancelled = await call(madang, "reply_prompt", {"messageId": id, "cancelled": True})
        kept = await call(madang, "get_prompt", {"messageId": id})

    assert again == first
    assert [other.error_code, cancelled.error_code] == ["conflict", "conflict"]
    assert (kept.data["status"], kept.data["answer"], kept.data["settledAt"]) == (
        "answered",
        "부산",
        first.data["timestamp"],
    )


async def test_t28_after_cancelling_or_expiry_no_answer_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in another process than the one that asked, which is over by then."""
    async with open_madang(Settings(tmp_path)) as madang:
        gone = (await call(madang, "prompt_user", SELECT)).data["messageId"]
        late = (await call(madang, "prompt_user", SELECT)).data["messageId"]
        await call(madang, "reply_prompt", {"messageId": gone, "cancelled": True})
    async with open_madang(Settings(tmp_path)) as madang:
        after_cancel = await call(madang, "reply_prompt", {"messageId": gone, "answer": "부산"})
        monkeypatch.setattr(clock, "now", lambda: LATER)
        expired = [
            await call(madang, "reply_prompt", {"messageId": late, **given})
            for given in ({"answer": "부산"}, {"cancelled": True}, {"answer": "부산"})
        ]

    assert after_cancel.error_code == "conflict"
    assert [reply.error_code for reply in expired] == ["expired"] * 3


async def test_t29_of_two_tabs_that_answer_at_once_exactly_one_wins(tmp_path: Path) -> None:
    """A thousand times, through two processes' worth of provider and database on one folder."""
    async with AsyncExitStack() as stack:
        tabs = [await stack.enter_async_context(open_madang(Settings(tmp_path))) for _ in range(2)]

        async def race(number: int) -> tuple[str, str]:
            id = (await call(tabs[0], "prompt_user", SELECT)).data["messageId"]
            answers = ("부산", "서울") if number % 2 else ("서울", "부산")
            replies = await asyncio.gather(
                *(
                    call(tab, "reply_prompt", {"messageId": id, "answer": answer})
                    for tab, answer in zip(tabs, answers, strict=True)
                )
            )
            (won,) = [reply.data["answer"] for reply in replies if not reply.is_error]
            assert sorted(reply.error_code for reply in replies) == ["", "conflict"]
            kept = await call(tabs[1], "get_prompt", {"messageId": id})
            return won, kept.data["answer"]

        for begin in range(0, RACES, 50):
            outcomes = await asyncio.gather(*(race(number) for number in range(begin, begin + 50)))
            assert all(won == kept for won, kept in outcomes)


async def test_t34_the_state_of_a_question_is_bound_to_its_session_and_tool_and_survives_a_restart(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path, "auto", None) as client:
        asked = await client.call_tool("prompt_user", SELECT)
    assert asked.structured_content is not None
    state = asked.structured_content["messageId"]
    answer = {"answer": types.ElicitResult(action="accept", content={"answer": "부산"})}

    async with asking(tmp_path, "auto", None) as client:
        flipped = await resume(client, "prompt_user", state[:-1] + ("0" if state[-1] != "0" else "1"), answer)
        other = await resume(client, "prompt_user", state, answer, {"madang/sessionId": "another"})
        with pytest.raises(MCPError, match="no question"):
            await resume(client, "add_todo", state, answer)
        kept = await resume(client, "prompt_user", state, answer)
        again = await resume(client, "prompt_user", state, answer)

    assert [result["structuredContent"]["error"]["code"] for result in (flipped, other)] == ["not_found"] * 2
    assert kept["structuredContent"]["answer"] == "부산"
    assert again["structuredContent"] == kept["structuredContent"]


async def test_t34_a_state_whose_question_is_over_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(tmp_path, "auto", None) as client:
        asked = await client.call_tool("prompt_user", SELECT)
        assert asked.structured_content is not None
        state = asked.structured_content["messageId"]
        monkeypatch.setattr(clock, "now", lambda: LATER)
        answer = {"answer": types.ElicitResult(action="accept", content={"answer": "부산"})}
        late = await resume(client, "prompt_user", state, answer)

    assert late["structuredContent"]["error"]["code"] == "expired"


async def resume(
    client: Client, tool: str, state: str, answer: dict[str, Any], meta: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Repeat a call with an answer, as a client does, also one that was never asked."""
    request_meta: Any = meta
    params = types.CallToolRequestParams(
        name=tool, arguments=SELECT, input_responses=answer, request_state=state, _meta=request_meta
    )
    result = await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)
    return result.model_dump(mode="json", by_alias=True)
