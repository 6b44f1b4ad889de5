"""`madang models try NAME --stories`: how far a model gets with our tools, in a folder of its own that is then gone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from madang.agent_app import Agent, open_agent
from madang.cli.language import words
from madang.cli.story_tasks import STORIES, Scene, Story, behind_the_scene
from madang.cli.terminal import show, show_json, show_table
from madang.core.calls import Call
from madang.core.errors import ToolError
from madang.core.ids import SessionId
from madang.core.pauses import Answer, Decline
from madang.core.phrases import say
from madang.llm.keys import KeyStore
from madang.llm.messages import TextPart, parse_parts
from madang.llm.opening import open_model
from madang.records.runs.records import Run
from madang.settings import Settings

MAX_STORY_S = 600.0
MAX_QUESTIONS = 5
"""After so many the person answers no more."""

_HEADINGS = (
    say("STORY"),
    say("DONE"),
    say("CALLS"),
    say("FAILED"),
    say("READ"),
    say("WRITTEN"),
    say("QUESTIONS"),
    say("END"),
)


@dataclass(frozen=True)
class Played:
    """What came of one story."""

    story: str
    done: bool
    calls: int
    failed_calls: int
    input_tokens: int
    output_tokens: int
    questions: int
    """How often the run stopped for the person."""
    end: str
    """How the run ended: a state, or the code of its failure."""


async def run_stories(name: str, keys: KeyStore, settings: Settings, *, as_json: bool) -> int:
    """Play every story with a model, and show a table. A story that is not done is a finding, not a failure.

    Raises:
        SetupError: there is no such model.
    """
    await open_model(name, settings.models, keys).model.close()  # before a folder is made for nothing
    with TemporaryDirectory(prefix="madang-stories-") as folder:
        own = replace(settings, data_dir=Path(folder), database="", model=name, workspace=None, services=())
        async with open_agent(own, lambda model: open_model(model, settings.models, keys)) as agent:
            played = [await _play(agent, story) for story in STORIES]
    if as_json:
        show_json([asdict(one) for one in played])
        return 0
    _show(played, settings)
    return 0


async def _play(agent: Agent, story: Story) -> Played:
    settings = agent.madang.settings
    call = replace(agent.madang.call("python"), session_id=SessionId(f"story-{story.name}"))
    for tool, arguments in story.before:
        await agent.madang.provider.execute_tool(behind_the_scene(call), tool, dict(arguments))
    run = await agent.runner.post(call, [TextPart(story.asks[settings.locale])])
    assert run is not None, "each story has a session of its own"
    try:
        async with asyncio.timeout(MAX_STORY_S):
            run, questions = await _until_over(agent, story, run)
    except TimeoutError:
        await agent.runner.cancel(run.user_id, run.id)
        run, questions = await _now(agent, run), 0
    calls = await agent.stores.calls.list_by_run(run.user_id, run.id)
    scene = Scene(agent, behind_the_scene(call), await _last_words(agent, call), tuple(calls))
    is_honest = questions > 0 or not story.asks_person
    return Played(
        story.name,
        is_honest and await story.judge(scene),
        len(calls),
        sum(one.outcome not in ("ok", "") for one in calls),
        run.input_tokens,
        run.output_tokens,
        questions,
        run.error_code or run.state,
    )


async def _until_over(agent: Agent, story: Story, run: Run) -> tuple[Run, int]:
    """Follow a run to its end, answering what it asks; return it with how often it waited."""
    questions = 0
    person = replace(run.call(), actor="person", door="host", run_id="")
    while True:
        await agent.runner.wait_idle()
        run = await _now(agent, run)
        if run.state not in ("running", "waiting"):
            return run, questions
        for pause in await agent.inbox.list_awaited(run):
            if not pause.is_open:
                continue
            questions += 1
            wants = story.answer and questions <= MAX_QUESTIONS and pause.kind in ("prompt", "wait")
            try:
                await agent.inbox.settle(person, pause, Answer(story.answer) if wants else Decline())
            except ToolError:
                await agent.inbox.settle(person, pause, Decline())
        await agent.runner.look()


async def _now(agent: Agent, run: Run) -> Run:
    now = await agent.stores.runs.get(run.user_id, run.id)
    assert now is not None
    return now


async def _last_words(agent: Agent, call: Call) -> str:
    for message in reversed(await agent.stores.messages.read_page(call)):
        if message.role == "assistant":
            return "".join(part.text for part in parse_parts(list(message.parts)) if isinstance(part, TextPart))
    return ""


def _show(played: Sequence[Played], settings: Settings) -> None:
    yes, no = words(settings, say("yes")), words(settings, say("no"))
    rows = [
        (
            one.story,
            yes if one.done else no,
            str(one.calls),
            str(one.failed_calls),
            str(one.input_tokens),
            str(one.output_tokens),
            str(one.questions),
            one.end,
        )
        for one in played
    ]
    show_table([words(settings, heading) for heading in _HEADINGS], rows)
    total = say(
        "{done} of {count} done; {calls} {calls|call|calls}, {read} tokens read, {written} written.",
        done=sum(one.done for one in played),
        count=len(played),
        calls=sum(one.calls for one in played),
        read=sum(one.input_tokens for one in played),
        written=sum(one.output_tokens for one in played),
    )
    show(words(settings, total))
