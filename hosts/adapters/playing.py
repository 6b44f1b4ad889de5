"""Plays the script through a framework. Standard library alone, like everything an adapter imports from here."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from hosts.script import STEPS, Arguments

START_S = 60
CallTool = Callable[[str, Arguments], Awaitable[Any]]
"""Calls a tool through the framework and returns the content of the message it makes for its model."""


def play(connect: Callable[[str, list[str]], AbstractAsyncContextManager[CallTool]]) -> None:
    """Connect to the server that the command line names, call each step, and write down what a model would be given."""
    written, command, *arguments = sys.argv[1:]
    given: list[str] = []

    async def run() -> None:
        async with connect(command, arguments) as call_tool:
            for step in STEPS:
                try:
                    content = await call_tool(step.tool, step.arguments(given))
                except Exception as error:  # frameworks raise what their agent then tells its model
                    content = str(error)
                given.append(as_read(content))

    try:
        asyncio.run(run())
    finally:
        Path(written).write_text(json.dumps(given, ensure_ascii=False))


def as_read(content: Any) -> str:
    """Return the content of a message as the model reads it: texts as they are, anything else as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(as_read(part) for part in content)
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json.dumps(content, ensure_ascii=False, default=str)
