"""Questions through the client's own forms, in both eras, and what happens to them when something comes between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from madang.app import Madang, open_madang
from madang.server import elicitation
from madang.server.clients import KNOWN_CLIENTS, KnownClient
from madang.server.mcp import McpServer
from madang.settings import Settings

SELECT = {"prompt": "Which city?", "type": "select", "options": ["서울", "부산"]}


class Person:
    """Answers every form with what they were given to say, and remembers what they were asked."""

    def __init__(self, action: Any = "accept", answer: Any = None) -> None:
        self.action = action
        self.answer = answer
        self.asked: list[Any] = []

    async def __call__(self, _: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        content = {"answer": self.answer} if self.action == "accept" else None
        return types.ElicitResult(action=self.action, content=content)


@asynccontextmanager
async def asking(
    folder: Path, era: str, person: Person | None, *, elicit: bool = True, name: str = "some-program"
) -> AsyncIterator[Client]:
    async with open_madang(Settings(folder)) as madang:
        server = _server(madang, elicit=elicit)
        mode: Any = era
        callback: Any = person
        async with Client(
            server.server,
            mode=mode,
            elicitation_callback=callback,
            client_info=types.Implementation(name=name, version="1"),
            read_timeout_seconds=60,
        ) as client:
            yield client


def _server(madang: Madang, *, elicit: bool) -> McpServer:
    return McpServer(madang.provider, madang.call("mcp-stdio"), always_elicit=elicit)


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("question", "answer", "schema"),
    [
        ({"prompt": "Name?", "type": "text", "placeholder": "Yours"}, "홍길동", {"type": "string", "title": "Yours"}),
        (SELECT, "부산", {"type": "string", "enum": ["서울", "부산"]}),
        (
            {**SELECT, "type": "multiselect"},
            ["부산", "서울"],
            {"type": "array", "items": {"type": "string", "enum": ["서울", "부산"]}},
        ),
    ],
    ids=["text", "select", "multiselect"],
)
async def test_the_answer_given_in_the_clients_form_is_the_outcome_of_the_call_that_asked(
    tmp_path: Path, era: str, question: dict[str, Any], answer: Any, schema: dict[str, Any]
) -> None:
    person = Person(answer=answer)
    async with asking(tmp_path, era, person) as client:
        result = await client.call_tool("prompt_user", question)
        listed = await client.call_tool("list_prompts", {"status": "answered"})

    (asked,) = person.asked
    assert asked.message == question["prompt"]
    assert asked.requested_schema == {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}
    assert isinstance(result.content[0], types.TextContent)
    assert result.content[0].text.startswith("[prompt_user] Answer: ")
    assert result.structured_content is not None
    assert result.structured_content["by"] == "client"
    assert result.structured_content["answer"] == answer
    assert listed.structured_content is not None
    assert [prompt["answer"] for prompt in listed.structured_content["prompts"]] == [answer]


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_client_that_declines_faster_than_a_person_leaves_the_question_open(
    tmp_path: Path, era: str, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copilot CLI draws the form at a terminal, and without one declines it in the person's name."""
    monkeypatch.setattr(elicitation, "UNSEEN_S", 3600)
    async with asking(tmp_path, era, Person(action)) as client:
        result = await client.call_tool("prompt_user", SELECT)
        pending = await client.call_tool("list_prompts", {})

    assert isinstance(result.content[0], types.TextContent)
    assert "'reply_prompt'" in result.content[0].text
    assert "Status: Agent paused for user interaction" in result.content[0].text
    assert pending.structured_content is not None
    assert len(pending.structured_content["prompts"]) == 1


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_who_does_not_answer_has_cancelled_the_question(
    tmp_path: Path, era: str, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elicitation, "UNSEEN_S", 0)
    async with asking(tmp_path, era, Person(action)) as client:
        result = await client.call_tool("prompt_user", SELECT)

    assert result.structured_content is not None
    assert result.structured_content["cancelled"] is True


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_an_answer_that_is_no_option_leaves_the_question_open(tmp_path: Path, era: str) -> None:
    async with asking(tmp_path, era, Person(answer="대구")) as client:
        result = await client.call_tool("prompt_user", SELECT)
        pending = await client.call_tool("list_prompts", {})

    assert result.is_error
    assert pending.structured_content is not None
    assert len(pending.structured_content["prompts"]) == 1


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize(
    "person", [None, Person(answer="부산")], ids=["declares nothing", "is not known to draw forms"]
)
async def test_other_clients_get_the_page_or_the_text(tmp_path: Path, era: str, person: Person | None) -> None:
    async with asking(tmp_path, era, person, elicit=person is None) as client:
        result = await client.call_tool("prompt_user", SELECT)

    assert result.structured_content is not None
    assert result.structured_content["status"] == "awaiting_response"
    assert [part.type for part in result.content] == ["text"]


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("row", KNOWN_CLIENTS, ids=lambda row: row.prefix)
async def test_a_client_known_to_draw_forms_is_asked_by_default(tmp_path: Path, era: str, row: KnownClient) -> None:
    person = Person(answer="부산")
    async with asking(tmp_path, era, person, elicit=False, name=row.prefix) as client:
        result = await client.call_tool("prompt_user", SELECT)

    assert len(person.asked) == int(row.draws_forms)
    assert isinstance(result.content[0], types.TextContent)
    assert result.content[0].text.startswith("[prompt_user] Answer: ") == row.draws_forms
    assert (result.structured_content is not None) == (row.model_reads == "text")
