"""A process without what only POSIX has: `fcntl` and its like, and names in `os` and `signal`.

It imports every module of the package, calls a tool of each service that needs no such thing, and prints the outcomes.
Libraries of others are imported before: they have their own ways on Windows.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import pkgutil
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
import apsw
import asyncpg
import babel
import jinja2
import lxml.etree
import mcp.client.stdio
import mcp.client.streamable_http
import mcp.server.lowlevel
import pypdfium2  # type: ignore[import-untyped]  # it has no types
import python_calamine
import starlette.applications
import tantivy
import uvicorn

OTHERS = (
    anyio, apsw, asyncio, asyncpg, babel, jinja2, lxml, mcp, pypdfium2, python_calamine, shutil, socket, starlette,
    subprocess, tantivy, tempfile, uvicorn,
)  # fmt: skip
MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty")
OS_NAMES = (
    "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "fchmod", "fork", "getpgid", "getuid",
    "geteuid", "killpg", "mkfifo", "pread", "preadv", "register_at_fork", "setsid",
)  # fmt: skip
SIGNALS = ("SIGALRM", "SIGHUP", "SIGKILL", "SIGTRAP", "SIGUSR1", "SIGXCPU")
# Windows Python cannot import it either: it is a program of its own.
LEFT_OUT = ("madang.__main__",)

CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("add_todo", {"name": "할 일"}),
    ("create_playbook", {"goal": "a", "workflow": [{"description": "b"}]}),
    ("prompt_user", {"prompt": "a", "type": "text"}),
    ("visualize_data", {"type": "bar", "data": [{"label": "a", "value": 1}]}),
    ("list_directory", {}),
    ("list_stores", {}),
)


def take_away() -> None:
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # so that an import of it fails
    for name in OS_NAMES:
        vars(os).pop(name, None)
    for name in SIGNALS:
        vars(signal).pop(name, None)
    sys.platform = "win32"


def import_all() -> list[str]:
    import madang

    names = [module.name for module in pkgutil.walk_packages(madang.__path__, "madang.")]
    for name in names:
        # The child imports its parsers by relative names and runs on POSIX alone.
        if name not in LEFT_OUT and not name.startswith("madang.services.content.engine.parsing.child."):
            importlib.import_module(name)
    return names


async def call_all(data_dir: Path) -> dict[str, str]:
    from madang.app import open_madang
    from madang.settings import Settings

    async with open_madang(Settings(data_dir=data_dir)) as opened:
        call = opened.call("python")
        replies = {tool: await opened.provider.execute_tool(call, tool, arguments) for tool, arguments in CALLS}
        listed = [tool.name for tool in await opened.provider.available_tools(call)]
    outcomes = {tool: reply.text if reply.is_error else "ok" for tool, reply in replies.items()}
    return {**outcomes, "listed": ", ".join(sorted({"add_todo", "read_file", "add_content"} & set(listed)))}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        take_away()
        imported = len(import_all())
        json.dump({"imported": imported, **asyncio.run(call_all(Path(folder)))}, sys.stdout)
        sys.platform = "linux"
