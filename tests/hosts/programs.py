"""Programs of others, and our own, run as people run them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

MADANG = Path(sys.executable).with_name("madang")
TOKEN = "a-token-for-foreign-hosts"
START_S = 60
"""How long a program may take until it is up; machines that run tests are busy."""


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a program that must not touch the home of whoever runs the tests."""
    path = f"{MADANG.parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "MCP_INSPECTOR_SECRET_STORE": "memory", **variables}


@asynccontextmanager
async def running(command: Sequence[str], variables: Mapping[str, str], until: str) -> AsyncIterator[str]:
    """Start a program, wait until it says `until`, and give what it has said so far; it is ended in the end."""
    async with await anyio.open_process(command, env=variables, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        said = ""
        try:
            with anyio.fail_after(START_S):
                while until not in said:
                    said += (await process.stdout.receive()).decode()
            yield said
        except anyio.EndOfStream:
            raise AssertionError(f"{command[0]} ended before it said {until!r}: {said}") from None
        finally:
            if process.returncode is None:
                process.terminate()


@asynccontextmanager
async def madang_over_http(data_dir: Path) -> AsyncIterator[str]:
    """A Madang as `madang mcp --http` starts it, on a free port; gives its address."""
    variables = environment(data_dir, MADANG_DATA_DIR=str(data_dir), MADANG_TOKEN=TOKEN)
    async with running([str(MADANG), "mcp", "--http", "127.0.0.1:0"], variables, until="Ctrl-C") as said:
        yield said.split("serves MCP at ")[1].split()[0]
