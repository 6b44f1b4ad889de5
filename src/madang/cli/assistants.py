"""`madang assistants`: which assistants are set up, and which services each may use."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from madang.agent.limits import parse_limits
from madang.agent.policy import ASK_FIRST
from madang.app import Madang, check_service_names, open_madang
from madang.cli.language import line_of
from madang.cli.terminal import show, show_table
from madang.core.errors import SetupError
from madang.core.phrases import say
from madang.core.service import ServiceMetadata
from madang.provider.grants import is_granted
from madang.records.assistants import AssistantRecord
from madang.settings import Settings

NONE = "none"
"""For an option that takes names, and is to have none."""


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Do what the options say, with all services to choose from."""
    return asyncio.run(_run(options, replace(settings, services=())))


async def _run(options: argparse.Namespace, settings: Settings) -> int:
    async with open_madang(settings) as madang:
        # What config.toml says of assistants is taken over at the first look.
        await madang.provider.available_tools(madang.call("command"))
        await madang.assistants.open()
        return await _ACTIONS[options.action](madang, options)


async def _list(madang: Madang, _: argparse.Namespace) -> int:
    assistants = await madang.assistants.list_all(madang.settings.user)
    rows = [(assistant.id, _services(madang, assistant)) for assistant in assistants]
    if not rows:
        show(
            line_of(
                madang.settings,
                say("No assistant was set up: each has the services that neither run code nor reach out."),
            )
        )
        return 0
    show_table([line_of(madang.settings, heading) for heading in (say("ASSISTANT"), say("SERVICES"))], rows)
    return 0


async def _show(madang: Madang, options: argparse.Namespace) -> int:
    assistant = await madang.assistants.get(madang.settings.user, options.id) or AssistantRecord(options.id)
    lines = [
        say("Assistant: {id}", id=assistant.id),
        say("Services: {services}", services=_services(madang, assistant)),
    ]
    if assistant.services is None:
        lines.append(say("It has the default grant: every service that neither runs code nor reaches out."))
    if assistant.name:
        lines.append(say("Name: {name}", name=assistant.name))
    if assistant.model:
        lines.append(say("Model: {model}", model=assistant.model))
    if assistant.policy.get(ASK_FIRST):
        lines.append(say("Asks first: {services}", services=", ".join(assistant.policy[ASK_FIRST])))
    if assistant.limits:
        limits = ", ".join(f"{name} {value}" for name, value in assistant.limits.items())
        lines.append(say("Limits: {limits}", limits=limits))
    if assistant.instructions:
        lines.append(say("Instructions: {text}", text=assistant.instructions))
    for line in lines:
        show(line_of(madang.settings, line))
    return 0


async def _grant(madang: Madang, options: argparse.Namespace) -> int:
    check_service_names(_known_services(madang), options.granted)
    user = madang.settings.user
    assistant = await madang.assistants.get(user, options.id) or AssistantRecord(options.id)
    services = None if options.default else tuple(dict.fromkeys(options.granted))
    saved = await madang.assistants.save(user, replace(assistant, services=services))
    text = say("The assistant '{id}' may use: {services}", id=saved.id, services=_services(madang, saved))
    show(line_of(madang.settings, text))
    return 0


async def _set(madang: Madang, options: argparse.Namespace) -> int:
    """Change what is given of an assistant's set-up."""
    user = madang.settings.user
    assistant = await madang.assistants.get(user, options.id) or AssistantRecord(options.id)
    changes: dict[str, Any] = {}
    if options.own_model is not None:
        changes["model"] = options.own_model.strip()
    if options.instructions is not None:
        changes["instructions"] = _read_text(options.instructions)
    if options.ask_first is not None:
        names = [name for name in options.ask_first if name != NONE]
        check_service_names(_known_services(madang), names)
        changes["policy"] = {**assistant.policy, ASK_FIRST: names}
    if options.limit is not None:
        changes["limits"] = _limits(dict(assistant.limits), options.limit)
    if not changes:
        raise SetupError(say("Say what is to change: --model, --instructions, --ask-first or --limit."))
    await madang.assistants.save(user, replace(assistant, **changes))
    return await _show(madang, options)


def _limits(limits: dict[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Return limits with those that are given as NAME=VALUE; an empty value takes one away."""
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise SetupError(say("A limit is NAME=VALUE, such as turns=50, not '{word}'.", word=word[:100]))
        limits.pop(name, None)
        if value:
            limits[name] = int(value) if value.isdecimal() else _decimal(value)
    parsed = parse_limits(limits, has_prices=True)  # whether a model has prices is seen when it is used
    return parsed.model_dump(exclude_unset=True)


def _decimal(value: str) -> float | str:
    """Return a number; what is none is left to what checks the limits."""
    try:
        return float(value)
    except ValueError:
        return value


def _read_text(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SetupError(say("{path} cannot be read: {reason}", path=name, reason=str(error))) from None


_ACTIONS: Mapping[str, Callable[[Madang, argparse.Namespace], Awaitable[int]]] = {
    "list": _list,
    "show": _show,
    "grant": _grant,
    "set": _set,
}


def _known_services(madang: Madang) -> list[ServiceMetadata]:
    named = map(madang.provider.get_service_metadata, madang.provider.status)
    return [metadata for metadata in named if metadata is not None]


def _services(madang: Madang, assistant: AssistantRecord) -> str:
    """Return the names of the services that an assistant may use."""
    names = None if assistant.services is None else frozenset(assistant.services)
    return ", ".join(metadata.name for metadata in _known_services(madang) if is_granted(metadata, names)) or "-"
