"""`madang models`: which models can be used, trying one, and keeping a key."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from getpass import getpass

from pydantic import SecretStr

from madang.cli.language import words
from madang.cli.terminal import show, show_error, show_json, show_table
from madang.core.errors import RequestError, SetupError
from madang.core.phrases import say
from madang.llm.discovery import FoundServer, find_servers
from madang.llm.errors import ModelError
from madang.llm.keys import KeyStore
from madang.llm.opening import open_model
from madang.llm.vendors import VENDORS, is_installed
from madang.settings import Settings, prepare_data_dir

MAX_SHOWN_CHARS = 500
MAX_KEY_INPUT_CHARS = 16 * 1024


def run(options: argparse.Namespace, settings: Settings) -> int:
    """List the models, try the one that is named, or keep a key."""
    keys = KeyStore(settings.data_dir, os.environ)
    if options.key:
        return _keep(options.key, keys, settings)
    if options.forget:
        was_kept = keys.delete(options.forget)
        name = options.forget
        text = say("The key '{name}' is gone.", name=name) if was_kept else say("No key '{name}' is kept.", name=name)
        show(words(settings, text))
        return 0 if was_kept else 1
    if name := _tried(options):
        if options.stories:
            from madang.cli.stories import run_stories  # on use: it needs the whole agent

            return asyncio.run(run_stories(name, keys, settings, as_json=options.json))
        return asyncio.run(_try(name, keys, settings))
    return asyncio.run(_list(keys, settings, as_json=options.json))


def _tried(options: argparse.Namespace) -> str:
    """Return the model to try; empty if none is named.

    Raises:
        RequestError: more than one is named, or none where one is wanted.
    """
    names = options.model[1:] if options.model[:1] == ["try"] else options.model
    if len(names) > 1 or (not names and (options.model or options.stories)):
        raise RequestError(say("Name one model to try."), hint=say("For example: madang models try MODEL --stories"))
    return str(names[0]) if names else ""


async def _list(keys: KeyStore, settings: Settings, *, as_json: bool) -> int:
    servers = await find_servers()
    rows = [*_configured(settings, keys), *_vendors(settings, keys), *_local(settings, servers)]
    if as_json:
        show_json([{"model": model, "from": source, "key": key} for model, source, key in rows])
        return 0
    if rows:
        show_table([words(settings, heading) for heading in (say("MODEL"), say("FROM"), say("KEY"))], rows)
    if not servers:
        show(words(settings, say("No server of models answers on this machine (Ollama, LM Studio, llama.cpp, vLLM).")))
    show(words(settings, say("Try one with: madang models MODEL")))
    return 0


def _configured(settings: Settings, keys: KeyStore) -> list[tuple[str, str, str]]:
    rows = []
    for name, config in settings.models.items():
        if not config.key:
            place = "-"
        else:
            place = config.key if keys.resolve(config.key) else words(settings, say("missing: {key}", key=config.key))
        rows.append((name, f"config.toml: {config.provider or config.url} {config.model}", place))
    return rows


def _vendors(settings: Settings, keys: KeyStore) -> list[tuple[str, str, str]]:
    rows = []
    for name, vendor in VENDORS.items():
        if not is_installed(name):
            continue
        _, place = keys.find(vendor.key_name, vendor.key_variables)
        missing = say("missing: {key}", key=vendor.key_variables[0])
        rows.append((f"{name}:…", vendor.title, place or words(settings, missing)))
    return rows


def _local(settings: Settings, servers: list[FoundServer]) -> list[tuple[str, str, str]]:
    empty = words(settings, say("it has no models"))
    return [
        (f"{server.url}#{model}" if model else server.url, server.name if model else f"{server.name}: {empty}", "-")
        for server in servers
        for model in server.models or ("",)
    ]


async def _try(name: str, keys: KeyStore, settings: Settings) -> int:
    opened = open_model(name, settings.models, keys)
    began = time.monotonic()
    try:
        answer = await opened.answer_trial()
    except ModelError as error:
        hint = f" {words(settings, error.hint)}" if error.hint else ""
        show_error(f"{words(settings, error.message)}{hint}")
        return 1
    finally:
        await opened.model.close()
    seconds = time.monotonic() - began
    show(answer.text.strip()[:MAX_SHOWN_CHARS])
    usage = answer.usage
    tokens = say(
        "{model} answered in {seconds:.1f} s: {input} tokens read, {output} written.",
        model=opened.model.label,
        seconds=seconds,
        input="?" if usage.input_tokens is None else usage.input_tokens,
        output="?" if usage.output_tokens is None else usage.output_tokens,
    )
    show(words(settings, tokens))
    return 0


def _keep(name: str, keys: KeyStore, settings: Settings) -> int:
    """Keep a key from standard input; at a terminal it is typed without being shown. Never from the command line."""
    prepare_data_dir(settings.data_dir)
    if sys.stdin.isatty():
        key = getpass(words(settings, say("The key '{name}' (it is not shown): ", name=name)))
    else:
        key = sys.stdin.read(MAX_KEY_INPUT_CHARS)
    if not key.strip():
        raise SetupError(say("There is no key on standard input."))
    show(words(settings, keys.save(name, SecretStr(key.strip()))))
    return 0
