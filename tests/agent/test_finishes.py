"""Each way in which an answer can end has an outcome that is told, over every wire: no run ends without a word."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.cli.run import exit_code
from madang.core.ids import SessionId
from madang.core.own_events import Mended
from madang.core.run_events import read_event
from madang.llm.messages import TextPart
from tests.agent.bench import ME
from tests.agent.stage import Stage, ask, open_stage
from tests.model_server import Exchange, Play, answers
from tests.model_wires import Ask, Piece, Say, Think

WIRES = ["compatible", "anthropic", "openai-responses", "google-gemini"]
TODO = ask("add_todo", name="Tea")
DONE = answers(Say("Done."))

UNKNOWN = ["insufficient_system_resource", "error", "abort", "pause_turn"]
MALFORMED = "MALFORMED_FUNCTION_CALL"

# What the model answers, and then how the run ends, how often it was asked, and how often it was mended.
CASES: Mapping[str, tuple[list[Play], tuple[int, str, int, int]]] = {
    "a text": ([DONE], (0, "", 1, 0)),
    "a call, then a text": ([answers(TODO), DONE], (0, "", 2, 0)),
    "cut text, gone on with": ([answers(Say("Half an"), finish="length"), DONE], (0, "", 2, 1)),
    "cut text, twice": ([answers(Say("Half an"), finish="length")], (5, "incomplete", 2, 1)),
    "cut before a word": ([answers(Think("Hm"), finish="length")], (5, "incomplete", 2, 1)),
    # Its last call failed: it is asked whether everything was done.
    "a cut call, then a text": ([answers(TODO, finish="length"), DONE], (0, "", 3, 1)),
    "nothing, then a text": ([answers(), DONE], (0, "", 2, 1)),
    "nothing, twice": ([answers()], (5, "incomplete", 2, 1)),
    "only thoughts, twice": ([answers(Think("Hm"))], (5, "incomplete", 2, 1)),
    "a malformed call, then a text": ([answers(finish=MALFORMED), DONE], (0, "", 2, 1)),
    "a malformed call, twice": ([answers(finish=MALFORMED)], (5, "incomplete", 2, 1)),
    **{f"{word}, twice": ([answers(Say("So"), finish=word)], (5, "incomplete", 2, 1)) for word in UNKNOWN},
    **{f"{word} with a call": ([answers(TODO, finish=word), DONE], (0, "", 2, 0)) for word in UNKNOWN},
    "mended twice, with a call between": (
        [answers(), answers(TODO), answers(), DONE],
        (0, "", 4, 2),
    ),
    "withheld": ([answers(Say("I"), finish="refused")], (1, "refused", 1, 0)),
    "withheld with a call": ([answers(TODO, finish="refused")], (1, "refused", 1, 0)),
}


@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason")  # Google's package warns of a new word
@pytest.mark.parametrize("wire", WIRES)
async def test_every_finish_has_an_exit_code_and_is_mended_at_most_once(tmp_path: Path, wire: str) -> None:
    ended: dict[str, tuple[int, str, int, int]] = {}
    async with open_stage(tmp_path, wire) as stage:
        for number, (name, (plays, _)) in enumerate(CASES.items()):
            call = replace(ME, session_id=SessionId(f"case-{number}"))
            stage.server.plays(*plays)
            before = stage.request_count
            run = await stage.say("Add a todo", call)
            mends = sum(isinstance(event, Mended) for event in await typed_events(stage, call))
            ended[name] = exit_code(run), run.error_code, stage.request_count - before, mends
            # What was asked again is counted, and so is what was withheld.
            assert run.input_tokens == 100 * (stage.request_count - before), name

    assert ended == {name: end for name, (_, end) in CASES.items()}


async def typed_events(stage: Stage, call: Any = ME) -> list[Any]:
    return [read_event(event.document()) for event in (await stage.agent.events.read(call)).events]


async def test_a_cut_answer_is_gone_on_with_and_both_halves_are_kept(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(answers(Say("Green tea is"), finish="length"), answers(Say(" very good.")))
        run = await stage.say("Tell me")

        assert run.state == "finished"
        assert stage.count("Green tea is") == 1, "the model reads what it has said"
        assert stage.count("Go on exactly where it stopped") == 1
        messages = await stage.agent.stores.messages.read_page(ME)
        assert [(one.role, one.kind) for one in messages] == [
            ("user", ""),
            ("assistant", "cut"),
            ("user", "mend"),
            ("assistant", ""),
        ]


async def test_a_call_that_was_cut_is_told_how_to_go_on_in_pieces(tmp_path: Path) -> None:
    """The one before it is whole, and made."""
    async with open_stage(tmp_path, "compatible") as stage:
        half = Ask("write_file", '{"path": "long.txt", "content": "And so')
        stage.server.plays(answers(TODO, half, finish="length"), DONE)
        run = await stage.say("Write it down")

        made, cut = stage.results()
        assert (run.state, run.calls) == ("finished", 1)
        assert "Todo added" in made
        assert "cut off inside this call" in cut
        assert "mode 'append'" in cut


async def test_a_call_that_was_cut_is_not_made_even_where_it_is_valid(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(answers(Ask("add_todo", '{"name": "Half"}'), finish="length"), DONE)
        run = await stage.say("Go on")

        assert run.state == "finished"
        assert "Half" not in (await stage.call("get_current_state")).text


@pytest.mark.parametrize("arguments", ["", '{"name": "Te', "[]", "nonsense"])
async def test_half_a_call_of_an_unknown_finish_is_told_and_not_made(tmp_path: Path, arguments: str) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(answers(Ask("add_todo", arguments), TODO, finish="abort"), DONE)
        run = await stage.say("Go on")

        assert (run.state, run.calls) == ("finished", 1)
        assert ["ended before this call was whole" in text for text in stage.results()] == [True, False]


async def test_calls_beyond_the_limit_of_one_answer_are_answered_with_an_error(tmp_path: Path) -> None:
    calls: list[Piece] = [ask("add_todo", name=f"To-do {number}") for number in range(80)]
    async with open_stage(tmp_path, "compatible", calls, [Say("Done.")]) as stage:
        run = await stage.say("Go on")

        results = stage.results()
        assert (run.state, run.calls, len(results)) == ("finished", 64, 80)
        assert ["one answer may make 64 calls" in text for text in results] == [False] * 64 + [True] * 16


async def test_a_run_that_was_mended_is_not_mended_again_after_its_process_died(tmp_path: Path) -> None:
    """The next owner reads in the rows what was asked again."""

    async def never(_: Exchange) -> None:
        await asyncio.Event().wait()

    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(answers(), never)
        await stage.agent.runner.post(ME, [TextPart("Go on")])
        await stage.asked(2)
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(answers())
        run = await stage.over()

        assert (exit_code(run), run.turn, stage.request_count) == (5, 2, 1)


async def test_a_message_that_was_given_to_a_run_is_answered_after_its_process_died(tmp_path: Path) -> None:
    """It came when the run was about to finish: the last answer has no calls, and is not the last word."""

    async def never(_: Exchange) -> None:
        await asyncio.Event().wait()

    async with open_stage(tmp_path, "compatible") as stage:
        asked = asyncio.Event()

        async def slow(exchange: Exchange) -> None:
            await asked.wait()
            await DONE(exchange)

        stage.server.plays(slow, never)
        await stage.agent.runner.post(ME, [TextPart("Go on")])
        await stage.asked(1)
        await stage.agent.runner.post(ME, [TextPart("And this")])
        asked.set()
        await stage.asked(2)
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(answers(Say("This, too.")))
        run = await stage.over()

        assert (run.state, run.turn, stage.count("And this")) == ("finished", 2, 1)
