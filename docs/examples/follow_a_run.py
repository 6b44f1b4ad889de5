"""Follows a run of a scripted model by its log: `python follow_a_run.py DATA_FOLDER`. docs/core.md explains it."""

import asyncio
import sys
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from madang.agent_app import open_agent
from madang.core import run_events as events
from madang.llm.messages import TextPart
from madang.llm.opening import OpenedModel
from madang.llm.scripted import Calls, Says, ScriptedModel, Turn
from madang.settings import Settings

SCRIPT = [Turn((Calls("add_todo", {"name": "Buy tea"}), Calls("mark_todo", {"id": 1}))), Turn((Says("It is bought."),))]


@dataclass(frozen=True)
class Picture:
    """What a screen would show of a session."""

    words: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    outcome: str = ""


def fold(picture: Picture, event: events.RunEvent | None) -> Picture:
    match event:
        case events.RunStarted():
            return replace(picture, outcome="")
        case events.MessageContinued(delta=words):
            return replace(picture, words=(*picture.words, words))
        case events.ToolStarted(tool_call_name=tool):
            return replace(picture, calls=(*picture.calls, tool))
        case events.RunFinished(outcome=outcome):
            return replace(picture, outcome=outcome.type)
        case events.RunFailed(code=code):
            return replace(picture, outcome=code)
    return picture  # not drawn here, or of a newer build


async def main(folder: Path) -> None:
    settings = Settings(folder, model="script")
    async with open_agent(settings, lambda _: OpenedModel(ScriptedModel(SCRIPT))) as agent:
        call, picture = agent.madang.call("python"), Picture()
        await agent.runner.post(call, [TextPart("Buy tea, please.")])
        async with aclosing(agent.events.watch(call)) as pages:
            async for page in pages:
                picture = reduce(fold, (events.read_event(event.document()) for event in page.events), picture)
                if picture.outcome and not page.has_more:
                    break
        log = await agent.events.read(call)
        again = reduce(fold, (events.read_event(event.document()) for event in log.events), Picture())
    print(*picture.words, f"Called: {', '.join(picture.calls)}", f"Outcome: {picture.outcome}", sep="\n")
    print(f"The same from the first of {log.last_seq} events: {again == picture}")


asyncio.run(main(Path(sys.argv[1])))
