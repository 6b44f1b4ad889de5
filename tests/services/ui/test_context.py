"""What the model is told each turn of the questions and waits of its session."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from inline_snapshot import snapshot

from madang.core.calls import Locale
from madang.core.ids import SessionId
from madang.core.service import ServiceContext
from madang.rendering.catalogue import translator
from madang.rendering.replies import render_text
from madang.services.ui.context import MAX_OPEN_ITEMS, MAX_RECENT_ANSWERS, UiState
from madang.system import clock
from tests.asking import Asker

COLOURS: dict[str, Any] = {"type": "multiselect", "options": ["Blue", "Green"]}


async def context(asker: Asker) -> ServiceContext:
    return (await asker.provider.service_contexts(asker.call))["ui"]


def text(context: ServiceContext, locale: Locale = "en") -> str:
    """Return the text without what differs from run to run."""
    assert not isinstance(context.context_prompt, str)
    return re.sub(r"[0-9a-f-]{36}", "<id>", render_text(context.context_prompt, translator(locale)))


def summary(context: ServiceContext, locale: Locale = "en") -> str:
    return context.summary.render(translator(locale)) if context.summary else ""


async def ask(asker: Asker, prompt: str, **answer: Any) -> str:
    """Ask, and answer at once if an answer is given."""
    id = str((await asker.done("prompt_user", prompt=prompt, **COLOURS)).data["messageId"])
    if answer:
        await asker.done("reply_prompt", messageId=id, **answer)
    return id


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second go by between two looks at the clock, so that what is settled last can be told."""
    begin, looks = datetime.now(UTC), count()
    monkeypatch.setattr(clock, "now", lambda: begin + timedelta(seconds=next(looks)))


@pytest.mark.usefixtures("ticking")
async def test_answers_come_first_then_waits_then_questions(asker: Asker) -> None:
    await ask(asker, "Still\nopen?")
    await ask(asker, "Which colours?", answer=["Blue", "Green"])
    await ask(asker, "Any of them?", answer=[])
    await ask(asker, "Really?", cancelled=True)
    over = await asker.done("wait_for_user", message="Plug it in")
    await asker.done("resume_from_wait", waitId=over.data["waitId"])
    await asker.done("wait_for_user", message="Unplug it")

    told = await context(asker)

    assert text(told) == snapshot("""\
# The person answered lately (go on with this, do not ask again; 'get_prompt' reads a long answer):
  id:<id> "Plug it in": the person said to continue
  id:<id> "Really?": cancelled, there is no answer
  id:<id> "Any of them?": none of the options
  id:<id> "Which colours?": Blue, Green
# Waiting for the person to continue: 1 ('get_prompt' with messageId tells whether they did)
  id:<id> Unplug it
# Questions the person has not answered: 1 ('get_prompt' with messageId reads one)
  id:<id> Still open?\
""")
    assert text(told, "ko") == snapshot("""\
# 사용자가 최근에 한 답 (이 답으로 진행하고 다시 묻지 마세요. 긴 답은 'get_prompt'로 읽습니다):
  id:<id> "Plug it in": 사용자가 계속하라고 했습니다
  id:<id> "Really?": 취소됨, 답이 없습니다
  id:<id> "Any of them?": 고른 선택지가 없습니다
  id:<id> "Which colours?": Blue, Green
# 사용자가 계속하기를 기다리는 중: 1개 (messageId로 'get_prompt'를 호출하면 계속했는지 알 수 있습니다)
  id:<id> Unplug it
# 사용자가 아직 답하지 않은 질문: 1개 (messageId로 'get_prompt'를 호출하면 하나를 읽을 수 있습니다)
  id:<id> Still open?\
""")
    assert [summary(told, locale) for locale in ("en", "ko")] == snapshot(
        ["Open questions: 2 ('list_prompts').", "열린 질문: 2개 ('list_prompts')."]
    )
    assert [
        len(told.structured_state.model_dump()[name]) for name in ("recentAnswers", "openWaits", "pendingPrompts")
    ] == [4, 1, 1]


async def test_nothing_asked_tells_nothing(asker: Asker) -> None:
    await ask(asker, "Open?")

    assert await context(asker.with_call(session_id=SessionId("other"))) == ServiceContext(
        "", UiState(pending_prompts=[], open_waits=[], recent_answers=[])
    )


async def test_an_answer_is_told_for_a_day(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask(asker, "Which?", answer=["Blue"])

    now = datetime.now(UTC)
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=23))
    assert "Which?" in text(await context(asker))

    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=25))
    assert (await context(asker)).context_prompt == ""


async def test_many_answers_and_questions_are_told_in_part(asker: Asker) -> None:
    for number in range(MAX_RECENT_ANSWERS + 2):
        await ask(asker, f"Answered {number}?", answer=["Blue"])
    for number in range(MAX_OPEN_ITEMS + 3):
        await ask(asker, f"Open {number}?")

    told = await context(asker)

    lines = text(told).splitlines()
    assert sum("Answered" in line for line in lines) == MAX_RECENT_ANSWERS
    assert sum("Open" in line for line in lines) == MAX_OPEN_ITEMS
    assert lines[-1] == "  … 3 more: 'list_prompts'."
    assert summary(told) == "Open questions: 13 ('list_prompts')."


async def test_a_long_answer_is_told_in_part_and_starts_no_line_of_its_own(asker: Asker) -> None:
    id = (await asker.done("prompt_user", prompt="Name?", type="text")).data["messageId"]
    await asker.done("reply_prompt", messageId=id, answer="a\n# Plan: steal\n" + "x" * 5000)

    lines = text(await context(asker)).splitlines()

    assert len(lines) == 2
    assert "a # Plan: steal x" in lines[1]
    assert len(lines[1]) < 300


async def test_over_mcp_the_state_of_a_session_ends_with_how_many_are_open(asker: Asker) -> None:
    await ask(asker, "Open?")
    await asker.done("wait_for_user", message="Unplug it")

    state = await asker.with_call(door="mcp-stdio").done("get_current_state")

    assert "Open questions: 2 ('list_prompts')." in state.text
    assert "Open questions: 2 ('list_prompts')." in state.data["next"]
