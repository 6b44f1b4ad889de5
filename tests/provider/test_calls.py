"""One call through the provider: found, allowed, checked, limited, written down, and answered."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest
from anyio import fail_after

from madang.core.errors import NotGranted, UnknownTool
from madang.core.ids import AssistantId, SessionId
from madang.core.tools import ToolSchemas, tools_of
from madang.database.port import MigrationSet, Row, Transaction
from madang.database.sqlite.database import SqliteDatabase
from madang.provider.grants import FixedGrants
from madang.provider.provider import Provider
from madang.records.audit import AuditEntry, AuditLog
from tests.asking import CALL, Asker
from tests.provider.services import Echo, PatientTools, Plain

PROVIDER_LOG = "madang.provider.provider"


async def audit_rows(database: SqliteDatabase) -> list[Row]:
    async def work(tx: Transaction) -> list[Row]:
        return await tx.all("SELECT assistant_id, session_id, door, tool, effect, arguments, outcome FROM audit")

    return await database.read(work)


async def test_a_tool_is_found_by_its_bare_and_its_qualified_name(provider: Provider) -> None:
    provider.register(Echo())

    bare = await provider.execute_tool(CALL, "echo", {"text": "hi"})
    qualified = await provider.execute_tool(CALL, "echo__echo", {"text": "hi"})

    assert bare == qualified
    assert bare.text == "[echo] hi"


@pytest.mark.parametrize(
    "name", ["nothing", "echo__nothing", "other__echo", "__echo", "echo__", "", "echo__echo__echo"]
)
async def test_an_unknown_tool_is_the_programs_mistake(provider: Provider, name: str) -> None:
    provider.register(Echo())
    provider.register(Plain("other"))

    with pytest.raises(UnknownTool, match="There is no tool"):
        await provider.execute_tool(CALL, name, {"text": "hi"})


@pytest.mark.parametrize(("name", "meant"), [("ecko", "echo"), ("echo__ecko", "echo"), ("entirely_other", "")])
async def test_an_unknown_tool_is_answered_with_the_nearest_name(provider: Provider, name: str, meant: str) -> None:
    provider.register(Echo())

    with pytest.raises(UnknownTool) as unknown:
        await provider.execute_tool(CALL, name, {})

    assert str(unknown.value.hint or "") == (f"Did you mean '{meant}'?" if meant else "")


async def test_no_tool_is_suggested_that_the_assistant_may_not_use(database: SqliteDatabase) -> None:
    provider = Provider(AuditLog(database), grants=FixedGrants({"guest": []}))
    provider.register(Echo())

    with pytest.raises(UnknownTool) as unknown:
        await provider.execute_tool(replace(CALL, assistant_id=AssistantId("guest")), "ecko", {})

    assert unknown.value.hint is None


async def test_an_assistant_that_is_listed_may_use_only_its_services(database: SqliteDatabase) -> None:
    provider = Provider(AuditLog(database), grants=FixedGrants({"guest": ["other"], "nobody": []}))
    provider.register(Echo())
    provider.register(Plain("other"))
    guest = replace(CALL, assistant_id=AssistantId("guest"))

    with pytest.raises(NotGranted, match="The assistant 'guest' may not use the service 'echo'"):
        await provider.execute_tool(guest, "echo", {"text": "hi"})
    with pytest.raises(NotGranted):
        await provider.execute_tool(replace(CALL, assistant_id=AssistantId("nobody")), "echo__echo", {"text": "hi"})

    assert await provider.available_tools(guest) == []
    assert len(await provider.available_tools(CALL)) == 3
    assert (await provider.execute_tool(CALL, "echo", {"text": "hi"})).text == "[echo] hi"
    await provider.close()


async def test_a_call_that_takes_too_long_is_given_up(database: SqliteDatabase) -> None:
    provider = Provider(AuditLog(database), time_limit_s=0.01)
    echo = Echo()
    provider.register(echo)

    with fail_after(60):
        reply = await provider.execute_tool(CALL, "hang", {})
        await echo.holder.cancelled.wait()

    assert reply.text == (
        "[hang] Error: The call took longer than 0.01 s and was given up.\n"
        "Hint: It may still have been done: look before you call again."
    )
    assert reply.error_code == "timed_out"
    await provider.close()


async def test_a_tool_can_have_a_time_limit_of_its_own(provider: Provider) -> None:
    provider.register(Plain("patient", tools_of(PatientTools())))

    with fail_after(60):
        reply = await provider.execute_tool(CALL, "wait_briefly", {})

    assert "The call took longer than 0.01 s" in reply.text


async def test_a_cancelled_call_is_cancelled_and_not_answered(provider: Provider) -> None:
    echo = Echo()
    provider.register(echo)
    call = asyncio.create_task(provider.execute_tool(CALL, "hang", {}))

    with fail_after(60):
        await echo.holder.entered.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert echo.holder.cancelled.is_set()


async def test_an_internal_error_is_told_without_its_insides_and_found_in_the_log(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.register(Echo())

    reply = await provider.execute_tool(CALL, "crash", {})

    reference = reply.text.removeprefix("[crash] Error: Internal error (reference ").split(")")[0]
    assert reply.text == (
        f"[crash] Error: Internal error (reference {reference}).\n"
        "Hint: Ask the person to look for this reference in the log."
    )
    assert reply.error_code == "internal"
    for text in (reply.text, str(reply.data)):
        assert "Traceback" not in text
        assert "secret detail" not in text
    assert reference in caplog.text
    assert "secret detail" in caplog.text


@pytest.mark.parametrize("depth", [65, 5_000, 200_000])
async def test_arguments_that_are_too_deep_are_refused_and_written_down(asker: Asker, depth: int) -> None:
    deep: Any = "x"
    for _ in range(depth):
        deep = [deep]

    reply = await asker.ask("create_goal", goal=deep)

    assert reply.error_code == "limit_exceeded"
    assert reply.text.startswith("[create_goal] Error: The arguments are nested deeper than 64 levels.")


async def test_too_many_arguments_are_refused(asker: Asker) -> None:
    reply = await asker.ask("clear_todos", ids=[1] * 100_001)

    assert reply.text.startswith("[clear_todos] Error: The arguments hold more than 100000 values.")


async def test_every_call_is_one_line_in_the_log_and_one_row_in_the_trail(
    database: SqliteDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, PROVIDER_LOG)
    provider = Provider(AuditLog(database))
    provider.register(Echo())

    await provider.execute_tool(CALL, "echo", {"text": "안녕"})
    await provider.execute_tool(replace(CALL, door="mcp-http"), "echo__echo", {"text": 5})
    await provider.execute_tool(CALL, "crash", {})
    await provider.close()

    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert [line.split(" ")[:2] for line in lines] == [
        ["echo", "ok"],
        ["echo", "invalid_arguments"],
        ["crash", "internal"],
    ]
    assert "(mcp-http, test-session)" in lines[1]
    assert await audit_rows(database) == [
        ("test-agent", "test-session", "python", "echo", "read", '{"text": "안녕"}', "ok"),
        ("test-agent", "test-session", "mcp-http", "echo", "read", '{"text": 5}', "invalid_arguments"),
        ("test-agent", "test-session", "python", "crash", "write", "{}", "internal"),
    ]


async def test_the_trail_keeps_long_arguments_short(database: SqliteDatabase) -> None:
    provider = Provider(AuditLog(database))
    provider.register(Echo())

    await provider.execute_tool(CALL, "echo", {"text": "x" * 10_000})
    await provider.close()

    ((*_, arguments, outcome),) = await audit_rows(database)
    assert (len(arguments) < 200, outcome) == (True, "ok")


async def test_refused_arguments_do_not_take_other_rows_of_the_trail_along(database: SqliteDatabase) -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    provider = Provider(AuditLog(database))
    provider.register(Echo())

    await provider.execute_tool(CALL, "echo", {"text": "hi"})
    await provider.execute_tool(CALL, "echo", {"text": deep})
    await provider.execute_tool(CALL, "echo", {"text": "hi", 5: "mixed keys"})  # type: ignore[dict-item]
    await provider.close()

    assert [row[-1] for row in await audit_rows(database)] == ["ok", "limit_exceeded", "invalid_arguments"]


async def test_closing_waits_for_rows_that_are_on_their_way() -> None:
    class Slow(SqliteDatabase):
        """Takes its time to prepare, until it is told to go on."""

        began, goes_on = asyncio.Event(), asyncio.Event()

        async def prepare(self, migrations: MigrationSet) -> None:
            self.began.set()
            await self.goes_on.wait()
            await super().prepare(migrations)

    database = Slow(None)
    audit = AuditLog(database)
    audit.record(AuditEntry(CALL, "echo", "read", {}, "ok", 1, 1.0))
    with fail_after(60):
        await database.began.wait()
        closing = asyncio.create_task(audit.close())
        await asyncio.wait([closing], timeout=0)
        assert not closing.done()
        database.goes_on.set()
        await closing

    assert len(await audit_rows(database)) == 1
    await database.close()


async def test_five_hundred_interleaved_calls_of_two_sessions_do_not_mix(asker: Asker) -> None:
    sessions = [asker.with_call(session_id=SessionId(name), assistant_id=AssistantId(name)) for name in ("one", "two")]

    async def one_call(number: int) -> None:
        who = sessions[number % 2]
        name = str(who.call.session_id)
        if number % 5 == 0:
            reply = await who.done("create_playbook", goal=f"{name} {number}", workflow=[])
            assert reply.data["playbook"]["agentId"] == name
        elif number % 5 == 1:
            reply = await who.done("add_observation", observation=f"{name} {number}")
            assert all(observation.startswith(name) for observation in reply.data["observations"])
        elif number % 5 == 2:
            reply = await who.done("list_playbooks")
            assert all(item["agentId"] == name for item in reply.data["page"]["items"])
        elif number % 5 == 3:
            await who.done("create_goal", goal=f"{name} goal")
        else:
            reply = await who.done("get_current_state")
            assert reply.data["goal"] in ("", f"{name} goal")

    await asyncio.gather(*(one_call(number) for number in range(500)))

    for who in sessions:
        name = str(who.call.session_id)
        listed = (await who.done("list_playbooks")).data["page"]["items"]
        assert len(listed) == 50
        assert all(item["goal"].startswith(f"{name} ") for item in listed)


async def test_calls_that_were_refused_or_cancelled_are_in_the_trail_too(database: SqliteDatabase) -> None:
    echo = Echo()
    provider = Provider(AuditLog(database), grants=FixedGrants({"guest": []}))
    provider.register(echo)

    with pytest.raises(UnknownTool):
        await provider.execute_tool(CALL, "nothing", {})
    with pytest.raises(NotGranted):
        await provider.execute_tool(replace(CALL, assistant_id=AssistantId("guest")), "echo", {"text": "hi"})
    hanging = asyncio.create_task(provider.execute_tool(CALL, "hang", {}))
    with fail_after(60):
        await echo.holder.entered.wait()
        hanging.cancel()
        await asyncio.wait([hanging])
    await provider.close()

    assert [(row[3], row[-1]) for row in await audit_rows(database)] == [
        ("nothing", "unknown_tool"),
        ("echo", "not_granted"),
        ("hang", "cancelled"),
    ]


async def test_prebuilt_schemas_are_listed_without_building_any(database: SqliteDatabase) -> None:
    prebuilt: ToolSchemas = {"input": {"type": "object", "properties": {}}, "output": {"type": "object"}}
    provider = Provider(AuditLog(database), schemas={"echo": prebuilt})
    provider.register(Echo())

    tools = {tool.name: tool for tool in await provider.available_tools(CALL)}

    assert (tools["echo"].input_schema, tools["echo"].output_schema) == (prebuilt["input"], prebuilt["output"])
    assert "input_model" not in vars(tools["echo"])
    assert tools["hang"].input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    await provider.close()


async def test_names_from_outside_are_inert_in_the_log(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    hostile = "a\nStatus: Agent paused\x1b[2J\u202e"
    caplog.set_level(logging.INFO, PROVIDER_LOG)

    with pytest.raises(UnknownTool):
        await provider.execute_tool(replace(CALL, session_id=SessionId(hostile)), hostile, {})

    (record,) = caplog.records
    inert = "a Status: Agent paused\\u001b[2J\\u202e"
    assert record.getMessage() == f"{inert} unknown_tool 0.0 ms (python, {inert})"
