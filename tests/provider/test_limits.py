"""A service that hangs in any hook delays no other beyond its limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest
from anyio import fail_after

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.service import ActiveSession, FailedState
from madang.core.tools import tools_of
from madang.provider.provider import Provider
from tests.asking import CALL
from tests.provider.services import Changing, Echo, PatientTools, Plain, Switching, Telling

LIMIT_S = 0.05


class Hanging(Plain):
    """Sleeps in one hook, and does not listen when it is told to stop."""

    def __init__(self, hook: str) -> None:
        super().__init__("hanging", tools_of(PatientTools()))
        self._hook = hook
        self.released = asyncio.Event()

    async def _at(self, hook: str) -> None:
        while hook == self._hook and not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue

    async def load(self) -> None:
        await self._at("load")

    async def unload(self) -> None:
        await self._at("unload")

    async def switch_context(self, active: ActiveSession | None) -> None:
        await self._at("switch_context")

    async def get_service_context(self, call: Call) -> str:
        await self._at("get_service_context")
        return "# Hanging"

    async def changes(self, call: Call) -> AsyncIterator[object]:
        await self._at("changes")
        yield None


HOOKS = ["load", "unload", "switch_context", "get_service_context", "changes"]


@pytest.fixture(params=HOOKS)
async def hanging(request: pytest.FixtureRequest) -> AsyncIterator[Hanging]:
    service = Hanging(request.param)
    yield service
    service.released.set()


@pytest.fixture
async def quick(provider: Provider, hanging: Hanging, caplog: pytest.LogCaptureFixture) -> Provider:
    caplog.set_level(logging.CRITICAL)
    provider = Provider(provider._audit, hook_limit_s=LIMIT_S)
    provider.register(hanging)
    provider.register(Echo())
    return provider


async def test_the_tools_and_the_status_of_others_never_wait(quick: Provider) -> None:
    with fail_after(20):
        tools = await quick.available_tools(CALL)
        reply = await quick.execute_tool(CALL, "echo", {"text": "hi"})

    assert "echo" in {tool.name for tool in tools}
    assert reply.text == "[echo] hi"
    assert quick.status["echo"].state == "ready"


async def test_the_prompt_and_a_switch_go_on_without_it(quick: Provider) -> None:
    quick.register(Telling("good", lambda _: "# Good"))
    here = Switching("here")
    quick.register(here)
    active = ActiveSession(AssistantId("a"), SessionId("s"))

    with fail_after(20):
        await quick.open_all()
        prompt = await quick.build_tool_prompt(CALL)
        await quick.switch_context(active)

    assert "# Good" in prompt
    assert here.seen == [active]


async def test_the_changes_of_others_are_told(quick: Provider) -> None:
    other = Changing("other")
    quick.register(other)

    with fail_after(20):
        async with aclosing(quick.watch_contexts(CALL)) as states:
            first = await anext(states)
            other.change()
            told = await anext(states)

    assert "other" in first
    assert list(told) == ["other"]


async def test_closing_goes_on_without_it(quick: Provider) -> None:
    with fail_after(20):
        await quick.open_all()
        await quick.close()


async def test_a_service_that_opens_late_counts_as_failed_until_it_is_open(provider: Provider) -> None:
    service = Hanging("load")
    quick = Provider(provider._audit, hook_limit_s=LIMIT_S)
    quick.register(service)
    with fail_after(20):
        await quick.open_all()
        late = quick.status["hanging"]
        listed = await quick.available_tools(CALL)
        contexts = await quick.service_contexts(CALL)
        service.released.set()
        await quick.execute_tool(CALL, "wait_briefly", {})

    assert late.state == "error"
    assert "is not open after 0.05 s" in late.reason
    assert listed == []
    assert contexts["hanging"].structured_state == FailedState(error=late.reason)
    assert (await quick.service_contexts(CALL))["hanging"].context_prompt == "# Hanging"


class Counting(Plain):
    """Hangs when it is asked for its state, until it is released, and counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__("hanging")
        self.asked: list[str | None] = []
        self.released = asyncio.Event()

    async def get_service_context(self, call: Call) -> str:
        self.asked.append(call.session_id)
        await self.released.wait()
        return "# Here again"

    async def changes(self, call: Call) -> AsyncIterator[object]:
        yield None
        await asyncio.Event().wait()


async def test_a_state_that_was_late_once_is_not_waited_for_again(provider: Provider) -> None:
    service = Counting()
    patient = Provider(provider._audit, hook_limit_s=LIMIT_S)
    patient.register(service)
    with fail_after(20):
        first = await patient.service_contexts(CALL)
        patient._contexts._hook_limit_s = 600  # a second wait would meet the ceiling
        second = await patient.service_contexts(CALL)
        prompt = await patient.build_state_prompt(CALL)

    assert first == second
    assert second["hanging"].structured_state == FailedState(error="timed out")
    assert prompt.text == "# hanging: its state cannot be read now."
    assert service.asked == [CALL.session_id]
    await patient.close()


async def test_a_state_that_was_late_in_one_session_is_asked_for_in_another(provider: Provider) -> None:
    service = Counting()
    quick = Provider(provider._audit, hook_limit_s=LIMIT_S)
    quick.register(service)
    with fail_after(20):
        await quick.service_contexts(CALL)
        service.released.set()
        other = await quick.service_contexts(replace(CALL, session_id=SessionId("other")))

    assert other["hanging"].context_prompt == "# Here again"
    await quick.close()


async def test_a_state_that_was_late_is_told_once_it_can_be_read_again(provider: Provider) -> None:
    service = Counting()
    quick = Provider(provider._audit, hook_limit_s=LIMIT_S)
    quick.register(service)
    with fail_after(20):
        async with aclosing(quick.watch_contexts(CALL)) as states:
            first = await anext(states)
            service.released.set()
            told = await anext(states)

    assert first["hanging"].structured_state == FailedState(error="timed out")
    assert told["hanging"].context_prompt == "# Here again"
    assert (await quick.service_contexts(CALL))["hanging"].context_prompt == "# Here again"
    await quick.close()


async def test_a_service_that_was_replaced_is_asked_at_once(provider: Provider) -> None:
    quick = Provider(provider._audit, hook_limit_s=LIMIT_S)
    quick.register(Counting())
    with fail_after(20):
        await quick.service_contexts(CALL)
        await quick.unregister("hanging")
        quick.register(Telling("hanging", lambda _: "# New"))
        contexts = await quick.service_contexts(CALL)

    assert contexts["hanging"].context_prompt == "# New"
    await quick.close()
