"""Registering services, opening them on their first use, and closing them again."""

from __future__ import annotations

import asyncio
import logging
import sys
from dataclasses import replace

import pytest
from anyio import fail_after

from madang.core.phrases import say
from madang.core.service import ServiceMetadata, ServiceStatus
from madang.provider.provider import Provider
from tests.asking import CALL
from tests.provider.services import Echo, EchoLoading, Loading, Plain


async def test_a_registered_service_offers_its_tools(provider: Provider) -> None:
    provider.register(Echo())

    assert [tool.name for tool in await provider.available_tools(CALL)] == ["echo", "hang", "crash"]
    assert provider.get_service_metadata("echo") == ServiceMetadata("echo", say("Plain"), say("Does little."), "1")
    assert provider.get_service_metadata("nothing") is None


async def test_a_name_is_taken_once(provider: Provider) -> None:
    provider.register(Plain("one"))

    with pytest.raises(ValueError, match="Cannot register 'one': name is taken"):
        provider.register(Plain("one"))


async def test_a_tool_name_is_taken_once_over_all_services(provider: Provider) -> None:
    provider.register(Echo("one"))

    with pytest.raises(ValueError, match=r"Cannot register 'two': tools taken: \['echo', 'hang', 'crash'\]"):
        provider.register(Echo("two"))
    assert list(provider.status) == ["one"]


async def test_an_unregistered_service_is_closed_and_its_names_are_free(provider: Provider) -> None:
    diary: list[str] = []
    provider.register(EchoLoading(diary))
    await provider.open_all()

    await provider.unregister("echo")

    assert diary == ["load echo", "unload echo"]
    assert provider.status == {}
    assert provider.find_tool("echo") is None
    provider.register(Echo())


async def test_a_service_is_opened_by_its_first_use_and_once(provider: Provider) -> None:
    diary: list[str] = []
    provider.register(EchoLoading(diary))
    provider.register(Loading("other", diary))
    assert diary == []

    await asyncio.gather(*(provider.execute_tool(CALL, "echo", {"text": "hi"}) for _ in range(5)))

    assert diary == ["load echo"]
    assert provider.status["other"] == ServiceStatus("loading", "waits for its first use")


async def test_services_are_closed_in_reverse_order(provider: Provider) -> None:
    diary: list[str] = []
    for name in ("one", "two", "three"):
        provider.register(Loading(name, diary))
    await provider.open_all()
    opened = [line.removeprefix("load ") for line in diary]
    diary.clear()

    await provider.close()

    assert diary == [f"unload {name}" for name in reversed(opened)]
    assert sorted(opened) == ["one", "three", "two"]


async def test_each_status_has_its_reason(provider: Provider) -> None:
    seen: list[ServiceStatus] = []

    class Watched(Loading):
        async def load(self) -> None:
            seen.append(provider.status["good"])

    provider.register(Watched("good", []))
    provider.register(Loading("bad", [], failures=1))
    waiting = provider.status["good"]
    await provider.open_all()

    assert waiting.state == seen[0].state == "loading"
    assert provider.status["good"].state == "ready"
    assert provider.status["bad"] == ServiceStatus("error", "The moon is in the wrong place.")
    assert all(status.reason for status in (waiting, *seen, *provider.status.values()))


async def test_a_service_that_fails_to_open_says_why_and_is_tried_again(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    diary: list[str] = []
    provider.register(EchoLoading(diary, failures=1))
    provider.register(Loading("other", diary))

    first = await provider.execute_tool(CALL, "echo", {"text": "hi"})
    second = await provider.execute_tool(CALL, "echo", {"text": "hi"})

    assert first.text == (
        "[echo] Error: The service 'echo' cannot be opened: The moon is in the wrong place.\nHint: Wait for it."
    )
    assert first.error_code == "unavailable"
    assert second.text == "[echo] hi"
    assert provider.status["echo"].state == "ready"
    assert "Service echo cannot be opened" in caplog.text


async def test_tools_are_listed_without_opening_their_service(provider: Provider) -> None:
    diary: list[str] = []
    provider.register(EchoLoading(diary))

    assert len(await provider.available_tools(CALL)) == 3
    assert diary == []


async def test_a_service_that_could_not_be_opened_offers_no_tools_until_it_can(provider: Provider) -> None:
    provider.register(EchoLoading([], failures=1))
    await provider.open_all()

    assert await provider.available_tools(CALL) == []
    await provider.open_all()
    assert len(await provider.available_tools(CALL)) == 3


async def test_one_service_that_fails_to_close_does_not_keep_the_others_open(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    diary: list[str] = []

    class Stubborn(Loading):
        async def unload(self) -> None:
            raise RuntimeError("no")

    provider.register(Loading("one", diary))
    provider.register(Stubborn("two", diary))
    await provider.open_all()

    await provider.close()

    assert "unload one" in diary
    assert "Service two failed to close" in caplog.text


async def test_a_service_that_only_loads_is_loaded(provider: Provider) -> None:
    """Loading and unloading are optional, each for itself."""
    diary: list[str] = []

    class OnlyLoads(Plain):
        async def load(self) -> None:
            diary.append("load")

    class OnlyUnloads(Plain):
        async def unload(self) -> None:
            diary.append("unload")

    provider.register(OnlyLoads("one"))
    provider.register(OnlyUnloads("two"))
    await provider.open_all()
    await provider.close()

    assert diary == ["load", "unload"]


async def test_opening_counts_into_the_time_limit(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    class Slow(EchoLoading):
        async def load(self) -> None:
            await asyncio.Event().wait()

    caplog.set_level(logging.CRITICAL)
    quick = Provider(provider._audit, time_limit_s=0.01)
    quick.register(Slow([]))

    with fail_after(60):
        reply = await quick.execute_tool(CALL, "echo", {"text": "hi"})

    assert reply.error_code == "timed_out"


async def test_a_service_that_needs_posix_says_on_windows_that_it_is_not_available_yet(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    service = Echo("files")
    service.metadata = replace(service.metadata, needs_posix=True, instructions="Use echo.")
    provider.register(service)

    reply = await provider.execute_tool(CALL, "echo", {"text": "hi"})

    reason = "The service 'files' is not available on Windows yet."
    assert (reply.text, reply.error_code) == (f"[echo] Error: {reason}", "unavailable")
    assert provider.status["files"] == ServiceStatus("error", reason)
    assert await provider.available_tools(CALL) == []
    assert provider.instructions(CALL) == ""
    assert caplog.records == []
