"""`madang call` and `madang tools`: the tools from the command line."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from typing import Any

from madang.app import Madang, open_madang
from madang.cli.language import line_of
from madang.cli.terminal import show, show_json, show_table
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


def listing(options: argparse.Namespace, settings: Settings) -> int:
    """Print a table of the tools and what their schemas cost a model's context, or all about one of them."""
    return asyncio.run(_listing(settings, options.tool, as_json=options.json))


async def _call(settings: Settings, tool: str, arguments: dict[str, Any], *, as_json: bool) -> int:
    async with open_madang(settings) as madang:
        own_call = madang.call("command")
        await madang.use_workspace(own_call)
        reply = await madang.provider.execute_tool(own_call, tool, arguments)
    if as_json:
        show_json(reply.data)
    else:
        show("\n".join([reply.text, *map(_image_line, reply.images)]))
    return 1 if reply.is_error else 0


async def _listing(settings: Settings, name: str | None, *, as_json: bool) -> int:
    async with open_madang(settings) as madang:
        tools = await madang.provider.available_tools(madang.call("command"))
        if name is not None:
            tools = [_named(madang, tools, name)]
    if as_json:
        documents = [_document(tool) for tool in tools]
        show_json(documents if name is None else documents[0])
    elif name is not None:
        explain_tool(tools[0], settings)
    else:
        _show_tools(tools, settings)
    return 0


def _named(madang: Madang, tools: list[Tool], name: str) -> Tool:
    bare = name.rpartition("__")[2]
    tool = next((tool for tool in tools if tool.name == bare), None)
    if tool is None:
        raise madang.provider.unknown_tool(madang.call("command"), name)
    return tool


def _show_tools(tools: list[Tool], settings: Settings) -> None:
    headings = (say("TOOL"), say("EFFECT"), say("FOR"), say("TOKENS"), say("WHAT IT DOES"))
    rows = [
        (tool.name, tool.effect, tool.audience, f"{token_estimate(tool):6}", first_sentence(tool.description))
        for tool in tools
    ]
    show_table([line_of(settings, heading) for heading in headings], rows)
    show(
        line_of(
            settings,
            say(
                "{count} {count|tool|tools}, about {tokens} tokens (an estimate: {bytes} bytes of schema are a token)",
                count=len(tools),
                tokens=sum(map(token_estimate, tools)),
                bytes=BYTES_PER_TOKEN,
            ),
        )
    )


def explain_tool(tool: Tool, settings: Settings) -> None:
    show(one_line(tool.name))
    show(f"  {one_line(tool.description)}")
    facts = say(
        "Effect: {effect}. For: {audience}. About {tokens} tokens.",
        effect=tool.effect,
        audience=tool.audience,
        tokens=token_estimate(tool),
    )
    show(f"  {line_of(settings, facts)}")
    properties: dict[str, Any] = tool.input_schema.get("properties", {})
    if not properties:
        show("\n" + line_of(settings, say("It takes no arguments.")))
    else:
        required = tool.input_schema.get("required", [])
        headings = (say("ARGUMENT"), say("TYPE"), say("DEFAULT"), say("WHAT IT IS"))
        rows = [
            (name, _type(schema), _default(settings, name in required, schema), str(schema.get("description", "")))
            for name, schema in properties.items()
        ]
        show("")
        show_table([line_of(settings, heading) for heading in headings], rows)
    example = {name: _example(properties[name]) for name in tool.input_schema.get("required", [])}
    arguments = f" '{json.dumps(example, ensure_ascii=False)}'" if example else ""
    show(f"\nmadang call {one_line(tool.name)}{one_line(arguments)}")


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items", {})
        return f"list: {_type(items)}" if items else "list"
    if kind == "object" and schema.get("properties"):
        required = schema.get("required", [])
        return "{" + ", ".join(f"{name}{'*' if name in required else ''}" for name in schema["properties"]) + "}"
    return kind if isinstance(kind, str) else "any"


def _default(settings: Settings, is_required: bool, schema: dict[str, Any]) -> str:
    if is_required:
        return line_of(settings, say("(required)"))
    return json.dumps(schema["default"], ensure_ascii=False) if "default" in schema else "-"


def _example(schema: dict[str, Any]) -> Any:
    """Return the shortest value that looks like one of this schema."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return True
        case "array":
            return [_example(schema.get("items", {}))]
        case "object":
            return {name: _example(schema["properties"][name]) for name in schema.get("required", [])}
    return "…"


def _document(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "effect": tool.effect,
        "audience": tool.audience,
        "tokens": token_estimate(tool),
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    }


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:;])\s", one_line(text), maxsplit=1)[0].rstrip(".:;")


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
