"""`madang sessions undo`: what runs changed in the files of a session, and taking it back."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace

from madang.app import Madang, open_madang
from madang.cli.language import line_of
from madang.cli.terminal import show, show_json, show_table
from madang.core.calls import Call
from madang.core.errors import NotFound, RequestError, ToolError
from madang.core.ids import SessionId, is_name, is_raw_name, normalised_name
from madang.core.limits import MAX_NAME_CHARS
from madang.core.operations import Operation
from madang.core.phrases import Phrase, layout, say
from madang.files.folders.undo import ChangedFile, TakenBack
from madang.settings import Settings

_RUN_HEADINGS = (say("CHANGED (UTC)"), say("RUN"), say("FILES"), say("TAKES BACK"))
_OPERATION_HEADINGS = (say("CHANGED (UTC)"), say("OPERATION"), say("TAKEN BACK"), say("CHANGE"))
_FILE_HEADINGS = (say("CHANGE"), say("BEFORE"), say("AFTER"), say("FILE"))
_KINDS = {
    "added": say("added"),
    "changed": say("changed"),
    "deleted": say("deleted"),
    "moved": say("moved"),
    "unchanged": say("as before"),
}


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Do what the options say; 1 if something could not be taken back."""
    return asyncio.run(_run(options, settings))


async def _run(options: argparse.Namespace, settings: Settings) -> int:
    async with open_madang(settings) as madang:
        call = _named(madang, options.name)
        try:
            if options.operation is not None:
                return await _undo(madang, call, options)
            if options.list:
                return await _list(madang, call, options)
            if options.forget:
                count = await madang.file_undo.forget(call, options.run)
                return _say(madang, say("The copies of {count} run(s) are deleted.", count=count))
            return await _take_back(madang, call, options)
        except ToolError as error:
            raise RequestError(error.message, hint=error.hint) from None


async def _undo(madang: Madang, call: Call, options: argparse.Namespace) -> int:
    """Take back one operation; without an id, list those there are."""
    if not options.operation:
        return await _list_operations(madang, call, options)
    operation = await madang.operations.get(call, options.operation)
    if operation is None:
        raise RequestError(
            say("There is no operation '{id}' in the session '{session}'.", id=options.operation, session=call.session),
            hint=say("'madang sessions undo NAME --operation' lists them."),
        )
    taken = await madang.provider.undo(call, operation)
    if options.json:
        show_json({"operation": operation.id, "undo_id": taken.id})
        return 0
    _say(madang, say("Taken back: {what}", what=madang.provider.describe(operation) or operation.service))
    command = f"madang sessions undo {call.session} --operation {taken.id}"
    return _say(madang, say("To take this undo back: {command}", command=command))


async def _list_operations(madang: Madang, call: Call, options: argparse.Namespace) -> int:
    operations = await madang.operations.list_newest(call)
    if options.json:
        show_json([asdict(operation) for operation in operations])
        return 0
    rows = [
        (
            operation.made_at[:16].replace("T", " "),
            operation.id,
            operation.undone_at[:16].replace("T", " "),
            line_of(madang.settings, madang.provider.describe(operation) or layout("{name}", name=operation.service)),
        )
        for operation in operations
    ]
    _show_rows(madang, _OPERATION_HEADINGS, rows)
    return 0


async def _list(madang: Madang, call: Call, options: argparse.Namespace) -> int:
    if options.run is not None:
        files = await madang.file_undo.changes(call, options.run)
        if options.json:
            show_json([asdict(file) for file in files])
        else:
            _show_rows(madang, _FILE_HEADINGS, [_file_row(madang, file) for file in files])
        return 0
    runs = await madang.file_undo.runs(call)
    if options.json:
        show_json([asdict(run) for run in runs])
        return 0
    rows = [(run.started_at[:16].replace("T", " "), run.run_id, str(run.files), run.undoes) for run in runs]
    _show_rows(madang, _RUN_HEADINGS, rows)
    return 0


async def _take_back(madang: Madang, call: Call, options: argparse.Namespace) -> int:
    """Take back all that a run did: in files, and by the operations of services. With paths, only what is there."""
    run_id = options.run or await _newest(madang, call)
    operations = [] if options.files else await madang.operations.list_by_run(call, run_id)
    try:
        taken = await madang.file_undo.take_back(call, run_id, options.files, force=options.force)
    except NotFound:
        if not operations:
            raise
        taken = TakenBack("")
    undone, kept = await _undo_all(madang, call, operations)
    if options.json:
        conflicts = [{"path": path, "reason": line_of(madang.settings, reason)} for path, reason in taken.conflicts]
        told = {"run_id": run_id, "undo_id": taken.undo_id, "restored": taken.restored, "conflicts": conflicts}
        told["operations"] = [{"operation": one.id, "undo_id": by.id} for one, by in undone]
        told["not_undone"] = [{"operation": one.id, "reason": line_of(madang.settings, reason)} for one, reason in kept]
        show_json(told)
        return 1 if conflicts or kept else 0
    for operation, _ in undone:
        _say(madang, say("Taken back: {what}", what=madang.provider.describe(operation) or operation.service))
    for operation, reason in kept:
        what = madang.provider.describe(operation) or operation.service
        _say(madang, say("Not taken back: {path}. {reason}", path=what, reason=reason))
    if undone:
        command = f"madang sessions undo {call.session} --operation"
        _say(madang, say("To take one of these back again: {command}", command=command))
    for path in taken.restored:
        _say(madang, say("As before the run: {path}", path=path))
    for path, reason in taken.conflicts:
        _say(madang, say("Not taken back: {path}. {reason}", path=path, reason=reason))
    if taken.restored:
        command = f"madang sessions undo {call.session} {taken.undo_id}"
        _say(madang, say("To take this undo back: {command}", command=command))
    elif not taken.conflicts and not undone and not kept:
        _say(madang, say("There is nothing to take back: all is as before the run."))
    if taken.conflicts and not options.force:
        _say(madang, say("--force replaces what was changed after the run; a copy of it is kept."))
    return 1 if taken.conflicts or kept else 0


async def _newest(madang: Madang, call: Call) -> str:
    """Return the last run of the session that did something which can be taken back."""
    by_run = (one.run_id for one in await madang.operations.list_newest(call) if one.run_id and not one.undone_at)
    found = next(by_run, "")
    try:
        # Ids of runs are in the order of their beginnings.
        return max(await madang.file_undo.newest(call), found)
    except NotFound:
        if not found:
            raise
        return found


async def _undo_all(
    madang: Madang, call: Call, operations: Sequence[Operation]
) -> tuple[list[tuple[Operation, Operation]], list[tuple[Operation, Phrase]]]:
    """Take operations back one by one: return those with what took them back, and those that stay with the reason."""
    undone: list[tuple[Operation, Operation]] = []
    kept: list[tuple[Operation, Phrase]] = []
    for operation in operations:
        try:
            undone.append((operation, await madang.provider.undo(call, operation)))
        except ToolError as error:
            kept.append((operation, error.message))
    return undone, kept


def _file_row(madang: Madang, file: ChangedFile) -> tuple[str, str, str, str]:
    path = f"{file.path} → {file.target}" if file.target else file.path
    if file.is_conflict:
        path = line_of(madang.settings, say("{path} (changed again after the run)", path=path))
    return line_of(madang.settings, _KINDS[file.kind]), _size(file.size_before), _size(file.size_after), path


def _size(size: int | None) -> str:
    return "-" if size is None else str(size)


def _show_rows(madang: Madang, headings: tuple[Phrase, ...], rows: list[tuple[str, str, str, str]]) -> None:
    show_table([line_of(madang.settings, heading) for heading in headings], rows)


def _named(madang: Madang, name: str) -> Call:
    if not is_raw_name(name):
        raise RequestError(
            say("The {what} must have 1 to {max} printable characters.", what="session", max=MAX_NAME_CHARS)
        )
    return replace(madang.call("command"), session_id=SessionId(normalised_name(name) if is_name(name) else name))


def _say(madang: Madang, phrase: Phrase, code: int = 0) -> int:
    show(line_of(madang.settings, phrase))
    return code
