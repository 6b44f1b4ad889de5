"""Putting Madang's entry into a client's file and taking it out again, checked by reading the result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from madang.cli.clients.files import ClientFile, InstallRecord, unusable
from madang.cli.clients.json_text import Malformed
from madang.cli.clients.known import Client
from madang.core.errors import SetupError
from madang.core.phrases import say

COMMAND_KEYS = ("command", "cmd", "args")


@dataclass(frozen=True, slots=True)
class Edit:
    """What a file becomes. `data` is None where it goes."""

    file: ClientFile
    data: bytes | None

    @property
    def changes_something(self) -> bool:
        return self.data != self.file.data


def find_entry(client: Client, name: str, file: ClientFile) -> Any:
    """Return the entry of that name in a file, or None.

    Raises:
        SetupError: the file cannot be read.
    """
    document = _parsed(client, file)
    group = document.get(client.group) if isinstance(document, dict) else None
    return group.get(name) if isinstance(group, dict) else None


def find_madang(client: Client, name: str, file: ClientFile) -> Any:
    """Return the entry of that name unless it runs another program, or None.

    Raises:
        SetupError: the file cannot be read.
    """
    entry = find_entry(client, name, file)
    words = _command_words(entry)
    return None if words and not any("madang" in word.lower() for word in words) else entry


def find_install(entry: Any, file: ClientFile) -> InstallRecord | None:
    """Return the record of the install that wrote an entry, or None if it is the person's.

    By its command: clients and people add other things to an entry.
    """
    record = file.read_record()
    is_recorded = record is not None and _command_words(entry) == _command_words(record.entry)
    return record if is_recorded else None


def put_entry(client: Client, name: str, file: ClientFile, entry: dict[str, Any]) -> Edit:
    """Return the edit after which the file has the entry, and is otherwise as it was.

    Raises:
        SetupError: the file cannot be read, or cannot be edited without changing something else.
    """
    wanted = deepcopy(_parsed(client, file))
    group = wanted.get(client.group) or {}
    if not isinstance(group, dict):
        raise unusable(file.path, say("'{name}' in it does not list servers by name", name=client.group))
    if group.get(name) == entry:
        return Edit(file, file.data)
    wanted[client.group] = {**group, name: entry}
    return _checked(client, file, wanted, lambda module, text: module.put(text, (client.group, name), entry))


def remove_entry(client: Client, name: str, file: ClientFile) -> Edit:
    """Return the edit after which the file is as it was before the entry: by its backup, if nothing else has changed.

    Otherwise only the entry changes: to the one that the person had before, or to none.

    Raises:
        SetupError: the file cannot be read, or cannot be edited without changing something else.
    """
    entry = find_madang(client, name, file)
    if entry is None:
        return Edit(file, file.data)
    backup = file.read_backup()
    for before in (backup, None):
        if before != file.data and _leads_to(client, name, replace(file, data=before), entry, file.data):
            return Edit(file, before)
    if backup is not None and file.read_record() is not None:
        with suppress(SetupError):  # whatever is wrong with an old backup, the entry can still be taken out
            own_entry = find_entry(client, name, replace(file, data=backup))
            if own_entry is not None and own_entry != entry:
                return put_entry(client, name, file, own_entry)
    wanted = deepcopy(_parsed(client, file))
    del wanted[client.group][name]
    if not wanted[client.group] and client.format != "json":
        del wanted[client.group]  # a table or a mapping without lines is not there
    return _checked(client, file, wanted, lambda module, text: module.remove(text, (client.group, name)))


def _command_words(entry: Any) -> list[str]:
    """Return the words of the command that an entry runs; none if it runs none, as one with an address."""
    words: list[str] = []
    for key in COMMAND_KEYS if isinstance(entry, dict) else ():
        value = entry.get(key)
        words += map(str, value) if isinstance(value, list) else [str(value)] if value else []
    return words


def _leads_to(client: Client, name: str, before: ClientFile, entry: Any, data: bytes | None) -> bool:
    """Tell whether putting the entry into the earlier file gives what there is now."""
    try:
        return put_entry(client, name, before, entry).data == data
    except Exception:  # whatever is wrong with an old backup, the file itself can still be edited
        return False


def _checked(client: Client, file: ClientFile, wanted: Any, edit: Callable[[ModuleType, str], str]) -> Edit:
    module = _module(client)
    try:
        text = edit(module, file.text)
        result = module.parse(text)
    except Malformed as error:
        raise unusable(file.path, str(error)) from None
    except (KeyError, StopIteration, TypeError):
        result = None
    if result != wanted and not (_without_empty(result, client.group) == _without_empty(wanted, client.group)):
        raise unusable(file.path, say("the entry cannot be changed without changing something else"))
    return Edit(file, text.encode("utf-8"))


def _without_empty(document: Any, group: str) -> Any:
    return {key: value for key, value in document.items() if key != group or value} if document else document


def _parsed(client: Client, file: ClientFile) -> Any:
    try:
        return _module(client).parse(file.text)
    except Malformed as error:
        raise unusable(file.path, str(error)) from None


def _module(client: Client) -> ModuleType:
    match client.format:
        case "json":
            from madang.cli.clients import json_text

            return json_text
        case "toml":
            from madang.cli.clients import toml_text

            return toml_text
        case "yaml":
            from madang.cli.clients import yaml_text

            return yaml_text
