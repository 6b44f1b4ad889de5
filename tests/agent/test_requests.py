"""What a model is sent: the state of the services as it is now, and of results their text alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

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


async def test_11_a_request_without_a_session_carries_no_state_and_no_error(tmp_path: Path) -> None:
    async with bench(tmp_path, [TextPart("Done.")]) as b:
        call = replace(ME, session_id=None, actor="model")

        request, _ = await build_request(b.madang.provider, call, (), "", ModelOptions())

        assert request.state == ""
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
