"""`madang sessions` over what an agent said and did: show, search, fork, usage and the archive."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from madang.cli import main
from madang.llm.base import ModelAnswer, ModelRequest, Streamed, Usage
from madang.llm.messages import TextPart
from tests.agent.bench import Script, bench

pytestmark = pytest.mark.usefixtures("filled")


class Counting(Script):
    """Tells how many tokens it took."""

    async def stream(self, request: ModelRequest) -> Streamed:
        yield ModelAnswer((TextPart("우롱차를 추천합니다."),), "stop", Usage(100, 40, 7))


@pytest.fixture
def filled(tmp_path: Path) -> None:
    async def fill() -> None:
        async with bench(tmp_path, script=Counting()) as b:
            await b.say("Which tea?")
            await b.say("And a cheaper one?")

    asyncio.run(fill())


@pytest.fixture
def folder(tmp_path: Path) -> list[str]:
    return ["--data-dir", str(tmp_path)]


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["sessions", *words]) == code
    return capsys.readouterr().out


def test_messages_are_found_in_both_languages(capsys: pytest.CaptureFixture[str], folder: list[str]) -> None:
    hits = json.loads(run(capsys, "search", "우롱차는", "--json", *folder))
    assert [(hit["sessionId"], hit["title"], hit["role"]) for hit in hits] == [("tea", "Which tea?", "assistant")] * 2
    text = run(capsys, "search", "CHEAPER", "--in", "tea", *folder)
    assert "And a cheaper one?" in text
    assert run(capsys, "search", "coffee", *folder, code=1) == 'No message has all words of "coffee".\n'


def test_a_branch_is_made_from_a_message_that_show_lists(capsys: pytest.CaptureFixture[str], folder: list[str]) -> None:
    messages = json.loads(run(capsys, "show", "tea", "--json", *folder))
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2
    assert messages[2]["id"] in run(capsys, "show", "tea", *folder)

    told = run(capsys, "fork", "tea", "branch", "--before", messages[2]["id"], "--title", "Branch", *folder)

    assert told == "The session 'branch' branches off 'tea'.\n"
    assert len(json.loads(run(capsys, "show", "branch", "--json", *folder))) == 2
    listed = json.loads(run(capsys, "list", "--json", *folder))
    assert {(one["id"], one["title"], one["parentId"]) for one in listed} == {
        ("tea", "Which tea?", ""),
        ("branch", "Branch", "tea"),
    }
    assert main(["sessions", "fork", "tea", "x", "--after", "nothing", *folder]) == 2
    assert "There is no message 'nothing' in the session 'tea'." in capsys.readouterr().err


def test_what_models_took_is_told_by_day_session_and_model(
    capsys: pytest.CaptureFixture[str], folder: list[str]
) -> None:
    [total] = json.loads(run(capsys, "usage", "tea", "--json", *folder))
    assert (total["sessionId"], total["model"], total["requests"]) == ("tea", "script", 2)
    assert (total["inputTokens"], total["cachedTokens"], total["outputTokens"]) == (200, 80, 14)
    assert (total["cost"], total["unpricedRequests"]) == (None, 2)
    assert "not known" in run(capsys, "usage", *folder)
    assert json.loads(run(capsys, "usage", "nobody", "--json", *folder)) == []


def test_an_archived_session_is_out_of_the_list_until_it_is_taken_back(
    capsys: pytest.CaptureFixture[str], folder: list[str]
) -> None:
    run(capsys, "archive", "tea", *folder)
    assert json.loads(run(capsys, "list", "--json", *folder)) == []
    assert [one["id"] for one in json.loads(run(capsys, "list", "--archived", "--json", *folder))] == ["tea"]
    assert "tea" not in run(capsys, *folder)
    run(capsys, "unarchive", "tea", *folder)
    assert "Which tea?" in run(capsys, *folder)
    assert [one["id"] for one in json.loads(run(capsys, "list", "--json", *folder))] == ["tea"]
