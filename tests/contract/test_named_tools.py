"""No text names a tool that its reader has not got, whoever the reader is: a run's model, a client, an assistant."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from string import Formatter

import pytest

from madang.agent.prompt import build_request
from madang.core.calls import Call
from madang.core.ids import AssistantId
from madang.llm.base import ModelOptions
from madang.provider.grants import FixedGrants
from madang.provider.policy import is_offered
from madang.provider.provider import Provider
from madang.rendering.readers import without_tools
from madang.server.mapping import listed_tools
from tests.asking import CALL, Asker, open_asker
from tests.contract.test_catalogue import TRANSLATED
from tests.promises import PROMISED, PROMISES, SERVICE_OF, TOOLS, prepare

NAMES = re.compile("|".join(rf"'{name}'" for name in TOOLS))
TEMPLATES = [text for pair in TRANSLATED.items() for text in pair if NAMES.search(text)]

READERS = {
    "a run's model": replace(CALL, actor="model", door="agent", run_id="run"),
    "a client with pages": replace(CALL, actor="foreign", door="mcp-stdio", pages="linked"),
    "a client without pages": replace(CALL, actor="foreign", door="mcp-stdio", pages="off", relays=True),
    "an assistant with one service": replace(CALL, actor="foreign", door="mcp-stdio", pages="off", relays=True),
}


LACKING = {
    **{name: frozenset({name}) for name in TOOLS},
    **{service: frozenset(name for name in TOOLS if SERVICE_OF[name] == service) for service in PROMISES},
    "all": frozenset(TOOLS),
}


@pytest.mark.parametrize("lacking", LACKING.values(), ids=LACKING)
def test_every_message_can_be_said_without_any_tool(lacking: frozenset[str]) -> None:
    for template in TEMPLATES:
        kept = without_tools(template, lacking)

        assert lacking.isdisjoint(name.strip("'") for name in NAMES.findall(kept)), template
        assert kept.count("(") == kept.count(")"), template
        assert "()" not in kept
        assert "  " not in kept.strip()
        assert placeholders(kept) <= placeholders(template)
        if kept and kept != template:
            assert kept.rstrip()[-1:] not in ",;:" or template.rstrip()[-1] == kept.rstrip()[-1], template


@asynccontextmanager
async def open_reader(reader: str, service: str) -> AsyncIterator[tuple[Asker, Asker]]:
    """Open somebody who may do everything, and the reader."""
    call = READERS[reader]
    async with open_asker() as asker:
        if reader == "an assistant with one service":
            narrow = AssistantId("narrow")
            call = replace(call, assistant_id=narrow)
            asker.provider._grants = FixedGrants({narrow: [service]})
            asker = asker.with_call(assistant_id=narrow)
        yield asker, replace(asker, call=call)


async def lacked_names(provider: Provider, call: Call, text: str) -> list[str]:
    offered = {tool.name for tool in await provider.available_tools(call) if is_offered(call, tool)}
    return [name for name in map(unquoted, NAMES.findall(text)) if name not in offered]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", PROMISED)
async def test_answers_and_refusals_name_tools_of_their_reader(name: str, reader: str) -> None:
    async with open_reader(reader, SERVICE_OF[name]) as (asker, read):
        arguments = await prepare(asker, name) if is_whole(reader) else None
        refused = await read.ask(name, **PROMISED[name].refused)
        replies = [refused] if arguments is None else [refused, await read.ask(name, **arguments)]
        for reply in replies:
            text = reply.text + str(reply.data.get("next", "")) + str(reply.data.get("error", ""))
            assert [one for one in await lacked_names(asker.provider, read.call, text) if one != name] == []


@pytest.mark.parametrize("reader", READERS)
async def test_instructions_and_state_name_tools_of_their_reader(reader: str) -> None:
    async with open_reader(reader, "playbook") as (asker, read):
        for promises in PROMISES.values() if is_whole(reader) else [PROMISES["playbook"]]:
            await promises.fill(asker)
        prompt = await asker.provider.build_tool_prompt(read.call)
        words = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", asker.provider.instructions(read.call)))
        offered = {tool.name for tool in await asker.provider.available_tools(read.call) if is_offered(read.call, tool)}

        assert await lacked_names(asker.provider, read.call, prompt) == []
        assert words & set(TOOLS) <= offered


async def test_the_state_of_a_run_names_no_tools_and_is_headed_as_a_note() -> None:
    async with open_reader("a run's model", "planning") as (asker, read):
        for promises in PROMISES.values():
            await promises.fill(asker)
        request, _ = await build_request(asker.provider, read.call, (), "", ModelOptions())

    assert request.state.startswith(
        "[Madang's note on the state of this session. It is not a message of the person.]\n"
    )
    assert NAMES.findall(request.state) == []


async def test_a_runs_model_is_told_that_the_result_of_a_question_is_the_answer() -> None:
    async with open_reader("a run's model", "ui") as (asker, read):
        request, _ = await build_request(asker.provider, read.call, (), "", ModelOptions())

    names = {tool.name for tool in request.tools}
    assert names.isdisjoint({"get_prompt", "list_prompts", "get_current_state", "reply_prompt", "resume_from_wait"})
    told = [request.instructions, *(tool.description for tool in request.tools)]
    assert [text for text in told if re.search("end your turn|answer at once|Madang's", text, re.IGNORECASE)] == []


async def test_a_run_with_nothing_in_its_session_is_told_the_time_alone() -> None:
    async with open_reader("a run's model", "planning") as (asker, read):
        request, _ = await build_request(asker.provider, read.call, (), "", ModelOptions())

    heading, now = request.state.splitlines()
    assert "not a message of the person" in heading
    assert now.startswith("Now: ")


def test_clients_without_pages_list_no_buttons_but_those_that_answer() -> None:
    listed = {tool["name"] for tool in listed_tools(TOOLS.values(), "off")}

    persons = {name for name, tool in TOOLS.items() if tool.audience != "model"}
    assert listed & persons == {"reply_prompt", "resume_from_wait"}


def is_whole(reader: str) -> bool:
    return reader != "an assistant with one service"


def unquoted(name: str) -> str:
    return name.strip("'")


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}
