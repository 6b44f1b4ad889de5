"""Who may make a call: the audience of a tool, and the policy between a grant and a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from madang.core.calls import Call
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.schema_tools import SchemaTool
from madang.core.tools import Tool
from madang.core.trust import Origin
from madang.database.port import Database
from madang.provider.policy import Decision
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from tests.asking import CALL, Asker
from tests.provider.services import Echo, Echoed, Plain

PERSON_TOOLS = {"reply_prompt", "resume_from_wait", "get_playbook_page"}


async def test_our_own_model_may_not_answer_for_the_person(asker: Asker) -> None:
    asked = await asker.done("prompt_user", prompt="Really?", type="text")
    id = asked.data["messageId"]
    model = replace(asker.call, actor="model")

    refused = await asker.provider.execute_tool(model, "reply_prompt", {"messageId": id, "answer": "Yes"})
    prompt = await asker.done("get_prompt", messageId=id)

    assert refused.error_code == "denied"
    assert refused.text == (
        "[reply_prompt] Error: 'reply_prompt' is for the person, not for the model. Nothing was changed.\n"
        "Hint: Go on without it, or ask the person what they want instead."
    )
    assert prompt.data["status"] == "pending"


@pytest.mark.parametrize("actor", ["person", "program", "foreign"])
async def test_everybody_else_may_use_the_tools_of_the_person(asker: Asker, actor: Any) -> None:
    asked = await asker.done("prompt_user", prompt="Really?", type="text")
    call = replace(asker.call, actor=actor)

    reply = await asker.provider.execute_tool(
        call, "reply_prompt", {"messageId": asked.data["messageId"], "answer": "Yes"}
    )

    assert not reply.is_error


async def test_our_own_model_is_not_offered_the_tools_of_the_person(asker: Asker) -> None:
    offered = {tool.name for tool in await asker.provider.available_tools(replace(asker.call, actor="model"))}
    others = {tool.name for tool in await asker.provider.available_tools(asker.call)}

    assert others - offered >= PERSON_TOOLS
    assert not offered & PERSON_TOOLS


class Careful:
    """A policy that asks for the permission to echo, and forbids crashing."""

    async def decide(
        self, call: Call, tool: Tool, arguments: Mapping[str, Any], shown: Sequence[Origin] = ()
    ) -> Decision:
        if tool.name == "echo":
            return Decision("ask")
        return Decision("deny", say("Not today."))

    async def find_hidden(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> None:
        return None


async def test_a_policy_stands_between_the_grant_and_the_call(database: Database) -> None:
    provider = Provider(AuditLog(database), policy=Careful())
    service = Echo()
    provider.register(service)

    asks = await provider.execute_tool(CALL, "echo", {"text": "hi"})
    denies = await provider.execute_tool(CALL, "crash", {})
    await provider.close()
    rows = await database.find("SELECT tool, decision, outcome FROM audit ORDER BY seq", user_id=CALL.user_id)

    assert asks.error_code == "approval_required"
    assert denies.text.startswith("[crash] Error: Not today.")
    assert provider.status["echo"].reason == "waits for its first use"
    assert rows == [("echo", "ask", "approval_required"), ("crash", "deny", "denied")]


# Tools of other servers


async def _weather(call: Call, arguments: Mapping[str, Any]) -> ToolResult[Mapping[str, Any]]:
    return ToolResult([f"Sunny in {arguments['city']}"], {"sky": "blue"})


def weather(**properties: Any) -> SchemaTool:
    return SchemaTool(
        name="weather__forecast",
        description="Tell the weather.",
        effect="write",
        open_world=True,
        arguments={"type": "object", "properties": properties, "required": list(properties)},
        handler=_weather,
    )


async def test_a_tool_with_a_schema_alone_is_listed_checked_run_and_audited(database: Database) -> None:
    provider = Provider(AuditLog(database))
    provider.register(Plain("weather", (weather(city={"type": "string"}),)))

    (listed,) = await provider.available_tools(CALL)
    good = await provider.execute_tool(CALL, "weather__forecast", {"city": "서울"})
    bad = await provider.execute_tool(CALL, "weather__forecast", {"city": 3})
    await provider.close()
    rows = await database.find("SELECT tool, outcome, actor FROM audit ORDER BY seq", user_id=CALL.user_id)

    assert listed.input_schema["properties"] == {"city": {"type": "string"}}
    assert good.text == "[weather__forecast] Sunny in 서울"
    assert good.data == {"sky": "blue"}
    assert bad.text.startswith("[weather__forecast] Error: city: 3 is not of type 'string'")
    assert rows == [
        ("weather__forecast", "ok", "program"),
        ("weather__forecast", "invalid_arguments", "program"),
    ]


async def test_a_changed_schema_is_served_at_once(provider: Provider) -> None:
    service = Plain("weather", (weather(city={"type": "string"}),))
    provider.register(service)
    await provider.available_tools(CALL)

    service.tools = (weather(city={"type": "string"}, days={"type": "integer"}),)
    (listed,) = await provider.available_tools(CALL)
    reply = await provider.execute_tool(CALL, "weather__forecast", {"city": "Seoul"})

    assert set(listed.input_schema["properties"]) == {"city", "days"}
    assert "'days' is a required property" in reply.text


async def test_a_tool_that_takes_a_name_that_is_taken_is_left_out(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    service = Plain("weather", ())
    provider.register(Echo())
    provider.register(service)

    service.tools = (replace(weather(), name="echo"), weather())
    reply = await provider.execute_tool(CALL, "echo", {"text": "mine"})

    assert isinstance(reply.data, dict)
    assert Echoed.model_validate(reply.data).text == "mine"
    assert "weather offers 'echo', which is taken" in caplog.text
    assert provider.find_tool("weather__forecast") is not None
