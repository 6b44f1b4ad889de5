"""The grants of assistants: rows that `config.toml` seeds, and a default that lets no service run code or reach out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.ids import AssistantId
from madang.core.phrases import say
from madang.core.service import Service, ServiceMetadata
from madang.database.port import Database
from madang.database.sqlite.database import SqliteDatabase
from madang.provider.grants import AssistantGrants, is_granted
from madang.provider.provider import Provider
from madang.records.assistants import AssistantStore
from madang.records.audit import AuditLog
from tests.asking import CALL
from tests.provider.services import Echo

GUEST = replace(CALL, assistant_id=AssistantId("guest"))


def metadata(*, runs_code: bool = False, reaches_out: bool = False) -> ServiceMetadata:
    return ServiceMetadata("shell", say("Shell"), say("Runs."), "1", runs_code=runs_code, reaches_out=reaches_out)


def test_the_default_grant_leaves_out_what_runs_code_or_reaches_out() -> None:
    assert is_granted(metadata(), None)
    assert not is_granted(metadata(runs_code=True), None)
    assert not is_granted(metadata(reaches_out=True), None)
    assert is_granted(metadata(runs_code=True), frozenset({"shell"}))


async def test_config_toml_seeds_a_grant_and_a_row_that_was_edited_holds(database: Database) -> None:
    assistants = AssistantStore(database)
    provider = Provider(AuditLog(database), grants=AssistantGrants(assistants, {"guest": ("other",)}))
    provider.register(Echo())

    before = await provider.available_tools(GUEST)
    guest = await assistants.get(GUEST.user_id, AssistantId("guest"))
    assert guest is not None
    await assistants.save(GUEST.user_id, replace(guest, services=("echo",)))
    after = await provider.available_tools(GUEST)

    assert before == []
    assert [tool.name for tool in after] == ["echo", "hang", "crash"]
    assert len(await provider.available_tools(CALL)) == 3


class Told(Service):
    metadata = ServiceMetadata("told", say("Told"), say("Tells."), "1", instructions="Use it.")


async def test_before_the_database_is_asked_the_instructions_follow_config_toml(database: Database) -> None:
    provider = Provider(AuditLog(database), grants=AssistantGrants(AssistantStore(database), {"guest": ()}))
    provider.register(Told())

    assert provider.instructions(GUEST) == ""
    assert provider.instructions(CALL) == "Use it."


async def test_a_grant_that_cannot_be_looked_up_refuses_the_call_and_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "madang.db").write_bytes(b"this is no database" * 100)
    database = SqliteDatabase(tmp_path / "madang.db")
    provider = Provider(AuditLog(database), grants=AssistantGrants(AssistantStore(database), {}))
    provider.register(Echo())

    listed = await provider.available_tools(GUEST)
    reply = await provider.execute_tool(GUEST, "echo", {"text": "hi"})
    await provider.close()
    await database.close()

    assert len(listed) == 3
    assert reply.error_code == "unavailable"
    assert "cannot be opened" in reply.text
    assert "The grants of an assistant cannot be read" in caplog.text
