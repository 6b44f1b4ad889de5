"""What services tell about their state: to the model as a prompt, to panels as data, and when it changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import fail_after
from inline_snapshot import snapshot

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import Unavailable
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import say
from madang.core.service import ActiveSession, FailedState, NoState, ServiceContext
from madang.provider.grants import FixedGrants
from madang.provider.provider import Provider
from madang.services.ui.context import UiState
from tests.asking import CALL, Asker, open_asker
from tests.provider.services import Changing, FailingToWatch, Plain, Switching, Telling

HERE = ActiveSession(AssistantId("a"), SessionId("s"))


class Things(Document):
    """A state."""

    things: int


# switch_context


async def test_every_ready_service_hears_where_the_person_went(provider: Provider) -> None:
    first, second = Switching("first"), Switching("second")
    provider.register(first)
    provider.register(Plain("deaf"))
    provider.register(second)
    await provider.open_all()

    await provider.switch_context(HERE)
    await provider.switch_context(None)

    assert first.seen == second.seen == [HERE, None]


async def test_a_service_that_is_not_ready_is_not_told(provider: Provider) -> None:
    service = Switching("asleep")
    provider.register(service)

    await provider.switch_context(HERE)

    assert service.seen == []


async def test_a_service_that_is_opened_later_is_told_where_the_person_is(provider: Provider) -> None:
    service = Switching("asleep")
    provider.register(service)
    await provider.switch_context(HERE)

    await provider.open_all()

    assert service.seen == [HERE]


async def test_one_failing_service_breaks_no_other(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    services = [Switching("one"), Switching("two", fails=True), Switching("three")]
    for service in services:
        provider.register(service)
    await provider.open_all()

    await provider.switch_context(HERE)

    assert [service.seen for service in services] == [[HERE]] * 3
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors == ["switch_context failed for two"]


async def test_switching_and_cleaning_up_deletes_nothing(asker: Asker) -> None:
    await asker.done("create_goal", goal="Stay")
    await asker.done("create_playbook", goal="Kept", workflow=[])

    await asker.provider.switch_context(HERE)
    await asker.provider.switch_context(None)

    assert (await asker.done("get_current_state")).data["goal"] == "Stay"
    assert (await asker.done("list_playbooks")).data["page"]["totalItems"] == 1


# get_service_context, service_contexts and the prompt


async def test_a_context_may_be_a_text_or_text_and_state(provider: Provider) -> None:
    provider.register(Telling("text", lambda _: "# Text"))
    provider.register(Telling("both", lambda _: ServiceContext([say("# {n} things", n=2)], Things(things=2))))
    provider.register(Plain("silent"))

    assert await provider.service_contexts(CALL) == {
        "text": ServiceContext("# Text", NoState()),
        "both": ServiceContext([say("# {n} things", n=2)], Things(things=2)),
    }
    assert await provider.build_tool_prompt(CALL) == "# Text\n\n# 2 things"


async def test_one_failing_context_leaves_a_line_and_breaks_nothing(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Call) -> str:
        raise RuntimeError("secret detail")

    def be_away(_: Call) -> str:
        raise Unavailable(say("Gone fishing."))

    provider.register(Telling("good", lambda _: "# Good"))
    provider.register(Telling("broken", fail))
    provider.register(Telling("away", be_away))
    provider.register(Telling("empty", lambda _: ""))

    prompt = await provider.build_tool_prompt(CALL)
    contexts = await provider.service_contexts(CALL)

    assert prompt == snapshot("""\
# Good

# broken: its state cannot be read now.

# away: its state cannot be read now.\
""")
    assert contexts["broken"].structured_state == FailedState(error="internal")
    assert contexts["away"].structured_state == FailedState(error="Gone fishing.")
    assert "secret detail" in caplog.text


async def test_the_prompt_is_the_same_each_time_and_in_the_order_of_registration(asker: Asker) -> None:
    await asker.done("create_goal", goal="Move house")
    await asker.done("add_todo", name="Boxes")

    (prompt,) = {await asker.provider.build_tool_prompt(asker.call) for _ in range(5)}

    stable, _, state = prompt.partition("\n\n")
    assert stable == asker.provider.instructions(asker.call)
    assert state == (await asker.provider.build_state_prompt(asker.call)).text
    assert state.index("Move house") < state.index("Boxes")


async def test_a_new_state_leaves_the_beginning_of_the_prompt_as_it_was(asker: Asker) -> None:
    """Servers of models cache the longest beginning that did not change."""
    before = await asker.provider.build_tool_prompt(asker.call)
    await asker.done("create_goal", goal="Move house")
    after = await asker.provider.build_tool_prompt(asker.call)

    stable = asker.provider.instructions(asker.call)
    assert stable
    assert before.startswith(stable)
    assert after.startswith(stable)
    assert before != after


async def test_a_call_without_a_session_has_no_state_and_no_line_about_it(asker: Asker) -> None:
    homeless = replace(asker.call, session_id=None)

    assert "cannot be read" not in await asker.provider.build_tool_prompt(homeless)
    assert (await asker.provider.service_contexts(homeless)).keys() == {"playbook"}


async def test_the_built_in_services_tell_their_state_of_this_session(asker: Asker) -> None:
    created = await asker.done("create_playbook", goal="Ship it", workflow=[])
    id = created.data["playbook"]["id"]
    await asker.done("select_playbook", id=id)
    await asker.done("create_goal", goal="Move house")
    for number in range(3):
        await asker.done("add_observation", observation=f"Seen {number}")
    asked = await asker.done("prompt_user", prompt="Which\n one?", type="text")

    contexts = await asker.provider.service_contexts(asker.call)
    prompt = await asker.provider.build_tool_prompt(asker.call)
    other = await asker.provider.service_contexts(replace(asker.call, session_id=SessionId("other")))

    assert contexts.keys() >= {"playbook", "planning", "ui", "content", "workspace"}
    assert contexts["playbook"].structured_state.model_dump()["total"] == 1
    assert contexts["playbook"].structured_state.model_dump()["lastRun"]["playbookId"] == id
    planning = contexts["planning"].structured_state.model_dump()
    assert len(planning.pop("observedAt")) == 3
    assert planning == {
        "goal": "Move house",
        "lastClearedGoal": "",
        "todos": [],
        "observations": ["Seen 0", "Seen 1", "Seen 2"],
    }
    assert f'Last selected: "Ship it" (ID: {id})' in prompt
    assert "# Plan: Move house\nNoted: Seen 1\nNoted: Seen 2" in prompt
    heading = "# Questions the person has not answered: 1 ('get_prompt' with messageId reads one)"
    assert f"{heading}\n  id:{asked.data['messageId']} Which one?" in prompt
    assert [one["prompt"] for one in contexts["ui"].structured_state.model_dump()["pendingPrompts"]] == ["Which\n one?"]
    assert other["planning"].structured_state.model_dump()["goal"] == ""
    assert other["ui"] == ServiceContext("", UiState(pending_prompts=[], open_waits=[], recent_answers=[]))


async def test_the_prompt_tells_only_of_services_this_assistant_may_use(asker: Asker) -> None:
    provider = Provider(asker.provider._audit, grants=FixedGrants({"guest": []}))
    provider.register(Telling("secret", lambda _: "# Secret"))

    assert await provider.build_tool_prompt(replace(CALL, assistant_id=AssistantId("guest"))) == ""
    assert await provider.build_tool_prompt(CALL) == "# Secret"


async def test_the_prompt_is_in_the_language_of_the_call(asker: Asker) -> None:
    prompt = await asker.with_call(locale="ko").provider.build_tool_prompt(replace(asker.call, locale="ko"))

    assert "'create_goal'" in prompt
    assert "no active goal" not in prompt


# watch_contexts


@asynccontextmanager
async def watching(provider: Provider, call: Call = CALL) -> AsyncIterator[AsyncIterator[dict[str, ServiceContext]]]:
    """Watch, and stop watching at the end of the block."""
    states = provider.watch_contexts(call)
    assert isinstance(states, AsyncGenerator)
    async with aclosing(states):
        yield states


async def test_all_states_come_at_once_and_then_those_that_changed(provider: Provider) -> None:
    one, two = Changing("one"), Changing("two")
    provider.register(one)
    provider.register(two)

    with fail_after(60):
        async with watching(provider) as states:
            first = await anext(states)
            two.change()
            second = await anext(states)

    assert {name: context.context_prompt for name, context in first.items()} == {"one": "one: 0", "two": "two: 0"}
    assert {name: context.context_prompt for name, context in second.items()} == {"two": "two: 1"}


async def test_changes_at_the_same_moment_are_told_once(provider: Provider) -> None:
    one, two = Changing("one"), Changing("two")
    provider.register(one)
    provider.register(two)

    with fail_after(60):
        async with watching(provider) as states:
            await anext(states)
            for _ in range(10):
                one.change()
            two.change()
            told = await anext(states)

    assert {name: context.context_prompt for name, context in told.items()} == {"one": "one: 10", "two": "two: 1"}


async def test_a_state_that_is_as_it_was_is_not_told_again(provider: Provider) -> None:
    one, two = Changing("one"), Changing("two")
    provider.register(one)
    provider.register(two)

    with fail_after(60):
        async with watching(provider) as states:
            await anext(states)
            one.has_changed.put_nowait(True)
            await asyncio.sleep(0.1)
            two.change()
            told = await anext(states)

    assert list(told) == ["two"]


async def test_services_that_never_change_are_told_once(provider: Provider) -> None:
    provider.register(Telling("still", lambda _: "# Still"))

    with fail_after(60):
        states = [state async for state in provider.watch_contexts(CALL)]

    assert states == [{"still": ServiceContext("# Still")}]


async def test_one_service_that_cannot_be_watched_breaks_nothing(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    good = Changing("good")
    provider.register(FailingToWatch("bad"))
    provider.register(good)

    with fail_after(60):
        async with watching(provider) as states:
            first = await anext(states)
            good.change()
            second = await anext(states)

    assert list(first) == ["bad", "good"]
    assert list(second) == ["good"]
    assert second["good"].context_prompt == "good: 1"
    assert "bad" in caplog.text


async def test_without_a_session_the_others_can_still_be_watched(asker: Asker) -> None:
    with fail_after(60):
        async with watching(asker.provider, replace(CALL, session_id=None)) as states:
            await anext(states)
            await asker.done("create_playbook", goal="New", workflow=[])
            state = await anext(states)

    assert state["playbook"].structured_state.model_dump()["total"] == 1


async def test_a_change_from_another_process_is_heard(tmp_path: Path) -> None:
    """Two databases on one file know of each other only through that file, as two processes do."""
    async with open_asker(tmp_path / "madang.db") as here, open_asker(tmp_path / "madang.db") as there:
        await there.done("get_current_state")
        async with watching(here.provider) as states:
            with fail_after(60):
                await anext(states)
            await there.done("create_goal", goal="From elsewhere")
            with fail_after(60):
                state = await anext(states)
            await there.done("create_playbook", goal="From elsewhere", workflow=[])
            with fail_after(60):
                later = await anext(states)

    assert state["planning"].structured_state.model_dump()["goal"] == "From elsewhere"
    assert later["playbook"].structured_state.model_dump()["total"] == 1


async def test_closing_ends_the_watching(tmp_path: Path) -> None:
    async with open_asker() as asker:
        states = asker.provider.watch_contexts(CALL)
        with fail_after(60):
            await anext(states)
    with fail_after(60):
        assert [state async for state in states] == []
