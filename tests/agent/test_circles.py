"""When a run turns in a circle: a table of calls, and runs that do, or only look like it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from madang.agent.circles import PastCall, judge
from madang.llm.base import ModelAnswer, ModelRequest, Streamed
from madang.llm.messages import CallPart, TextPart
from madang.records.assistants import AssistantRecord
from tests.agent.bench import ME, Bench, Script, bench, tool_call
from tests.agent.stage import ask, open_stage
from tests.model_server import Exchange, answers
from tests.model_wires import Ask, Piece, Say
from tests.postgresql import url_in

EFFECTS = frozenset({"write", "goal", "clear", "todo", "note"})
PLANS = frozenset({"goal", "clear", "todo", "note"})


def played(story: str) -> list[PastCall]:
    """Return calls, one a turn: `tool:arguments`, `!` before a failure, `=plan` behind a change of the plan.

    Words in one turn are joined by `+`.
    """
    calls: list[PastCall] = []
    for turn, words in enumerate(story.split(), start=1):
        for number, word in enumerate(words.split("+")):
            name, _, plan = word.partition("=")
            tool = name.removeprefix("!").partition(":")[0]
            is_ok = not name.startswith("!")
            calls.append(PastCall(turn, number, tool, name, tool in EFFECTS, is_ok, plan))
    return calls


def verdicts(story: str) -> str:
    """Return what is decided after each turn: `.` nothing, `t` the model is told, `X` the run ends."""
    calls = played(story)
    turns = range(1, calls[-1].turn + 1)
    decided = (judge([call for call in calls if call.turn <= turn]) for turn in turns)
    return "".join("." if one is None else "X" if one.is_over else "t" for one in decided)


@pytest.mark.parametrize(
    ("story", "decided"),
    [
        # The same call.
        ("read:a read:a read:a read:a", "..tX"),
        ("todo:x=1 todo:x=2 todo:x=3 todo:x=4", "..tX"),
        ("!write:a !write:a !write:a !write:a", "..tX"),
        ("read:a read:b read:a read:c read:a read:a", "....tX"),
        ("read:a+read:a+read:a+read:a read:a", "tX"),
        # Reading again after progress.
        ("read:a write:1 read:a write:2 read:a write:3 read:a write:4", "........"),
        ("read:a read:a write:1 read:a read:a write:2 read:a read:a", "........"),
        # What fails is no progress.
        ("read:a !write:1 read:a !write:2 read:a !write:3", "....t."),
        # Told, heeded, and a new circle is told anew.
        ("read:a read:a read:a write:1 read:a read:a read:a read:a", "..t...tX"),
        # Cycles of the same calls.
        ("goal:a=a clear:=0 " * 4, ".....tXX"),
        ("read:a read:b read:c read:a read:b read:c read:a read:b read:c read:a", "......t" + "XXX"),
        ("write:a read:b write:c " * 4, "........tXXX"),
        # Cycles of the same tools.
        ("goal:a=a clear:=0 goal:b=b clear:=0 goal:c=c clear:=0 goal:d=d clear:=0", ".....t.X"),
        ("read:a write:a read:b write:b read:c write:c read:d write:d", "........"),
        ("read:1 read:2 read:3 read:4 read:5 read:6 read:7 read:8 read:9 read:10 read:11", "..........."),
        ("todo:1=1 todo:2=2 todo:3=3 todo:4=4 todo:5=5 todo:6=6 todo:7=7 todo:8=8 todo:9=9 todo:10=10", ".........."),
        ("!read:1 !read:2 !read:3 !read:4 !read:5 !read:6 !read:7", ".....tX"),
        ("!read:1 !write:2 !read:3 !write:4 !read:5 !write:6 !read:7", ".....tX"),
        # The plan, to and fro, in no order.
        (
            "goal:a=a todo:b=ab clear:=0 todo:c=b goal:d=ab clear:=0 goal:e=a clear:=0 todo:f=b goal:g=ab clear:=0",
            ".........tX",
        ),
        (
            "goal:a=a todo:b=ab write:1 clear:=0 todo:c=b goal:d=ab clear:=0 goal:e=a clear:=0 todo:f=b goal:g=ab",
            "...........",
        ),
        # Polling what changes.
        ("read:a1 read:a2 read:a3 read:a4 read:a5", "....."),
    ],
)
def test_a_circle_is_told_and_then_ends_the_run(story: str, decided: str) -> None:
    assert verdicts(story) == decided


LOOK = ask("list_directory")
CIRCLES: dict[str, list[list[Piece]]] = {
    "a read": [[LOOK]],
    "an effect": [[ask("add_todo", name="again")]],
    "two tools": [[ask("create_goal", goal="Tea")], [ask("clear_goal")]],
    "three reads": [[LOOK], [ask("list_playbooks")], [ask("list_content")]],
    "other arguments": [[Ask("create_goal", '{"goal": "Tea {number}"}')], [ask("clear_goal")]],
    "a plan in no order": [
        [ask("add_todo", name="Tea")],
        [ask("clear_todos")],
        [ask("create_goal", goal="Tea")],
        [ask("clear_goal")],
        [ask("create_goal", goal="Rice")],
        [ask("clear_session")],
    ],
}


@pytest.mark.parametrize("name", list(CIRCLES))
async def test_a_circle_ends_within_twelve_calls_and_its_last_result_is_kept(tmp_path: Path, name: str) -> None:
    rounds = CIRCLES[name]
    turns: list[list[Piece]] = []
    for number in range(20):
        [call] = rounds[number % len(rounds)]
        assert isinstance(call, Ask)
        turns.append([Ask(call.tool, call.arguments.replace("{number}", str(number)))])
    async with open_stage(tmp_path, "compatible", *turns) as stage:
        run = await stage.say("Go on")

        assert (run.state, run.error_code) == ("failed", "loop")
        assert run.calls <= 12
        *_, last = await stage.agent.stores.messages.read_page(ME)
        assert (last.role, last.turn) == ("tool", run.turn)
        assert stage.count("the run ends") == 1, "the model was told once"


@pytest.mark.slow
async def test_a_run_of_three_hundred_turns_that_reads_again_ends_by_itself(tmp_path: Path) -> None:
    """It reads the same file over and over, with a change between, and notes what it does; it is compacted, too."""

    def steps() -> Iterator[list[CallPart | TextPart]]:
        yield [tool_call("write_file", path="a.txt", content="One\n")]
        for number in count(1):
            yield [tool_call("read_file", path="a.txt")]
            yield [tool_call("list_directory")]
            yield [tool_call("read_file", path="a.txt")]
            yield [tool_call("add_todo", name=f"Step {number}")]
            yield [tool_call("mark_todo", id=number)]
            yield [tool_call("write_file", path=f"{number}.txt", content="x")]

    story = steps()
    turns = [next(story) for _ in range(299)]
    async with bench(tmp_path, *turns, [TextPart("Done.")], window_tokens=40_000) as stage:
        await set_turns(stage, 400)
        run = await stage.say("Go on")

        assert run is not None
        assert (run.state, run.error_code) == ("finished", "")
        assert run.turn > 290, "a summary is an answer, too"
        told = "SELECT count(*) AS told FROM message WHERE parts LIKE '%the run ends%'"
        assert list(await stage.madang.database.find(told, user_id=ME.user_id)) == [(0,)]


class Rereader(Script):
    """Reads the same file again and again, and has its history summarised where it is asked to."""

    async def stream(self, request: ModelRequest) -> Streamed:
        self.requests.append(request)
        if not request.tools:
            yield ModelAnswer((TextPart("It read a file."),), "stop")
        elif sum(bool(one.tools) for one in self.requests) <= 8:
            yield ModelAnswer((tool_call("list_directory"),), "tool_calls")
        else:
            yield ModelAnswer((TextPart("Done."),), "stop")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize(("window_tokens", "code"), [(1_000, ""), (200_000, "loop")])
async def test_reading_again_after_a_compaction_is_free(
    tmp_path: Path, database: str, window_tokens: int, code: str
) -> None:
    url = url_in(tmp_path) if database == "postgresql" else ""
    async with bench(tmp_path, script=Rereader(), window_tokens=window_tokens, url=url) as stage:
        run = await stage.say("Go on")

        assert run is not None
        assert run.error_code == code


async def test_a_message_of_the_person_begins_the_count_anew(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        wrote = asyncio.Event()

        async def slow(exchange: Exchange) -> None:
            await wrote.wait()
            await answers(LOOK)(exchange)

        stage.server.plays(answers(LOOK), slow, answers(LOOK), answers(LOOK), answers(Say("Done.")))
        await stage.agent.runner.post(ME, [TextPart("Look")])
        await stage.asked(2)
        await stage.agent.runner.post(ME, [TextPart("Look again, twice")])
        wrote.set()
        run = await stage.over()

        assert (run.state, run.calls, stage.count("the run ends")) == ("finished", 4, 0)


async def set_turns(stage: Bench, turns: int) -> None:
    limits: dict[str, Any] = {"turns": turns, "calls": 1_000}
    await stage.madang.assistants.save(ME.user_id, AssistantRecord(ME.assistant, limits=limits))
