"""What ten everyday tasks take of a model's context: instructions, tools, state and results, in both languages.

Beside them stand the tokens of the commit add3be6, which sent schemas with their bounds. They were counted by this
file, with `PYTHONPATH` set to a worktree of that commit: `python -m benchmarks.requests` prints them.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.harness import Effort, Finding, Goal
from benchmarks.tokens import ENCODING, TOKENIZER, count_texts
from benchmarks.venvs import python_with
from madang.agent_app import open_agent
from madang.llm.messages import CallPart, Part, ResultPart, TextPart
from madang.llm.opening import OpenedModel
from madang.settings import Settings
from tests.agent.bench import ME, Bench, Script, tool_call

PARTS = ("instructions", "tools", "state", "results", "note")
BEFORE: dict[str, dict[str, int]] = {
    "en": {"instructions": 7_875, "tools": 151_865, "state": 1_192, "results": 1_927},
    "ko": {"instructions": 7_875, "tools": 151_865, "state": 1_341, "results": 2_157},
}
MAX_TOOLS, MAX_STATE = 0.70, 0.60

Locale = Literal["en", "ko"]


@dataclass(frozen=True, slots=True)
class Task:
    """What the person asks for, and the calls with which a model does it, turn by turn."""

    asked: dict[Locale, str]
    calls: Sequence[Sequence[CallPart]]
    answer: str = ""
    """What the person answers, if they are asked something."""


def _call(tool: str, /, **arguments: Any) -> list[CallPart]:
    return [tool_call(tool, f"{tool}-1", **arguments)]


_STEPS = [{"description": "Collect the figures"}, {"description": "Write the summary"}]
_SALES = [{"label": "January", "value": 3}, {"label": "February", "value": 5}]

TASKS = (
    Task(
        {"en": "Plan the week of the fair.", "ko": "박람회 주간을 계획해 줘."},
        [
            _call("create_goal", goal="Prepare the fair"),
            _call("add_todo", name="Book the room"),
            _call("add_todo", name="Invite the speakers"),
            _call("mark_todo", id=1),
        ],
    ),
    Task(
        {"en": "Write the agenda to agenda.md.", "ko": "의제를 agenda.md에 써 줘."},
        [_call("write_file", path="agenda.md", content="# Agenda\n- Tea\n"), _call("read_file", path="agenda.md")],
    ),
    Task(
        {"en": "Rename draft.md to final.md.", "ko": "draft.md를 final.md로 바꿔 줘."},
        [
            _call("write_file", path="draft.md", content="Draft\n"),
            _call("move_file", source="draft.md", target="final.md"),
            _call("list_directory"),
        ],
    ),
    Task(
        {"en": "Replace coffee by tea in menu.md.", "ko": "menu.md에서 커피를 차로 바꿔 줘."},
        [
            _call("write_file", path="menu.md", content="coffee, cake\n"),
            _call("edit_file", path="menu.md", edits=[{"oldText": "coffee", "newText": "tea"}]),
        ],
    ),
    Task(
        {"en": "Keep this text and find what it says of leave.", "ko": "이 글을 저장하고 휴가에 대한 부분을 찾아 줘."},
        [
            _call("add_content", content="Annual leave is 25 days. Sick leave needs a note."),
            _call("keyword_similarity_search", query="annual leave"),
            _call("list_content"),
        ],
    ),
    Task(
        {"en": "Make a playbook of the weekly report.", "ko": "주간 보고를 플레이북으로 만들어 줘."},
        [_call("create_playbook", goal="Weekly report", workflow=_STEPS), _call("list_playbooks")],
    ),
    Task(
        {"en": "Draw the sales as bars.", "ko": "매출을 막대그래프로 그려 줘."},
        [_call("visualize_data", type="bar", title="Sales", data=_SALES)],
    ),
    Task(
        {"en": "Ask me which tea I want and note it.", "ko": "어떤 차를 원하는지 묻고 적어 둬."},
        [
            _call("prompt_user", prompt="Which tea?", type="select", options=["oolong", "sencha"]),
            _call("add_observation", observation="The person wants oolong."),
        ],
        answer="oolong",
    ),
    Task(
        {"en": "Which lines of the notes mention tea?", "ko": "메모에서 차가 나오는 줄을 찾아 줘."},
        [
            _call("write_file", path="notes/monday.md", content="tea at nine\nlunch\n"),
            _call("grep", pattern="tea"),
            _call("search_files", pattern="*.md"),
        ],
    ),
    Task(
        {"en": "Give me all files as one package.", "ko": "모든 파일을 한 묶음으로 줘."},
        [
            _call("write_file", path="a.md", content="A\n"),
            _call("write_file", path="b.md", content="B\n"),
            _call("export_zip", files=["a.md", "b.md"]),
        ],
    ),
)


async def requests(effort: Effort) -> list[Finding]:
    """The tokens of ten tasks, all requests together, vs those of the commit above."""
    python = python_with(TOKENIZER)
    if python is None:
        return []
    findings = []
    for locale in ("en", "ko"):
        now = await measure(locale, python)
        for part in PARTS:
            before = BEFORE[locale]["state" if part == "note" else part]
            goal = Goal(MAX_TOOLS) if part == "tools" else Goal(MAX_STATE if part == "state" else 1, promised=False)
            what = f"requests, {part} of ten tasks, {locale}, tokens ({ENCODING}) vs add3be6"
            findings.append(Finding(what, "tokens", now[part], before, now[part] / before, goal))
    return findings


async def measure(locale: Locale, python: Path) -> dict[str, int]:
    """Return how many tokens each part of all requests has; a result counts once, where it is new."""
    texts: list[tuple[str, str]] = []
    for task in TASKS:
        with tempfile.TemporaryDirectory() as folder:
            texts += await _play(task, locale, Path(folder))
    counts: Counter[str] = Counter()
    for (part, _), count in zip(texts, count_texts(python, [text for _, text in texts]), strict=True):
        counts[part] += count
    return {part: counts[part] for part in PARTS}


async def _play(task: Task, locale: Locale, folder: Path) -> list[tuple[str, str]]:
    """Do a task, and return the parts of its requests."""
    answers: list[Sequence[Part]] = [*task.calls, [TextPart("Done.")]]
    model = Script(*answers)
    settings = Settings(data_dir=folder, model="script", locale=locale)
    async with open_agent(settings, lambda name: OpenedModel(model)) as agent:
        bench = Bench(agent.madang, agent.runner, agent.stores, agent.events, agent.search, model)
        run = await bench.say(task.asked[locale])
        assert run is not None
        if task.answer:
            [pause] = await bench.open_pauses(run)
            settled = {"messageId": pause.id, "answer": task.answer}
            await agent.madang.provider.execute_tool(ME, "reply_prompt", settled)
            run = await bench.ended(run)
        assert run.state == "finished", run.error
    texts: list[tuple[str, str]] = []
    for request in model.requests:
        tools = [{"name": one.name, "description": one.description, "parameters": one.schema} for one in request.tools]
        tools_text = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
        state, note = _parted(request.state)
        texts += [("instructions", request.instructions), ("tools", tools_text), ("state", state), ("note", note)]
    last = model.requests[-1].messages
    results = [part for message in last for part in message.parts if isinstance(part, ResultPart)]
    assert not any(part.is_error for part in results), results
    return [*texts, *(("results", part.text) for part in results)]


def _parted(text: str) -> tuple[str, str]:
    """Return what the services tell, and the note around it: its heading with the time, and the person's request.

    The commit beside had no such note, so it is counted by itself.
    """
    head, _, state = text.partition("\n\n") if text.startswith("[") else ("", "", text)
    lines = (state or head).split("\n")
    end = lines.pop() if len(lines) > 1 and lines[-1].startswith("[") else ""
    if not state:
        return "", "\n".join([*lines, end])
    return "\n".join(lines), f"{head}\n{end}"


async def _main() -> None:
    python = python_with(TOKENIZER)
    assert python is not None
    print({locale: await measure(locale, python) for locale in ("en", "ko")})


if __name__ == "__main__":
    asyncio.run(_main())
