"""Searches as results: files by name, lines by pattern."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from madang.core.documents import Document
from madang.core.limits import MAX_REPLY_ROWS
from madang.core.phrases import Block, Line, Phrase, Rows, say
from madang.core.results import ToolResult
from madang.core.texts import visible_name
from madang.services.workspace.domain.files import FileMatches, LineMatch, LineMatches, StopReason
from madang.services.workspace.views.files import EntryRow, entry_row, row_text

ROW_MARGIN = "  "
"""Before each line of a match, as in every list: a file's name must not begin a line of the answer."""


class FilesFound(Document):
    pattern: str
    path: str
    offset: int
    files: list[EntryRow]
    total: int
    truncated: bool


class GrepMatch(Document):
    path: str
    line: int
    text: str
    before: list[str]
    after: list[str]


class GrepResult(Document):
    pattern: str
    path: str
    matches: list[GrepMatch]
    total: int
    truncated: bool
    stopped: StopReason


def files_found(matches: FileMatches) -> ToolResult[FilesFound]:
    """Return the files that match, and what was left out."""
    is_truncated = (
        not matches.is_complete or matches.total > matches.offset + len(matches.files) or matches.too_deep > 0
    )
    data = FilesFound(
        pattern=matches.pattern,
        path=matches.path,
        offset=matches.offset,
        files=[entry_row(entry) for entry in matches.files],
        total=matches.total,
        truncated=is_truncated,
    )
    where = f"'{visible_name(matches.path)}'" if matches.path else say("the workspace")
    pattern = visible_name(matches.pattern)
    heading = say("{total} file(s) in {where} fit '{pattern}'.", total=matches.total, where=where, pattern=pattern)
    if not matches.total:
        heading = say("No file in {where} fits '{pattern}'.", where=where, pattern=pattern)
    text: list[Line | Rows] = [heading]
    if matches.files:
        rest = say("… {left_out} more: Madang's 'search_files' with offset {next}.")
        rows = [row_text(entry) for entry in matches.files]
        text.append(Rows(rows, rest, offset=matches.offset, total=matches.total))
    notes: list[Phrase] = []
    if not matches.is_complete:
        notes.append(
            say(
                "Note: Stopped after {searched} entries for lack of time: there may be more. Name a folder in path.",
                searched=matches.searched,
            )
        )
    if matches.too_deep:
        notes.append(say("Note: {count} folder(s) are too deep and were not searched.", count=matches.too_deep))
    if matches.files:
        notes.append(say("Note: Use Madang's 'read_file' to read one, Madang's 'grep' to search in their texts."))
    else:
        notes.append(
            say("Note: A pattern is like '*.md' or 'src/**/*.py'; Madang's 'list_directory' shows what is there.")
        )
    return ToolResult(text, data, next=notes, origins=None if matches.files else ())


def grepped(search: LineMatches) -> ToolResult[GrepResult]:
    """Return the lines that match, file by file."""
    data = GrepResult(
        pattern=search.pattern,
        path=search.path,
        matches=[
            GrepMatch(
                path=match.path, line=match.line, text=match.text, before=list(match.before), after=list(match.after)
            )
            for match in search.matches
        ],
        total=len(search.matches),
        truncated=search.stopped != "",
        stopped=search.stopped,
    )
    where = f"'{visible_name(search.path)}'" if search.path else say("the workspace")
    files = len({match.path for match in search.matches})
    pattern = visible_name(search.pattern)
    count = len(search.matches)
    if search.stopped == "limit" and count:
        heading = say(
            "The first {count} line(s) in {where} that fit '{pattern}'; there are more:",
            count=count,
            where=where,
            pattern=pattern,
        )
    elif search.stopped and count:
        heading = say(
            "{count} line(s) in {where} that fit '{pattern}', and not everything was searched:",
            count=count,
            where=where,
            pattern=pattern,
        )
    elif count:
        heading = say(
            "{count} line(s) in {files} file(s) of {where} fit '{pattern}':",
            count=count,
            files=files,
            where=where,
            pattern=pattern,
        )
    elif search.stopped:
        heading = say(
            "Nothing found yet in {where} that fits '{pattern}': not everything was searched.",
            where=where,
            pattern=pattern,
        )
    else:
        heading = say("Nothing in {where} fits '{pattern}'.", where=where, pattern=pattern)
    text: list[Line | Rows] = [heading]
    if search.matches:
        rest = say("… {left_out} more line(s): call Madang's 'grep' with a path or glob that holds fewer.")
        text.append(Rows(_match_rows(search.matches), rest))
    return ToolResult(text, data, next=_grep_notes(search), origins=None if search.matches else ())


def _grep_notes(search: LineMatches) -> list[Phrase]:
    notes: list[Phrase] = []
    if search.stopped == "limit" and search.limit < MAX_REPLY_ROWS:
        notes.append(
            say(
                "Note: Call Madang's 'grep' again with a higher limit (it was {limit}), or with a path or glob.",
                limit=search.limit,
            )
        )
    elif search.stopped == "limit":
        notes.append(say("Note: Call Madang's 'grep' again with a path or glob that holds fewer lines."))
    elif search.stopped == "time":
        notes.append(
            say("Note: Stopped after 5 seconds: not every file was searched. Narrow it with path or glob, then again.")
        )
    elif search.stopped == "memory":
        notes.append(
            say("Note: Stopped at a line that is too long to be searched: there may be more. Name other files in path.")
        )
    if search.matches:
        notes.append(say("Note: Use Madang's 'read_file' with a path and startLine to read around a line."))
    else:
        notes.append(
            say("Note: Upper and lower case differ unless ignoreCase is set; Madang's 'search_files' finds names.")
        )
    return notes


def _match_rows(matches: Sequence[LineMatch]) -> list[Block]:
    """Return a row for each match, with the lines around it; a line between two matches is shown once, as grep does."""
    rows: list[Block] = []
    last_path, last_line = "", 0
    has_context = any(match.before or match.after for match in matches)
    for match, following in zip_longest(matches, matches[1:]):
        name = visible_name(match.path)
        first = match.line - len(match.before)
        is_adjacent = match.path == last_path and first <= last_line + 1
        lines = ["--"] if rows and has_context and not is_adjacent else []
        for number, text in enumerate(match.before, start=first):
            if not is_adjacent or number > last_line:
                lines.append(f"{name}-{number}- {text}")
        lines.append(f"{name}:{match.line}: {match.text}")
        last_path, last_line = match.path, match.line
        until = following.line if following is not None and following.path == match.path else None
        for number, text in enumerate(match.after, start=match.line + 1):
            if until is None or number < until:
                lines.append(f"{name}-{number}- {text}")
                last_line = number
        rows.append(Block("\n".join(lines), ROW_MARGIN))
    return rows
