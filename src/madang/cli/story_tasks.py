"""Twelve tasks for a model of one's own, each judged by what is there afterwards: rows and files, not claims."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from madang.agent_app import Agent
from madang.core.calls import Call, Locale
from madang.records.runs.journal import RunCall


@dataclass(frozen=True)
class Scene:
    """A story after it was played: what its judge may look at."""

    agent: Agent
    call: Call
    answer: str
    """The last words of the model."""
    calls: tuple[RunCall, ...] = ()

    async def look(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """Return what a reading tool says, as data; nothing where it fails."""
        reply = await self.agent.madang.provider.execute_tool(self.call, tool, arguments)
        return {} if reply.is_error else reply.data

    async def text(self, path: str) -> str:
        """Return the lines of a file, with their numbers; empty if it is not there."""
        reply = await self.agent.madang.provider.execute_tool(self.call, "read_file", {"path": path})
        return "" if reply.is_error else reply.text

    def was_done(self, tool: str) -> bool:
        return any(call.tool == tool and call.outcome == "ok" for call in self.calls)


Judge = Callable[[Scene], Awaitable[bool]]


@dataclass(frozen=True)
class Story:
    """What is there before, what the person asks, what they answer when they are asked, and what has to be there."""

    name: str
    asks: Mapping[Locale, str]
    judge: Judge
    before: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Calls that prepare it."""
    answer: str = ""
    """What the person says to a question; without it they decline."""
    asks_person: bool = False
    """It cannot be done without asking: a run that did not stop for an answer has made one up."""


async def _plan(scene: Scene) -> bool:
    plan = await scene.look("get_current_state")
    return bool(plan["goal"]) and len(plan["todos"]) >= 3


async def _tick(scene: Scene) -> bool:
    todos = (await scene.look("get_current_state"))["todos"]
    return [todo["status"] for todo in todos] == ["completed", "pending"]


async def _write(scene: Scene) -> bool:
    return "Hello, courtyard" in await scene.text("hello.txt")


async def _edit(scene: Scene) -> bool:
    text = await scene.text("notes.md")
    return "Thursday" in text and "Friday" not in text and "Bring the maps" in text


async def _rename(scene: Scene) -> bool:
    return "The draft" in await scene.text("final.md") and not await scene.text("draft.md")


async def _find(scene: Scene) -> bool:
    return "37" in scene.answer


async def _keep(scene: Scene) -> bool:
    found = await scene.look("keyword_similarity_search", query="4471")
    return bool(found.get("results"))


async def _playbook(scene: Scene) -> bool:
    items = (await scene.look("list_playbooks"))["page"]["items"]
    return any(item["steps"] >= 2 for item in items)


async def _follow(scene: Scene) -> bool:
    return "done" in (await scene.text("checked.txt")).lower()


async def _ask(scene: Scene) -> bool:
    return "persimmon" in (await scene.text("colour.txt")).lower()


async def _chart(scene: Scene) -> bool:
    return scene.was_done("visualize_data")


async def _export(scene: Scene) -> bool:
    return scene.was_done("export_file") or scene.was_done("export_zip")


def _file(path: str, content: str) -> tuple[str, Mapping[str, Any]]:
    return "write_file", {"path": path, "content": content}


STORIES = (
    Story(
        "plan",
        {
            "en": "Make a plan for moving house: set it as the goal, with three todos.",
            "ko": "이사 계획을 세워 줘. 목표로 정하고 할 일을 세 개 넣어 줘.",
        },
        _plan,
    ),
    Story(
        "tick",
        {
            "en": "I have bought the milk. Mark that todo as done.",
            "ko": "우유(milk)를 샀어. 그 할 일을 완료로 표시해 줘.",
        },
        _tick,
        (
            ("create_goal", {"goal": "Shopping"}),
            ("add_todo", {"name": "Buy milk"}),
            ("add_todo", {"name": "Buy bread"}),
        ),
    ),
    Story(
        "write",
        {
            "en": "Write a file hello.txt that says: Hello, courtyard",
            "ko": "hello.txt 파일을 만들고 이렇게 적어 줘: Hello, courtyard",
        },
        _write,
    ),
    Story(
        "edit",
        {
            "en": "In notes.md the meeting is on Thursday, not on Friday. Correct it.",
            "ko": "notes.md에서 회의는 Friday가 아니라 Thursday야. 고쳐 줘.",
        },
        _edit,
        (_file("notes.md", "# Notes\n\nThe meeting is on Friday.\nBring the maps.\n"),),
    ),
    Story(
        "rename",
        {"en": "Rename draft.md to final.md.", "ko": "draft.md의 이름을 final.md로 바꿔 줘."},
        _rename,
        (_file("draft.md", "The draft\n"),),
    ),
    Story(
        "find",
        {
            "en": "How many tables does the hall have? Look it up in what I gave you.",
            "ko": "강당에는 탁자(tables)가 몇 개 있어? 내가 준 자료에서 찾아 줘.",
        },
        _find,
        (
            (
                "add_content",
                {"content": "The hall has 37 tables.\nThe yard has none.\n", "metadata": {"filename": "hall.md"}},
            ),
        ),
    ),
    Story(
        "keep",
        {
            "en": "Keep this text among my contents: The locker number is 4471.",
            "ko": "이 글을 내 자료에 넣어 줘: The locker number is 4471.",
        },
        _keep,
    ),
    Story(
        "playbook",
        {
            "en": "Make a playbook for closing the month with two steps: collect the receipts, then write the report.",
            "ko": "월 마감 플레이북을 만들어 줘. 단계는 둘이야: 영수증을 모으고, 보고서를 쓴다.",
        },
        _playbook,
    ),
    Story(
        "follow",
        {
            "en": "Select the playbook for the daily check and follow it.",
            "ko": "일일 점검(daily check) 플레이북을 골라서 그대로 해 줘.",
        },
        _follow,
        (
            (
                "create_playbook",
                {
                    "goal": "Daily check",
                    "workflow": [
                        {
                            "description": "Write the file checked.txt with the word done",
                            "action": {"toolName": "write_file", "purpose": "record the check"},
                        }
                    ],
                },
            ),
        ),
    ),
    Story(
        "ask",
        {
            "en": "Ask me which colour I want, then write my answer into colour.txt.",
            "ko": "내가 어떤 색을 원하는지 물어보고, 내 대답을 colour.txt에 적어 줘.",
        },
        _ask,
        answer="persimmon",
        asks_person=True,
    ),
    Story(
        "chart",
        {
            "en": "Draw a bar chart: May 3, June 5, July 4.",
            "ko": "막대 차트를 그려 줘: 5월 3, 6월 5, 7월 4.",
        },
        _chart,
    ),
    Story(
        "export",
        {"en": "Export report.md so that I can download it.", "ko": "report.md를 내려받을 수 있게 export해 줘."},
        _export,
        (_file("report.md", "# Report\n"),),
    ),
)


def behind_the_scene(call: Call) -> Call:
    """Return a call that prepares or judges a story. It names a run, so that the model is not told of it as news."""
    return replace(call, actor="program", door="python", run_id="preparation")
