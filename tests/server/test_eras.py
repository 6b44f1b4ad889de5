"""One pipe, two eras: a client that probes with `server/discover` and then goes on with `initialize` is served."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import INVALID_REQUEST, PROTOCOL_VERSION_META_KEY, UNSUPPORTED_PROTOCOL_VERSION

from madang.app import open_madang
from madang.server.mcp import McpServer
from madang.settings import Settings
from tests.wires import Wire, envelope, initialize_params, open_wire

PROBE = {"_meta": envelope("copilot-cli")}


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with (
        open_madang(Settings(tmp_path)) as madang,
        open_wire(McpServer(madang.provider, madang.call("mcp-stdio"))) as wire,
    ):
        yield wire


async def read_all(wire: Wire, count: int) -> dict[int, dict[str, Any]]:
    answers = [await wire.read() for _ in range(count)]
    return {answer["id"]: answer for answer in answers}


@pytest.mark.parametrize("probes", [1, 3])
@pytest.mark.parametrize("gives_up", [False, True], ids=["silently", "with a cancellation"])
async def test_a_probe_and_a_handshake_written_one_after_the_other_are_both_answered(
    wire: Wire, probes: int, gives_up: bool
) -> None:
    for number in range(probes):
        await wire.write("server/discover", PROBE, id=100 + number)
        if gives_up:
            await wire.write("notifications/cancelled", {"requestId": 100 + number, "reason": "no answer"})
    await wire.write("initialize", initialize_params("copilot-cli"), id=1)
    await wire.write("notifications/initialized")
    await wire.write("tools/list", {}, id=2)

    answers = await read_all(wire, probes + 2)

    assert all("result" in answer for answer in answers.values())
    assert answers[1]["result"]["protocolVersion"] == "2025-11-25"
    assert answers[2]["result"]["tools"]
    assert "2026-07-28" in answers[100]["result"]["supportedVersions"]


async def test_a_handshake_long_after_the_answer_to_the_probe_is_served(wire: Wire) -> None:
    assert "capabilities" in await wire.discover("copilot-cli")
    await anyio.sleep(0.2)

    answer = await wire.exchange("initialize", initialize_params("copilot-cli"))
    await wire.write("notifications/initialized")

    assert answer["result"]["protocolVersion"] == "2025-11-25"
    assert (await wire.exchange("tools/call", {"name": "list_playbooks"}))["result"]["isError"] is False


async def test_after_a_probe_requests_of_the_newer_era_are_served(wire: Wire) -> None:
    await wire.discover("some-program")

    assert (await wire.request("tools/list", {}, client="some-program"))["tools"]
    assert "capabilities" in await wire.discover("some-program")
    refused = await wire.exchange("initialize", initialize_params("some-program"))
    assert refused["error"]["code"] == UNSUPPORTED_PROTOCOL_VERSION


async def test_the_era_of_a_handshake_stays(wire: Wire) -> None:
    await wire.exchange("initialize", initialize_params("some-program"))
    await wire.write("notifications/initialized")

    refused = await wire.exchange("tools/list", {"_meta": envelope("some-program")})

    assert refused["error"]["code"] == INVALID_REQUEST


async def test_a_probe_that_cannot_be_read_is_answered_and_settles_nothing(wire: Wire) -> None:
    refused = await wire.exchange("server/discover", {"_meta": {**envelope("x"), PROTOCOL_VERSION_META_KEY: 5}})
    bare = await wire.exchange("server/discover", {})
    answer = await wire.exchange("initialize", initialize_params("some-program"))

    assert "error" in refused
    assert "error" in bare
    assert "result" in answer


async def test_a_client_that_only_probes_and_leaves_is_done(wire: Wire) -> None:
    await wire.discover("some-program")


async def test_a_probe_is_answered_before_the_database_is_opened(tmp_path: Path) -> None:
    (tmp_path / "madang.db").write_bytes(b"this is no database" * 1000)
    async with (
        open_madang(Settings(tmp_path)) as madang,
        open_wire(McpServer(madang.provider, madang.call("mcp-stdio"))) as wire,
    ):
        assert "capabilities" in await wire.discover("some-program")
        answer = await wire.exchange("initialize", initialize_params("some-program"))

    assert answer["result"]["serverInfo"]["name"] == "madang"
