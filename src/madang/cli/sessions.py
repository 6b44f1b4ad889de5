"""`madang sessions`: what sessions there are; renaming, archiving, deleting, copying, exporting and importing them."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

from madang.app import Madang, open_madang
from madang.cli.language import line_of
from madang.cli.session_history import HISTORY_ACTIONS, named
from madang.cli.shutdown import run_until_signal
from madang.cli.terminal import confirm, show, show_json, show_table
from madang.core.calls import Call
from madang.core.errors import RequestError
from madang.core.phrases import Phrase, say
from madang.files.archives import NO_LIMITS, ArchiveLimits
from madang.files.place import read_place
from madang.records.data_folder import WORKSPACES
from madang.records.runs.latest import find_place
from madang.records.runs.store import open_run_tables
from madang.records.session_rows import SessionRecord
from madang.records.sessions import MAX_SESSIONS_LISTED
from madang.settings import Settings


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Do what the options say. Every service has a part, whichever of them are offered to clients."""
    path = _absolute(options.file) if "file" in options else Path()
    work = _run(options, replace(settings, services=()), path)
    # The others write no files of the person's, and may wait for a thread that asks at the terminal.
    return run_until_signal(work) if "file" in options else asyncio.run(work)


async def _run(options: argparse.Namespace, settings: Settings, path: Path) -> int:
    async with open_madang(settings) as madang:
        await madang.sessions.open()
        if options.action in HISTORY_ACTIONS:
            call = named(madang, options.name) if options.name else replace(madang.call("command"), session_id=None)
            return await HISTORY_ACTIONS[options.action](madang, options, call)
        match options.action:
            case "export":
                return await _export(madang, options, path)
            case "import":
                return await _import(madang, options, path)
            case action:
                return await _ACTIONS[action](madang, options)


def _absolute(name: str) -> Path:
    try:
        return Path(name).expanduser().absolute()
    except (RuntimeError, OSError) as error:  # no such user, or the current folder was deleted
        raise RequestError(say("'{path}' cannot be used: {reason}.", path=name, reason=str(error))) from None


async def _list(madang: Madang, options: argparse.Namespace) -> int:
    # Without an action none of its options is there.
    archived, as_json = getattr(options, "archived", False), getattr(options, "json", False)
    sessions = [session async for session in _all_sessions(madang, archived)]
    if as_json:
        show_json([_document(session) for session in sessions])
        return 0
    rows = [
        (session.last_at[:16].replace("T", " "), session.assistant_id, session.id, _remark(madang, session))
        for session in sessions
    ]
    if not rows:
        return _say(madang, say("There are no sessions yet."))
    show_table([line_of(madang.settings, heading) for heading in _HEADINGS], rows)
    return 0


async def _rename(madang: Madang, options: argparse.Namespace) -> int:
    call = named(madang, options.name)
    await _check_exists(madang, call)
    await madang.sessions.rename(call, options.title)
    return _say(madang, say("The session '{id}' has its new title.", id=call.session))


async def _archive(madang: Madang, options: argparse.Namespace) -> int:
    call = named(madang, options.name)
    await _check_exists(madang, call)
    archived = options.action == "archive"
    await madang.sessions.set_archived(call, archived)
    if archived:
        return _say(madang, say("The session '{id}' is archived.", id=call.session))
    return _say(madang, say("The session '{id}' is in the list again.", id=call.session))


async def _delete(madang: Madang, options: argparse.Namespace) -> int:
    call = named(madang, options.name)
    if not options.yes and not await _confirmed(madang, call):
        return _say(madang, say("Nothing was deleted."), code=1)
    is_listed = await madang.sessions.get(call) is not None
    await madang.session_operations.forget(call)
    if not is_listed:
        return _say(madang, say("There was no session '{id}'; whatever else was kept of it is gone.", id=call.session))
    return _say(madang, say("The session '{id}' is deleted.", id=call.session))


async def _copy(madang: Madang, options: argparse.Namespace) -> int:
    target = named(madang, options.target).session
    await madang.session_operations.copy(named(madang, options.name), target, options.title)
    return _say(madang, say("The session '{id}' is copied to '{target}'.", id=options.name, target=target))


async def _export(madang: Madang, options: argparse.Namespace, path: Path) -> int:
    size = await madang.session_operations.export(named(madang, options.name), path)
    _say(
        madang,
        say(
            "The session '{id}' is in {path}: {count} {count|entry|entries}, {size} KiB.",
            id=options.name,
            path=options.file,
            count=size.entries,
            size=-(-size.file_bytes // 1024),
        ),
    )
    folder = madang.folders.personal(named(madang, options.name))
    if folder is not None:
        _say(madang, say("Its files are in your folder {folder}, which is not in it.", folder=str(folder)))
    elif await _has_files_elsewhere(madang, named(madang, options.name)):
        _say(madang, say("Its last run worked on another machine: files that it has there are not in it."))
    if size.exceeds(ArchiveLimits()):
        _say(madang, say("It is large: to import it, use --trust."))
    return 0


async def _has_files_elsewhere(madang: Madang, call: Call) -> bool:
    if not madang.settings.database:  # beside a file all processes have the same folders
        return False
    await open_run_tables(madang.database)
    place = await find_place(madang.database, call)
    return place not in ("", read_place(madang.settings.data_dir / WORKSPACES))


async def _import(madang: Madang, options: argparse.Namespace, path: Path) -> int:
    call = replace(madang.call("command"), session_id=madang.settings.session if options.session else None)
    session = await madang.session_operations.import_(call, path, NO_LIMITS if options.trust else None)
    return _say(madang, say("The archive is the session '{id}' now.", id=session.id))


_ACTIONS: Mapping[str, Callable[[Madang, argparse.Namespace], Awaitable[int]]] = {
    "list": _list,
    "rename": _rename,
    "archive": _archive,
    "unarchive": _archive,
    "delete": _delete,
    "copy": _copy,
}
_HEADINGS = (say("LAST USED (UTC)"), say("ASSISTANT"), say("SESSION"), say("TITLE"))


async def _all_sessions(madang: Madang, archived: bool) -> AsyncIterator[SessionRecord]:
    user, after, has_more = madang.settings.user, "", True
    while has_more:
        page = await madang.sessions.list_page(user, after, MAX_SESSIONS_LISTED, archived=archived)
        for session in page.items:
            yield session
        after, has_more = page.next, bool(page.next)


def _document(session: SessionRecord) -> dict[str, object]:
    return {
        "id": session.id,
        "assistantId": session.assistant_id,
        "title": session.title,
        "parentId": session.parent_id,
        "createdAt": session.created_at,
        "lastAt": session.last_at,
        "archived": session.is_archived,
    }


def _remark(madang: Madang, session: SessionRecord) -> str:
    if session.state == "deleting":
        return line_of(madang.settings, say("(is being deleted: delete it again if it stays)"))
    return session.title


async def _check_exists(madang: Madang, call: Call) -> None:
    if await madang.sessions.get(call) is None:
        raise RequestError(
            say("There is no session '{id}'.", id=call.session),
            hint=say("'madang sessions list' shows those there are."),
        )


async def _confirmed(madang: Madang, call: Call) -> bool:
    # The descriptor: the stream may be closed, or None.
    if not os.isatty(0):
        raise RequestError(
            say("Nothing was deleted: there is no terminal to ask at."), hint=say("To delete it without asking: --yes")
        )
    question = say("Delete the session '{id}' with its plan, files, contents and questions?", id=call.session)
    return await asyncio.to_thread(confirm, line_of(madang.settings, question))


def _say(madang: Madang, phrase: Phrase, code: int = 0) -> int:
    show(line_of(madang.settings, phrase))
    return code
