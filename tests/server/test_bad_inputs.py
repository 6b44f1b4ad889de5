"""Thousands of bad lines through a pipe into a server in this process; `security/` has the same with real servers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from madang.app import open_madang
from madang.server.mcp import McpServer
from madang.server.stdio import PendingRequests, StdinReader, StdoutWriter
from madang.settings import Settings
from tests.security.bad_inputs import BadInputs, check_answers
from tests.security.served import INITIALIZE
from tests.wires import envelope

WINDOW = 250


PROBE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": envelope("test")}}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("hello", "meta"),
    [(INITIALIZE, {}), (PROBE, envelope("test")), (None, {})],
    ids=["legacy", "modern", "no handshake"],
)
async def test_t37_bad_lines_are_each_answered(
    tmp_path: Path, hello: dict[str, Any] | None, meta: dict[str, Any], seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    (stdin, to_server), (from_server, stdout) = os.pipe(), os.pipe()
    with (
        os.fdopen(to_server, "wb") as requests,
        os.fdopen(from_server, "rb") as answers,
        anyio.fail_after(120),
    ):
        async with open_madang(Settings(tmp_path)) as madang, anyio.create_task_group() as tasks:
            pending = PendingRequests()
            writer = StdoutWriter(stdout, pending)
            server = McpServer(madang.provider, madang.call("mcp-stdio"))
            tasks.start_soon(server.serve_connection, StdinReader(stdin, pending, writer.send), writer)

            async def exchange(lines: list[bytes], count: int) -> list[dict[str, Any]]:
                tasks.start_soon(anyio.to_thread.run_sync, _write, requests, lines)
                return await anyio.to_thread.run_sync(lambda: [next(_answers(answers)) for _ in range(count)])

            if hello is not None:
                await exchange([json.dumps(hello).encode()], 1)
            tools = [tool.name for tool in await madang.provider.available_tools(madang.call("python"))]
            bad_inputs = BadInputs(tools, seed, meta)
            for _ in range(4):
                inputs = list(bad_inputs.take(WINDOW))
                due = sum(one.is_answered for one in inputs)
                check_answers(inputs, await exchange([one.line for one in inputs], due))
            requests.close()
    os.close(stdin)
    os.close(stdout)

    assert not [record for record in caplog.records if record.exc_info]


def _write(file: Any, lines: list[bytes]) -> None:
    file.write(b"".join(line + b"\n" for line in lines))
    file.flush()


def _answers(file: Any) -> Iterator[dict[str, Any]]:
    for line in file:
        message = json.loads(line)
        if "method" not in message:
            yield message
