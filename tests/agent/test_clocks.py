"""Clocks that jump in the middle of a pause: the run goes on at once, and who watches hears of every event in order."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from madang.core.pauses import PauseRecord
from madang.llm.messages import TextPart
from madang.system import clock
from tests.agent.bench import ME, Bench, bench, tool_call

AHEAD = (timedelta(seconds=20), timedelta(hours=1), timedelta(days=3))
PAUSES: dict[str, dict[str, Any]] = {
    "prompt_user": {"prompt": "Which tea?", "type": "text"},
    "wait_for_user": {"message": "Boil the water"},
    "show_playbooks": {},
}


def jump_clock(monkeypatch: pytest.MonkeyPatch, jump: timedelta) -> None:
    """Set the clock on the wall, and that of ids; the one that only goes on stays."""
    now, now_ns = clock.now, time.time_ns
    monkeypatch.setattr(clock, "now", lambda: now() + jump)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + int(jump.total_seconds() * 1_000_000_000))


async def settle(b: Bench, pause: PauseRecord, playbook: str) -> None:
    answers: dict[str, tuple[str, dict[str, Any]]] = {
        "prompt_user": ("reply_prompt", {"messageId": pause.id, "answer": "oolong"}),
        "wait_for_user": ("resume_from_wait", {"waitId": pause.id}),
        "show_playbooks": ("select_playbook", {"id": playbook, "pauseId": pause.id}),
    }
    tool, arguments = answers[pause.tool]
    reply = await b.madang.provider.execute_tool(ME, tool, arguments)
    assert not reply.is_error, reply.text


async def watch_until_finished(b: Bench) -> list[int]:
    """Return the numbers of the events that somebody hears of who watches from the beginning."""
    numbers: list[int] = []
    async with asyncio.timeout(60), aclosing(b.events.watch(ME)) as pages:
        async for page in pages:
            numbers += [event.seq for event in page.events]
            if any(event.kind == "RUN_FINISHED" and "interrupt" not in str(event.payload) for event in page.events):
                return numbers
    raise AssertionError("the log has no end")


@pytest.mark.parametrize("jump", [*AHEAD, *(-jump for jump in AHEAD)], ids=str)
@pytest.mark.parametrize("tool", PAUSES)
async def test_a_clock_that_jumps_while_a_run_waits_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, jump: timedelta
) -> None:
    script = [tool_call(tool, "c1", **PAUSES[tool])], [tool_call("add_todo", "c2", name="Tea")], [TextPart("Done.")]
    async with bench(tmp_path, *script) as b:
        created = await b.madang.provider.execute_tool(ME, "create_playbook", {"goal": "Tea", "workflow": []})
        watching = asyncio.create_task(watch_until_finished(b))
        run = await b.say("Go")
        assert run is not None
        [pause] = await b.open_pauses(run)

        jump_clock(monkeypatch, jump)
        await settle(b, pause, created.data["playbook"]["id"])
        assert (await b.ended(run)).state == "finished"

        numbers = await watching
        assert numbers == list(range(1, len(numbers) + 1)), "no gap, in order"
        await b.say("Thank you")  # a session goes on whatever its clock says
        assert (await b.events.read(ME, after=numbers[-1])).events
