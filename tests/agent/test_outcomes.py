"""What a model is told of its calls by the agent itself: each text names its tool, in the language of the session."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from madang.agent.open_calls import close_calls
from madang.agent.outcomes import outcome_part
from madang.core.calls import Locale
from madang.llm.messages import CallPart, Part, ResultPart, TextPart, dump_parts
from madang.records.runs.journal import Message as StoredMessage
from tests.agent.bench import ME, Bench, bench, tool_call
from tests.agent.outside import Outside

PREFIX = re.compile(r"\[\w+\] ")


async def outcomes_of(b: Bench) -> list[ResultPart]:
    """Return the outcomes that the last request ended with, once the run is over."""
    run = await b.say("Go on")
    assert run is not None
    assert (await b.ended(run)).state == "finished"
    return b.results()


@pytest.mark.parametrize("locale", ["en", "ko"])
async def test_every_outcome_of_a_turn_begins_with_its_tool(tmp_path: Path, locale: Locale) -> None:
    calls = [
        CallPart("c1", "add_todo", "no object"),
        CallPart("c2", "foo_bar", "{}"),
        CallPart("c3", "two\nlines", "{}"),
        tool_call("reply_prompt", "c4", messageId="1", answer="x"),
        tool_call("planning__add_todo", "c5", name="Boil water"),
    ]
    async with bench(tmp_path, calls, [TextPart("Fine.")], locale=locale) as b:
        outcomes = await outcomes_of(b)

    heads = [part.text.split("] ")[0] + "]" for part in outcomes]
    assert heads == ["[add_todo]", "[foo_bar]", "[two lines]", "[reply_prompt]", "[add_todo]"]
    error = "오류: " if locale == "ko" else "Error: "
    assert [part.text.partition("] ")[2].startswith(error) for part in outcomes] == [True, True, True, True, False]


async def test_in_a_korean_session_no_outcome_of_the_agent_has_english_labels(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [[CallPart("c1", "add_todos", "{}")], [TextPart("네.")]]
    async with bench(tmp_path, *script, locale="ko") as b:
        [outcome] = await outcomes_of(b)

    assert outcome.text.startswith("[add_todos] 오류: ")
    assert "\n힌트: " in outcome.text
    assert not re.search("Error|Hint", outcome.text)


@pytest.mark.parametrize("allow", [None, False])
async def test_a_call_that_was_not_allowed_or_not_decided_names_its_tool(tmp_path: Path, allow: bool | None) -> None:
    async with bench(tmp_path, [tool_call("erase", name="all")], [TextPart("Fine.")]) as b:
        b.madang.provider.register(Outside())
        run = await b.say("Clear it")
        assert run is not None
        [pause] = await b.open_pauses(run)
        if allow is None:
            await b.runner.post(ME, [TextPart("Wait")])
        else:
            await b.stores.approvals.decide(ME, pause.id, allow=allow)
        assert (await b.ended(run)).state == "finished"

        [outcome] = b.results()
        assert outcome.text.startswith("[erase] Error: Not done: " if allow is None else "[erase] Error: ")


@pytest.mark.parametrize("locale", ["en", "ko"])
def test_calls_of_a_run_that_was_stopped_get_outcomes_that_name_them(locale: Locale) -> None:
    calls = (CallPart("c1", "add_todo", "{}"), CallPart("c2", "delete_file", "{}"))
    stored = StoredMessage("m1", 1, "assistant", tuple(dump_parts(calls)), 0, 1, "")
    closed = close_calls([stored], {}, locale)

    texts = [part.text for part in closed[-1].parts if isinstance(part, ResultPart)]
    assert [PREFIX.match(text)[0] for text in texts if PREFIX.match(text)] == ["[add_todo] ", "[delete_file] "]  # type: ignore[index]


def test_a_text_of_another_tool_does_not_pass_for_the_prefix() -> None:
    assert outcome_part("c1", "read_file", "[note] to self").text == "[read_file] [note] to self"
    assert outcome_part("c1", "planning__add_todo", "[add_todo] Added").text == "[add_todo] Added"
