"""Searches as results: files by name, lines by pattern."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from madang.core.documents import Document
from madang.core.phrases import Block, Line, Rows, say
from madang.core.results import ToolResult
from madang.core.texts import visible_name
from madang.services.workspace.domain.files import FileMatches, LineMatch, LineMatches, StopReason
from madang.services.workspace.views.files import EntryRow, entry_row, row_text

ROW_MARGIN = "  "
"""Before each line of a match, as in every list: a file's name must not begin a line of the answer."""


class FilesFound(Document):
    pattern: str
    path: str
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
    is_truncated = not matches.is_complete or matches.total > len(matches.files) or matches.too_deep > 0
    data = FilesFound(
        pattern=matches.pattern,
        path=matches.path,
        files=[entry_row(entry) for entry in matches.files],
        total=matches.total,
        truncated=is_truncated,
    )
    where = f"'{visible_name(matches.path)}'" if matches.path else say("the workspace")
    pattern = visible_name(matches.pattern)
    heading = say("{total} file(s) in {where} fit '{pattern}'.", total=matches.total, where=where, pattern=pattern)
    text: list[Line | Rows] = [heading]
    if matches.files:
        rest = say("… {left_out} more are in the structured result; or use a narrower pattern or path.")
        text.append(Rows([row_text(entry) for entry in matches.files], rest))
    text.append("")
    if matches.total > len(matches.files):
        text.append(
            say("Note: Only the first {count} are given. Use a narrower pattern or path.", count=len(matches.files))
        )
    if not matches.is_complete:
        text.append(
            say(
                "Note: Stopped after {searched} entries for lack of time: there may be more. Name a folder in path.",
                searched=matches.searched,
            )
        )
    if matches.too_deep:
        text.append(say("Note: {count} folder(s) are too deep and were not searched.", count=matches.too_deep))
    if matches.files:
        text.append(say("Note: Use 'read_file' to read one, 'grep' to search in their texts."))
    else:
        text.append(say("Note: A pattern is like '*.md' or 'src/**/*.py'; 'list_directory' shows what is there."))
    return ToolResult(text, data)


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
    if count:
        heading = say(
            "{count} line(s) in {files} file(s) of {where} fit '{pattern}':",
            count=count,
            files=files,
            where=where,
            pattern=pattern,
        )
    else:
        heading = say("Nothing in {where} fits '{pattern}'.", where=where, pattern=pattern)
    text: list[Line | Rows] = [heading]
    if search.matches:
        rest = say("… {left_out} more are in the structured result; or narrow the search with path or glob.")
        text.append(Rows(_match_rows(search.matches), rest))
    text.append("")
    if search.stopped == "limit":
        text.append(say("Note: Stopped at the limit: there are more. Narrow it with path or glob, or raise limit."))
    elif search.stopped == "time":
        text.append(
            say("Note: Stopped after 5 seconds: not every file was searched. Narrow it with path or glob, then again.")
        )
    elif search.stopped == "memory":
        text.append(
            say("Note: Stopped at a line that is too long to be searched: there may be more. Name other files in path.")
        )
    if search.matches:
        text.append(say("Note: Use 'read_file' with startLine to read around a line."))
    else:
        text.append(say("Note: Upper and lower case differ unless ignoreCase is set; 'search_files' finds names."))
    return ToolResult(text, data)


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
