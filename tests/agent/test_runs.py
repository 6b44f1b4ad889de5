"""Runs: the model's turns, its calls, what waits for the person, and what a next owner goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from madang.core.phrases import say
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.errors import Overloaded
from madang.llm.messages import Part, TextPart
from tests.agent.bench import ME, bench, eventually, tool_call


async def test_a_run_answers_and_ends(tmp_path: Path) -> None:
    async with bench(tmp_path, [TextPart("Hello.")]) as b:
        run = await b.say("Hi")
        assert run is not None
        assert run.state == "finished"
        assert [message.role for message in await b.stores.messages.read_page(ME)] == ["user", "assistant"]
        kinds = await b.kinds()
        assert kinds.count("RUN_STARTED") == kinds.count("RUN_FINISHED") == 1


async def test_a_call_is_made_and_its_text_is_in_the_next_request(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [[tool_call("add_todo", name="Buy tea")], [TextPart("Done.")]]
    async with bench(tmp_path, *script) as b:
        run = await b.say("Remember tea")
        assert run is not None
        assert (run.state, run.turn, run.calls) == ("finished", 2, 1)
        [result] = b.results()
        assert result.call_id == "c1"
        assert "Buy tea" in result.text


async def test_the_answer_to_a_question_is_the_outcome_of_its_call(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [
        [tool_call("prompt_user", prompt="Which tea?", type="text")],
        [TextPart("Oolong it is.")],
    ]
    async with bench(tmp_path, *script) as b:
        run = await b.say("Tea, please")
        assert run is not None
        assert run.state == "waiting"
        assert len(b.model.requests) == 1
        [pause] = await b.stores.pauses.list_by_run(run.user_id, run.id)
        await b.madang.provider.execute_tool(ME, "reply_prompt", {"messageId": pause.id, "answer": "oolong"})
        assert (await b.ended(run)).state == "finished"
        [result] = b.results()
        assert "oolong" in result.text


async def test_a_message_instead_of_an_answer_goes_on_and_leaves_the_question_open(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [
        [tool_call("prompt_user", prompt="Which tea?", type="text")],
        [TextPart("As you like.")],
    ]
    async with bench(tmp_path, *script) as b:
        run = await b.say("Tea, please")
        assert run is not None
        assert await b.runner.post(ME, [TextPart("Coffee, rather")]) is None
        assert (await b.ended(run)).state == "finished"
        [result] = b.results()
        assert result.text == (
            "[prompt_user] No answer yet: the person wrote the message below instead. The question stays open."
        )
        assert b.model.requests[-1].messages[-1].text == "Coffee, rather"


async def test_without_a_model_the_person_is_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        run = await b.say("Remember tea")
        assert run is not None
        assert run.state == "waiting"
        [pause] = await b.stores.pauses.list_by_run(run.user_id, run.id)
        await b.stores.manual.act(ME, pause.id, [tool_call("add_todo", name="Buy tea")])
        [pause] = await eventually(lambda: b.open_pauses(run), lambda pauses: pauses[0].id != pause.id)
        await b.stores.manual.act(ME, pause.id, [TextPart("Done.")])
        assert (await b.ended(run)).state == "finished"
        roles = [message.role for message in await b.stores.messages.read_page(ME)]
        assert roles == ["user", "assistant", "tool", "assistant"]


async def test_a_message_that_a_retry_begins_anew_is_streamed_from_its_beginning(tmp_path: Path) -> None:
    places: list[int | None] = []
    async with bench(tmp_path, [TextPart("Hello.")]) as b:
        failures = [Overloaded(say("Busy."), retry_after_s=0.0)]
        whole = b.model.stream

        async def stream(request: ModelRequest) -> Streamed:
            yield ModelDelta("text", "Hel")
            if failures:
                raise failures.pop()
            async for item in whole(request):
                if isinstance(item, ModelAnswer):
                    yield item

        b.model.stream = stream  # type: ignore[method-assign]
        b.runner.listen(lambda run, message_no, at_char, delta: places.append(at_char if delta else None))
        run = await b.say("Hi")

    assert run is not None
    assert (run.state, places) == ("finished", [0, None, 0])
