"""`madang backup`, `restore`, `export`, `import` and `delete`: all data at once."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from madang import __version__
from madang.app import open_madang
from madang.cli.language import line_of
from madang.cli.shutdown import exit_on_signals, run_until_signal
from madang.cli.terminal import confirm, show
from madang.core.errors import RequestError
from madang.core.phrases import Phrase, say
from madang.settings import Settings, prepare_data_dir


def backup(options: argparse.Namespace, settings: Settings) -> int:
    """Write a backup of the data folder, whoever else uses it."""
    from madang.records.data_folder import back_up_folder

    _check_is_file(settings, say("'pg_dump' backs up a server, and a copy of workspaces/ the files."))
    prepare_data_dir(settings.data_dir)
    with exit_on_signals():
        made = back_up_folder(settings.data_dir, _absolute(options.file), __version__)
    _tell(
        settings,
        say(
            "Backed up to {path}: the database, {count} file(s), {size} KiB.",
            path=options.file,
            count=made.manifest.files,
            size=-(-made.size.file_bytes // 1024),
        ),
    )
    if made.manifest.left_out:
        _tell(
            settings,
            say("{count} left out: links, pipes, and what cannot be read or named.", count=made.manifest.left_out),
        )
    return 0


def restore(options: argparse.Namespace, settings: Settings) -> int:
    """Fill an empty data folder from a backup."""
    from madang.records.data_folder import restore_folder

    _check_is_file(settings, say("'pg_restore' restores a server."))
    prepare_data_dir(settings.data_dir)
    with exit_on_signals():
        manifest = restore_folder(_absolute(options.file), settings.data_dir)
    return _tell(
        settings,
        say(
            "Restored to {folder}: the backup of {time} (UTC), {count} file(s).",
            folder=str(settings.data_dir),
            time=manifest.created_at[:16].replace("T", " "),
            count=manifest.files,
        ),
    )


def export(options: argparse.Namespace, settings: Settings) -> int:
    """Write everything of the user to one ZIP file of plain files."""
    return run_until_signal(_export(replace(settings, services=()), options.file))


async def _export(settings: Settings, file: str) -> int:
    from madang.cli.exports import export_everything
    from madang.files.archives import ArchiveLimits

    async with open_madang(settings) as madang:
        manifest, size = await export_everything(madang, _absolute(file))
    _tell(
        settings,
        say(
            "Exported to {path}: {sessions} session(s), {playbooks} playbook(s), {size} KiB.",
            path=file,
            sessions=len(manifest.sessions),
            playbooks=sum(playbooks.count for playbooks in manifest.playbooks),
            size=-(-size.file_bytes // 1024),
        ),
    )
    if size.exceeds(ArchiveLimits()):
        _tell(settings, say("It is large: to import it, use --trust."))
    return 0


def import_(options: argparse.Namespace, settings: Settings) -> int:
    """Add everything of such a file."""
    return run_until_signal(_import(replace(settings, services=()), options.file, is_trusted=options.trust))


async def _import(settings: Settings, file: str, *, is_trusted: bool) -> int:
    from madang.cli.exports import NO_LIMITS, import_everything

    async with open_madang(settings) as madang:
        imported = await import_everything(madang, _absolute(file), NO_LIMITS if is_trusted else None)
    for name, new_name in imported.renamed:
        _tell(settings, say("There is a session '{id}' already: this one is '{name}' now.", id=name, name=new_name))
    return _tell(
        settings,
        say(
            "Imported: {sessions} session(s), {playbooks} new playbook(s).",
            sessions=imported.sessions,
            playbooks=imported.playbooks,
        ),
    )


def delete(options: argparse.Namespace, settings: Settings) -> int:
    """Delete everything in the data folder."""
    from madang.records.data_folder import delete_folder_contents

    _check_is_file(settings, say("Drop the database on the server, and delete the data folder."))
    if not settings.data_dir.is_dir():
        return _tell(settings, say("There is no data folder {folder}.", folder=str(settings.data_dir)))
    if not options.yes and not _is_confirmed(settings):
        _tell(settings, say("Nothing was deleted."))
        return 1
    others = delete_folder_contents(settings.data_dir)
    if others:
        names = ", ".join(others)
        return _tell(settings, say("Deleted, but for what is not Madang's: {names}", names=names))
    return _tell(settings, say("Deleted: {folder} is empty.", folder=str(settings.data_dir)))


def _is_confirmed(settings: Settings) -> bool:
    # The descriptor: the stream may be closed, or None.
    if not os.isatty(0):
        raise RequestError(
            say("Nothing was deleted: there is no terminal to ask at."), hint=say("To delete it without asking: --yes")
        )
    question = say(
        "Delete every session, playbook, file and setting in {folder}? This cannot be undone.",
        folder=str(settings.data_dir),
    )
    return confirm(line_of(settings, question))


def _check_is_file(settings: Settings, hint: Phrase) -> None:
    if settings.database:
        raise RequestError(say("This is for data in a folder, and yours is on a database server."), hint=hint)


def _absolute(name: str) -> Path:
    try:
        return Path(name).expanduser().absolute()
    except (RuntimeError, OSError) as error:  # no such user, or the current folder was deleted
        raise RequestError(say("'{path}' cannot be used: {reason}.", path=name, reason=str(error))) from None


def _tell(settings: Settings, phrase: Phrase) -> int:
    show(line_of(settings, phrase))
    return 0
