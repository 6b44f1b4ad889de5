"""A long session against a short one: opening it, finding something in it, and going on with it."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from benchmarks.harness import Effort, Finding, Goal, Side, compare, interleave, repeated
from madang.agent.history import Window, count_tokens, visible
from madang.agent_app import Agent, open_agent
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, new_id
from madang.database.port import Dialect, Transaction
from madang.llm.base import Model, ModelAnswer, ModelRequest, Streamed
from madang.llm.messages import TextPart, dump_parts
from madang.llm.opening import OpenedModel
from madang.records.analysis.analysis import Analysis
from madang.records.runs.journal import NewMessage, encode_parts
from madang.records.runs.word_rows import write_words
from madang.records.runs.words import MessageAnalysis
from madang.records.sessions import ensure_session
from madang.settings import Settings
from tests.postgresql import url_in

FEW = 100
MANY = 10_000
FILLED_AT_ONCE = 200
KEPT = 40
"""Messages after the last summary: what a request has of the history in both."""
TURNS = 10

ME = Call(assistant_id=AssistantId("default"), session_id=SessionId("bench"), door="host", actor="person")
_MESSAGE = (
    "INSERT INTO message (user_id, session_no, seq, id, run_no, turn, role, parts, tokens, covers_seq) "
    "VALUES (?1, ?2, ?3, ?4, NULL, 0, ?5, ?6, ?7, ?8)"
)


class _Echo(Model):
    """Says one word."""

    provider, name, label = "echo", "echo", "echo"

    async def stream(self, request: ModelRequest) -> Streamed:
        yield ModelAnswer((TextPart("Done."),), "stop")


async def messages(effort: Effort) -> list[Finding]:
    """Opening, finding a rare and a common word, the window, and whole turns."""
    return await _compared(effort, "cpu", lambda _: "")


async def on_a_server(effort: Effort) -> list[Finding]:
    """The same on PostgreSQL, where much of the time is the server's: elapsed, not CPU."""
    return await _compared(effort, "wall", url_in)


async def _compared(effort: Effort, metric: str, database: Callable[[Path], str]) -> list[Finding]:
    async with AsyncExitStack() as stack:
        agents: dict[int, Agent] = {}
        for count in (FEW, MANY):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="madang-bench-")))
            settings = Settings(data_dir=folder, model="echo", database=database(folder))
            agents[count] = await stack.enter_async_context(open_agent(settings, lambda _: OpenedModel(_Echo())))
            await fill_session(agents[count], ME, count)
        findings = []
        for what, work, times in _WORK:
            sides: dict[int, Side] = {count: repeated(partial(work, agent), times) for count, agent in agents.items()}
            for side in sides.values():
                await side()
            samples = await interleave(effort.rounds, sides)
            name = f"{what}, {MANY:,} messages vs {FEW}"
            findings.append(
                compare(name, metric, "µs CPU" if metric == "cpu" else "µs", samples[MANY], samples[FEW], Goal(2))
            )
        return findings


async def _window(agent: Agent) -> object:
    return visible(await agent.stores.messages.read_window(ME, Window(100_000).is_full))


async def _turn(agent: Agent) -> None:
    await agent.runner.post(ME, [TextPart("And then?")])
    await agent.runner.wait_idle()


_WORK: Sequence[tuple[str, Callable[[Agent], Awaitable[object]], int]] = (
    ("open", lambda agent: agent.stores.messages.read_page(ME), 50),
    ("find a rare word", lambda agent: agent.search.search(ME, "needle"), 50),
    ("find a common word", lambda agent: agent.search.search(ME, "oolong"), 50),
    ("read the window", _window, 50),
    ("a whole turn", _turn, TURNS),
)


async def fill_session(agent: Agent, call: Call, count: int, *, is_summed_up: bool = True) -> None:
    """Write messages with their words to the call's session, and a summary of all but the last of them."""
    analysis = Analysis(agent.madang.executor)
    words = MessageAnalysis(analysis)
    filled = [await _message(words, call, number, count) for number in range(count)]
    if is_summed_up:
        summary = dump_parts([TextPart("Teas were talked about.")])
        filled.append(NewMessage(new_id(), "summary", summary, count, 10, covers_seq=count - KEPT))
    for start in range(0, len(filled), FILLED_AT_ONCE):
        rows = filled[start : start + FILLED_AT_ONCE]
        await agent.madang.database.write(
            partial(_write, call=call, dialect=agent.madang.database.dialect, messages=rows), user_id=call.user_id
        )
    await analysis.close()


async def _message(analysis: MessageAnalysis, call: Call, number: int, count: int) -> NewMessage:
    needle = "needle " if number == count // 2 else ""
    parts = [TextPart(needle + f"Message {number} of oolong, sencha and rooibos. " * 4)]
    dumped = dump_parts(parts)
    words = await analysis.words(call, dumped)
    return NewMessage(new_id(), "assistant" if number % 2 else "user", dumped, number, count_tokens(parts), words=words)


async def _write(tx: Transaction, call: Call, dialect: Dialect, messages: Sequence[NewMessage]) -> None:
    session_no = await ensure_session(tx, call)
    for message in messages:
        seq = message.event + 1
        parts = encode_parts(message.parts)
        values = (message.id, message.role, parts, message.tokens, message.covers_seq)
        await tx.run(_MESSAGE, call.user_id, session_no, seq, *values)
        if message.words is not None:
            await write_words(tx, dialect, call.user_id, session_no, seq, message.words)
    await tx.run("UPDATE session SET last_seq = ?3 WHERE user_id = ?1 AND no = ?2", call.user_id, session_no, seq)
