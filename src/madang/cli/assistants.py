"""`madang assistants`: which assistants are set up, and which services each may use."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from madang.app import Madang, check_service_names, open_madang
from madang.cli.terminal import show, show_table
from madang.core.phrases import Phrase, say
from madang.core.service import ServiceMetadata
from madang.core.texts import one_line
from madang.provider.grants import is_granted
from madang.rendering.catalogue import translator
from madang.settings import Settings
from madang.storage.assistants import AssistantRecord


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
        show(_words(madang, say("No assistant was set up: each has the services that neither run code nor reach out.")))
        return 0
    show_table([_words(madang, heading) for heading in (say("ASSISTANT"), say("SERVICES"))], rows)
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
    for line in lines:
        show(_words(madang, line))
    return 0


async def _grant(madang: Madang, options: argparse.Namespace) -> int:
    check_service_names(_known_services(madang), options.granted)
    user = madang.settings.user
    assistant = await madang.assistants.get(user, options.id) or AssistantRecord(options.id)
    services = None if options.default else tuple(dict.fromkeys(options.granted))
    saved = await madang.assistants.save(user, replace(assistant, services=services))
    text = say("The assistant '{id}' may use: {services}", id=saved.id, services=_services(madang, saved))
    show(_words(madang, text))
    return 0


_ACTIONS: Mapping[str, Callable[[Madang, argparse.Namespace], Awaitable[int]]] = {
    "list": _list,
    "show": _show,
    "grant": _grant,
}


def _known_services(madang: Madang) -> list[ServiceMetadata]:
    named = map(madang.provider.get_service_metadata, madang.provider.status)
    return [metadata for metadata in named if metadata is not None]


def _services(madang: Madang, assistant: AssistantRecord) -> str:
    """Return the names of the services that an assistant may use."""
    names = None if assistant.services is None else frozenset(assistant.services)
    return ", ".join(metadata.name for metadata in _known_services(madang) if is_granted(metadata, names)) or "-"


def _words(madang: Madang, phrase: Phrase) -> str:
    return one_line(phrase.render(translator(madang.settings.locale)))
