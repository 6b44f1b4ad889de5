"""`madang call` and `madang tools`: the tools from the command line."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

from madang.app import open_madang
from madang.cli.terminal import show, show_json
from madang.core.errors import RequestError
from madang.core.phrases import say
from madang.core.results import Image
from madang.core.texts import one_line
from madang.core.tools import Tool
from madang.settings import Settings

BYTES_PER_TOKEN = 4


def call(options: argparse.Namespace, settings: Settings) -> int:
    """Call one tool; the exit code tells whether it answered with an error."""
    arguments = _json_object(sys.stdin.read() if options.arguments == "-" else options.arguments)
    return asyncio.run(_call(settings, options.tool, arguments, as_json=options.json))


def listing(_: argparse.Namespace, settings: Settings) -> int:
    """Print a table of the tools and what their schemas cost a model's context."""
    return asyncio.run(_listing(settings))


async def _call(settings: Settings, tool: str, arguments: dict[str, Any], *, as_json: bool) -> int:
    async with open_madang(settings) as madang:
        reply = await madang.provider.execute_tool(madang.call("command"), tool, arguments)
    if as_json:
        show_json(reply.data)
    else:
        show("\n".join([reply.text, *map(_image_line, reply.images)]))
    return 1 if reply.is_error else 0


async def _listing(settings: Settings) -> int:
    async with open_madang(settings) as madang:
        tools = await madang.provider.available_tools(madang.call("command"))
    width = max((len(tool.name) for tool in tools), default=0)
    show(f"{'TOOL':{width}}  EFFECT   FOR     TOKENS")
    for tool in tools:
        show(f"{one_line(tool.name):{width}}  {tool.effect:7}  {tool.audience:6}  {token_estimate(tool):6}")
    total = sum(token_estimate(tool) for tool in tools)
    show(f"{len(tools)} tools, about {total} tokens (an estimate: {BYTES_PER_TOKEN} bytes of schema are a token)")
    return 0


def token_estimate(tool: Tool) -> int:
    """Return about how many tokens this tool takes in a model's context."""
    definition = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return len(json.dumps(definition, ensure_ascii=False, separators=(",", ":")).encode()) // BYTES_PER_TOKEN


def _image_line(image: Image) -> str:
    """Return a line that says where there is an image: a terminal does not show it."""
    size_kb = max(1, round(len(image.data) / 1024))
    return one_line(f"[image: {image.alt or '-'}, {size_kb} KB, {image.mime_type}]")


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError(say("The arguments are not JSON: {reason}.", reason=str(error)[:200])) from None
    if not isinstance(value, dict):
        raise RequestError(say("The arguments must be a JSON object."))
    return value
