"""What a model is sent: the state of the services as it is now, and of results their text alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from madang.agent import state_note
from madang.agent.prompt import build_request
from madang.llm.base import ModelOptions
from madang.llm.messages import ImagePart, Part, TextPart
from tests.agent.bench import ME, bench, tool_call


async def test_10_each_request_carries_the_services_state_of_that_moment_and_it_is_not_stored(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [[tool_call("add_todo", name="Buy oolong")], [TextPart("Done.")]]
    async with bench(tmp_path, *script) as b:
        await b.say("Remember the tea")

        first, second = b.model.requests
        assert "Buy oolong" not in first.state
        assert "Buy oolong" in second.state
        heading = next(line for line in second.state.splitlines() if line.startswith("#"))
        for message in await b.stores.messages.read_page(ME):
            assert heading not in str(message.parts)
        assert heading not in str(second.messages)


async def test_11_a_request_without_a_session_tells_the_time_alone_and_no_error(tmp_path: Path) -> None:
    async with bench(tmp_path, [TextPart("Done.")]) as b:
        call = replace(ME, session_id=None, actor="model")

        request, _ = await build_request(b.madang.provider, call, (), "", ModelOptions())

        assert request.state.count("\n") == 1, request.state
        assert "\nNow: " in request.state
        assert "rror" not in request.instructions


async def test_12_the_history_of_a_call_holds_its_text_only(tmp_path: Path) -> None:
    data = {"labels": ["oolong", "sencha"], "values": [3, 5]}
    script: list[Sequence[Part]] = [
        [tool_call("prompt_user", "c1", prompt="Which tea?", type="text")],
        [tool_call("visualize_data", "c2", type="bar", title="Teas", data=data)],
        [TextPart("Done.")],
    ]
    async with bench(tmp_path, *script) as b:
        run = await b.say("Draw it")
        assert run is not None
        [pause] = await b.open_pauses(run)
        await b.madang.provider.execute_tool(ME, "reply_prompt", {"messageId": pause.id, "answer": "oolong"})
        await b.ended(run)

        results = [message for message in await b.stores.messages.read_page(ME) if message.role == "tool"]
        assert len(results) == 2
        for message in results:
            [part] = message.parts
            assert set(part) <= {"type", "callId", "tool", "text", "isError"}
            for markup in ("<div", "<svg", "<html", "ui://"):
                assert markup not in part["text"]


async def test_an_image_without_words_has_a_place_of_its_own_in_the_history(tmp_path: Path) -> None:
    async with bench(tmp_path, [TextPart("A dot.")]) as b:
        await b.runner.post(ME, [ImagePart(b"\x89PNG", "image/png")])
        await b.runner.wait_idle()
        await b.runner.post(ME, [ImagePart(b"\x89PNG", "image/png")])
        await b.runner.wait_idle()

        messages = await b.stores.messages.read_page(ME)
        assert [message.role for message in messages] == ["user", "assistant"] * 2
        by_seq = {event.seq: event for event in (await b.events.read(ME)).events}
        for message in messages:
            told = by_seq[message.seq].payload
            assert message.id in (told.get("messageId"), told.get("value", {}).get("messageId"))


async def test_the_state_stands_before_the_person_s_words_and_after_results(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [
        [tool_call("add_todo", "c1", name="Buy tea")],
        [TextPart("Done.")],
        [TextPart("Gladly.")],
    ]
    async with bench(tmp_path, *script) as b:
        await b.say("Plan the tea party")
        await b.say("Thank you")

    first, second, third = (request.parted()[1][0] for request in b.model.requests)
    words = [part.text for part in first.parts if isinstance(part, TextPart)]
    assert words[0].startswith("[Madang's note on the state of this session.")
    assert words[1:] == ["Plan the tea party"], "the person's words are the last"
    assert second.text.splitlines()[0].startswith("[Madang's note")
    assert "ID:1 Buy tea" in second.text
    assert second.text.endswith(
        "\n[End of the note. The results above are for this request of the person: Plan the tea party If all of it is "
        "done, tell them; if not, take the next step.]"
    )
    assert third.text.endswith("Thank you")
    assert "request:" not in third.text


async def test_the_note_tells_the_time_of_the_person_and_its_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    monkeypatch.setattr(state_note, "now", lambda: datetime(2026, 11, 18, 20, 5, tzinfo=UTC))
    try:
        async with bench(tmp_path, [TextPart("Hello.")]) as b:
            await b.say("Hello")
    finally:
        monkeypatch.undo()
        time.tzset()

    assert "\nNow: Thursday, 2026-11-19 05:05 (KST, UTC+09:00)" in b.model.requests[0].state


async def test_a_run_is_not_told_again_what_was_answered(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [
        [tool_call("prompt_user", "c1", prompt="Which tea?", type="text")],
        [TextPart("Oolong it is.")],
    ]
    async with bench(tmp_path, *script) as b:
        run = await b.say("Ask me")
        assert run is not None
        [pause] = await b.open_pauses(run)
        await b.madang.provider.execute_tool(ME, "reply_prompt", {"messageId": pause.id, "answer": "oolong"})
        await b.ended(run)

    assert "oolong" not in b.model.requests[-1].state
    assert "Which tea?" not in b.model.requests[-1].state
