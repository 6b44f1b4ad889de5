"""`madang install` and `madang uninstall`: Madang in the configuration of a client, without editing it by hand."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from madang.cli.clients.editing import Edit, find_entry, find_install, find_madang, put_entry, remove_entry
from madang.cli.clients.files import InstallRecord, read_file
from madang.cli.clients.known import CLIENTS, Client
from madang.cli.language import line_of
from madang.cli.launcher import launch_command, runs_from_uv_cache, shell_line, uvx_command
from madang.cli.terminal import show, show_table
from madang.core.errors import MadangError, RequestError, SetupError
from madang.core.phrases import Phrase, layout, say
from madang.core.suggestions import did_you_mean
from madang.core.texts import one_line
from madang.settings import Settings

PASSED_ON = ("assistant", "session", "user", "services", "ui", "ask")
"""The options that a client's Madang is started with as they were given here, or in variables of this shell."""
MAX_SHOWN_CHARS = 300


def install(options: argparse.Namespace, settings: Settings) -> int:
    """Put Madang into a client's file, or list the clients."""
    if options.client is None:
        return _list(options, settings)
    if options.http is not None:
        raise RequestError(
            say(
                "A client that Madang is installed in starts it itself, and speaks to it over its pipe, not over HTTP."
            ),
            hint=say("Leave --http out, or run 'madang mcp --http', which prints how clients connect to it."),
        )
    client, path = _chosen(options)
    command = [*_command(options), "mcp", *_arguments(options, settings)]
    file = read_file(path, options.name)
    present, entry = find_entry(client, options.name, file), client.make_entry(command)
    earlier = find_install(present, file)
    # What was added to an entry of ours since, such as variables, stays.
    added = {key: value for key, value in present.items() if key not in earlier.entry} if earlier else {}
    edit = put_entry(client, options.name, file, {**entry, **added})
    if not edit.changes_something:
        return _tell(settings, say("{client} starts this Madang already: {path}", client=client.title, path=str(path)))
    if options.dry_run:
        return _show_changes(settings, edit)
    if earlier is None:
        file.back_up()
    file.replace(edit.data)
    has_backup = earlier.has_backup if earlier else file.data is not None
    file.write_record(InstallRecord(entry, has_backup))
    _tell(
        settings, say("{client} starts Madang from now on: {command}", client=client.title, command=shell_line(command))
    )
    _tell(settings, say("Changed: {path}", path=str(path)))
    if has_backup and file.backup_path.exists():
        _tell(settings, say("As it was before: {path}", path=str(file.backup_path)))
    return _tell(
        settings,
        say("Start {client} anew to use it. To undo this: madang uninstall {id}", client=client.title, id=client.id),
    )


def uninstall(options: argparse.Namespace, settings: Settings) -> int:
    """Take Madang out of a client's file. The data stays."""
    if options.client is None:
        return _list(options, settings)
    client, path = _chosen(options)
    file = read_file(path, options.name)
    edit = remove_entry(client, options.name, file)
    if not edit.changes_something:
        return _tell(settings, say("{client} has no Madang: {path}", client=client.title, path=str(path)))
    if options.dry_run:
        return _show_changes(settings, edit)
    record, before = file.read_record(), file.read_backup()
    is_by_hand = record is None and (before is None or edit.data != before)
    if is_by_hand:
        file.back_up()  # no install wrote the entry, so it is nowhere else
    file.replace(edit.data)
    file.drop_record()
    if find_entry(client, options.name, replace(file, data=edit.data)) is None:
        _tell(settings, say("{client} no longer starts Madang. Your data is where it was.", client=client.title))
    else:
        _tell(settings, say("{client} has your own entry '{name}' again.", client=client.title, name=options.name))
    if edit.data == before and not is_by_hand:
        if before is not None:
            file.drop_backup()
        return _tell(settings, say("As it was before Madang: {path}", path=str(path)))
    _tell(settings, say("Changed: {path}", path=str(path)))
    if is_by_hand:
        _tell(settings, say("As it was before: {path}", path=str(file.backup_path)))
    elif before is not None:
        _tell(
            settings,
            say("As it was before Madang, without your later changes: {path}", path=str(file.backup_path)),
        )
    return 0


def _list(options: argparse.Namespace, settings: Settings) -> int:
    rows = []
    for client in CLIENTS:
        path = client.find_file(os.environ)
        try:
            entry = find_madang(client, options.name, read_file(path, options.name))
            state = say("connected") if entry is not None else layout("-")
        except MadangError as error:
            state = error.message
        rows.append((client.id, line_of(settings, state), str(path)))
    show_table([line_of(settings, heading) for heading in (say("CLIENT"), say("MADANG"), say("FILE"))], rows)
    return 0


def _chosen(options: argparse.Namespace) -> tuple[Client, Path]:
    client = next((client for client in CLIENTS if client.id == options.client), None)
    if client is None:
        names = [client.id for client in CLIENTS]
        raise RequestError(
            say("There is no client '{name}'.", name=options.client),
            hint=did_you_mean(options.client, names) or say("There are: {names}.", names=", ".join(names)),
        )
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", options.name):
        raise RequestError(say("The name of a server has 1 to 64 letters, digits, hyphens and underscores."))
    try:
        return client, Path(options.file).expanduser().absolute() if options.file else client.find_file(os.environ)
    except RuntimeError as error:
        raise SetupError(
            say("'{path}' cannot be used: {reason}.", path=options.file or "~", reason=str(error))
        ) from None


def _command(options: argparse.Namespace) -> list[str]:
    """Return what the client runs: this Madang by its path, or `uvx` where there is no path that lasts."""
    return uvx_command() if options.uvx or runs_from_uv_cache() else launch_command()


def _arguments(options: argparse.Namespace, settings: Settings) -> Sequence[str]:
    """Return the options for the client's Madang: a client has none of the variables of this shell."""
    arguments: list[str] = []
    if options.data_dir or os.environ.get("MADANG_DATA_DIR"):
        arguments += ["--data-dir", str(settings.data_dir)]
    if settings.database:
        if _has_password(settings.database):
            raise SetupError(
                say("The URL of the database has a password, which does not belong into a client's file."),
                hint=say("Install without it, and give MADANG_DATABASE to the client in its own way."),
            )
        arguments += ["--database", settings.database]
    for name in PASSED_ON:
        if value := getattr(options, name) or os.environ.get(f"MADANG_{name.upper()}"):
            arguments += [f"--{name}", value]
    if options.verbose:
        arguments += ["--verbose"]
    if options.locale or settings.locale != "en":
        arguments += ["--locale", settings.locale]
    for folder in options.allow_folder or ():
        arguments += ["--allow-folder", str(Path(folder).expanduser().absolute())]
    if settings.workspace is not None:
        arguments += ["--workspace", str(settings.workspace)]
    return arguments


def _has_password(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.password) or "password=" in parts.query


def _show_changes(settings: Settings, edit: Edit) -> int:
    before = edit.file.text.splitlines()
    after = (edit.data or b"").decode("utf-8").splitlines()
    _tell(settings, say("This would change {path}:", path=str(edit.file.path)))
    # Without the lines around: a client's file may hold secrets.
    for line in list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]:
        show("" if line.startswith("@@") else f"  {one_line(line.expandtabs(4), MAX_SHOWN_CHARS)}")
    return 0


def _tell(settings: Settings, phrase: Phrase) -> int:
    show(line_of(settings, phrase))
    return 0
