"""A process that writes as fast as it can until it is killed: `python -m tests.crash.load FOLDER ROUND`.

It goes through the provider, without the MCP SDK, whose import would cost more than all the rest. Each line says what
is tried next, or what was acknowledged: `try create 3-0-17`, `ack create 3-0-17`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from madang.app import Madang, open_madang
from madang.core.calls import Call
from madang.core.ids import SessionId
from madang.settings import Settings

CLIENTS = 6


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def ask(madang: Madang, call: Call, tool: str, arguments: dict[str, Any], key: str) -> dict[str, Any]:
    say(f"try {tool} {key}")
    reply = await madang.provider.execute_tool(call, tool, arguments)
    assert not reply.is_error, reply.text
    say(f"ack {tool} {key}")
    return reply.data


async def client(madang: Madang, round: str, number: int) -> None:
    """Keep playbooks, add to-dos and update one playbook, for ever."""
    call = replace(madang.call("python"), session_id=SessionId(f"{round}-{number}"))
    name = f"updated-{round}-{number}"
    mine = (await ask(madang, call, "create_playbook", {"goal": name, "workflow": []}, name))["playbook"]
    for count in range(190):
        key = f"{round}-{number}-{count}"
        await ask(madang, call, "create_playbook", {"goal": key, "workflow": []}, key)
        await ask(madang, call, "add_todo", {"name": key}, key)
        patch = {"id": mine["id"], "playbook": {"initialCommand": key}, "expectedVersion": count + 1}
        await ask(madang, call, "update_playbook", patch, name)


async def main(folder: str, round: str) -> None:
    async with open_madang(Settings(Path(folder))) as madang, anyio.create_task_group() as clients:
        for number in range(CLIENTS):
            clients.start_soon(client, madang, round, number)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
