"""Another model answers where the server of the first is away, and where the person chooses one for a run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from madang.agent.model_switch import choose_model
from madang.agent_app import Agent, open_agent
from madang.core.phrases import say
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest, Streamed, Usage
from madang.llm.errors import BadCredentials, ModelError, QuotaExceeded, RateLimited, UnknownModel
from madang.llm.fallback import join_models, split_models
from madang.llm.messages import TextPart
from madang.llm.opening import OpenedModel, Prices
from madang.records.runs.records import LostRun, Run
from madang.settings import Settings
from tests.agent.bench import ME, Script, tool_call
from tests.llm.adapters import ADAPTERS, QUICK
from tests.model_server import ModelServer, answers, refuses
from tests.model_wires import Say

AWAY = RateLimited(say("Come back later."), retry_after_s=600.0)


class Away(Model):
    """Begins an answer, and fails."""

    provider = name = label = "away"

    def __init__(self, error: ModelError = AWAY) -> None:
        self._error = error
        self.request_count = 0

    async def stream(self, request: ModelRequest) -> Streamed:
        self.request_count += 1
        yield ModelDelta("text", "Half of an ans")
        raise self._error


class Priced(Script):
    """Says how much it took."""

    async def stream(self, request: ModelRequest) -> Streamed:
        async for item in super().stream(request):
            yield ModelAnswer(item.parts, "stop", Usage(1000, 0, 1000), "b") if isinstance(item, ModelAnswer) else item


@asynccontextmanager
async def agent_with(folder: Path, opened: Mapping[str, OpenedModel | Model]) -> AsyncIterator[Agent]:
    def open_model(name: str) -> OpenedModel:
        model = opened[name]
        return model if isinstance(model, OpenedModel) else OpenedModel(model)

    async with open_agent(Settings(data_dir=folder, model=join_models(opened)), open_model) as agent:
        yield agent


async def ask(agent: Agent, text: str = "Hi") -> Run:
    run = await agent.runner.post(ME, [TextPart(text)])
    assert run is not None
    await agent.runner.wait_idle()
    now = await agent.stores.runs.get(run.user_id, run.id)
    assert now is not None
    return now


async def switches(agent: Agent) -> list[tuple[str, str, str]]:
    events = (await agent.events.read(ME)).events
    values = [event.payload["value"] for event in events if event.payload.get("name") == "madang/model"]
    return [(value["before"], value["model"], value["code"]) for value in values]


async def test_the_next_model_answers_where_the_first_is_away_and_stays(tmp_path: Path) -> None:
    async with ModelServer() as first, ModelServer() as second:
        first.plays(refuses(429, headers={"retry-after": "600"}))
        second.plays(answers(Say("I am here.")))
        make = ADAPTERS["compatible"].make
        models = {"a": make(first.url, "m", QUICK), "b": make(second.url, "m", QUICK)}
        async with agent_with(tmp_path, models) as agent:
            run = await ask(agent)
            assert (run.state, run.model) == ("finished", "b")
            assert await switches(agent) == [("a", "b", "rate_limited")]
            assert [len(server.requests) for server in (first, second)] == [1, 1]
            [_, answer] = await agent.stores.messages.read_page(ME)
            assert answer.parts[0]["text"] == "I am here."


async def test_what_was_begun_is_dropped_and_prices_are_those_of_the_model_that_answers(tmp_path: Path) -> None:
    away, heard = Away(), list[str | None]()
    answering = OpenedModel(Priced([TextPart("Whole.")]), prices=Prices(1.0, 2.0))
    async with agent_with(tmp_path, {"a": OpenedModel(away, prices=Prices(0.0, 0.0)), "b": answering}) as agent:
        agent.runner.listen(lambda run, message_no, at_char, delta: heard.append(delta.text if delta else None))
        run = await ask(agent)

        assert run.state == "finished"
        assert run.cost == pytest.approx(0.003)
        assert heard == ["Half of an ans", None, "Whole."]
        assert [message.parts[0]["text"] for message in await agent.stores.messages.read_page(ME)] == ["Hi", "Whole."]


@pytest.mark.parametrize("kind", [BadCredentials, QuotaExceeded, UnknownModel])
async def test_what_the_person_has_to_mend_is_not_hidden_by_another_model(
    tmp_path: Path, kind: type[ModelError]
) -> None:
    script = Script([TextPart("Hidden.")])
    async with agent_with(tmp_path, {"a": Away(kind(say("No."))), "b": script}) as agent:
        run = await ask(agent)

        assert (run.state, run.error_code) == ("failed", kind.code)
        assert await switches(agent) == []
        assert script.requests == []


async def test_a_run_fails_when_the_last_model_is_away_too(tmp_path: Path) -> None:
    async with agent_with(tmp_path, {"a": Away(), "b": Away()}) as agent:
        run = await ask(agent)

        assert (run.state, run.error_code) == ("failed", "rate_limited")
        assert len(await switches(agent)) == 1


async def test_the_next_run_asks_the_first_model_again(tmp_path: Path) -> None:
    away = Away()
    async with agent_with(tmp_path, {"a": away, "b": Script([TextPart("Yes.")])}) as agent:
        await ask(agent)
        await ask(agent, "Again")

        assert away.request_count == 2


async def test_a_model_that_is_chosen_for_a_run_that_waits_answers_it(tmp_path: Path) -> None:
    first = Script([tool_call("prompt_user", prompt="Which?", type="text")])
    second = Script([TextPart("Green, then.")])
    async with agent_with(tmp_path, {"a": first, "b": second}) as agent:
        run = await ask(agent)
        assert run.state == "waiting"

        await choose_model(agent.stores, run, "b", "en")
        await agent.runner.post(ME, [TextPart("Green")])
        await agent.runner.look()
        await agent.runner.wait_idle()

        assert (len(first.requests), len(second.requests)) == (1, 1)
        assert (await switches(agent))[0][1:] == ("b", "")


async def test_a_run_that_is_over_gets_no_other_model(tmp_path: Path) -> None:
    async with agent_with(tmp_path, {"a": Script([TextPart("Done.")])}) as agent:
        run = await ask(agent)
        with pytest.raises(LostRun):
            await choose_model(agent.stores, run, "b", "en")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ("a",)),
        ("a, b", ("a", "b")),
        ("", ()),
        ("scripted:/tmp/one,two.json", ("scripted:/tmp/one,two.json",)),
        ("http://127.0.0.1:1/v1#m, openai:n", ("http://127.0.0.1:1/v1#m", "openai:n")),
    ],
)
def test_names_of_models_are_parted_by_a_comma_and_a_space(text: str, names: tuple[str, ...]) -> None:
    assert split_models(text) == names
