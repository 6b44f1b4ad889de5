"""Searches as results: files by name, lines by pattern."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from madang.core.documents import Document
from madang.core.phrases import Block, Line, Phrase, Rows, say
from madang.core.results import ToolResult
from madang.core.texts import visible_name
from madang.services.workspace.domain.files import (
    MAX_SEARCHED_BYTES,
    FileMatches,
    GrepMode,
    LineMatch,
    LineMatches,
    MatchCount,
    StopReason,
)
from madang.services.workspace.views.files import EntryRow, entry_row, row_text
from madang.services.workspace.views.left_out import left_out_notes

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
    column: int
    text: str
    before: list[str]
    after: list[str]


class GrepFile(Document):
    path: str
    count: int


class GrepResult(Document):
    pattern: str
    path: str
    mode: GrepMode
    offset: int
    matches: list[GrepMatch]
    files: list[GrepFile]
    total: int
    total_files: int
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
    notes = left_out_notes(matches.hidden)
    if not matches.is_complete:
        notes.append(
            say(
                "Note: Stopped after {searched} entries for lack of time: there may be more. Name a folder in path.",
                searched=matches.searched,
            )
        )
    if matches.too_deep:
        notes.append(
            say(
                "Note: {count} {count|folder is|folders are} too deep and {count|was|were} not searched.",
                count=matches.too_deep,
            )
        )
    if matches.left_out and not matches.total:
        notes.append(_left_out())
    if matches.files:
        notes.append(say("Note: Use Madang's 'read_file' to read one, Madang's 'grep' to search in their texts."))
    else:
        notes.append(
            say("Note: A pattern is like '*.md' or 'src/**/*.py'; Madang's 'list_directory' shows what is there.")
        )
    return ToolResult(text, data, next=notes, origins=None if matches.files else ())


def grepped(search: LineMatches) -> ToolResult[GrepResult]:
    """Return the lines that match, file by file, or the files that have such lines."""
    query = search.query
    end = query.offset + query.limit
    counts = () if query.mode == "lines" else search.counts[query.offset : end]
    total = search.total if query.mode == "lines" else len(search.counts)
    data = GrepResult(
        pattern=query.pattern,
        path=search.top,
        mode=query.mode,
        offset=query.offset,
        matches=[
            GrepMatch(
                path=match.path,
                line=match.line,
                column=match.column,
                text=match.text,
                before=list(match.before),
                after=list(match.after),
            )
            for match in search.matches
        ],
        files=[GrepFile(path=count.path, count=count.count) for count in counts],
        total=search.total,
        total_files=len(search.counts),
        truncated=search.stopped != "" or end < total,
        stopped=search.stopped,
    )
    text: list[Line | Rows] = [_grep_heading(search)]
    rows = _match_rows(search.matches) if query.mode == "lines" else [_count_row(count, query.mode) for count in counts]
    if rows:
        rest = say("… {left_out} more line(s): the same call of Madang's 'grep' with offset {next}.")
        if query.mode != "lines":
            rest = say("… {left_out} more file(s): the same call of Madang's 'grep' with offset {next}.")
        text.append(Rows(rows, rest, offset=query.offset, total=total))
    return ToolResult(text, data, next=_grep_notes(search), origins=None if rows else ())


def _grep_heading(search: LineMatches) -> Phrase:
    where = f"'{visible_name(search.top)}'" if search.top else say("the workspace")
    facts = {
        "count": search.total,
        "files": len(search.counts),
        "where": where,
        "pattern": visible_name(search.query.pattern),
    }
    if not search.total and search.stopped:
        return say("Nothing found yet in {where} that fits '{pattern}': not everything was searched.", **facts)
    if not search.total:
        return say("Nothing in {where} fits '{pattern}'.", **facts)
    first = search.query.offset + 1
    if search.stopped and first > 1:
        return say(
            "At least {count} line(s) in {files} file(s) of {where} fit '{pattern}', and not everything was searched; "
            "from number {first} on:",
            **facts,
            first=first,
        )
    if search.stopped:
        return say(
            "At least {count} line(s) in {files} file(s) of {where} fit '{pattern}', and not everything was searched:",
            **facts,
        )
    if first > 1:
        return say(
            "{count} line(s) in {files} file(s) of {where} fit '{pattern}'; from number {first} on:",
            **facts,
            first=first,
        )
    return say("{count} line(s) in {files} file(s) of {where} fit '{pattern}':", **facts)


def _count_row(count: MatchCount, mode: GrepMode) -> Block:
    name = visible_name(count.path)
    return Block(name if mode == "files" else f"{name}: {count.count}", ROW_MARGIN)


def _grep_notes(search: LineMatches) -> list[Phrase]:
    notes = left_out_notes(search.hidden)
    if search.stopped == "limit":
        notes.append(say("Note: There are more lines than are counted. Narrow it with pattern, path or glob."))
    elif search.stopped == "time":
        notes.append(
            say("Note: Stopped after 5 seconds: not every file was searched. Narrow it with path or glob, then again.")
        )
    elif search.stopped == "memory":
        notes.append(
            say("Note: Stopped at a line that is too long to be searched: there may be more. Name other files in path.")
        )
    elif search.stopped == "size":
        notes.append(
            say(
                "Note: Stopped after {limit} MiB of files, before '{path}'. Name the rest in path to search it.",
                limit=MAX_SEARCHED_BYTES >> 20,
                path=visible_name(search.unsearched),
            )
        )
    if search.left_out and not search.total:
        notes.append(_left_out())
    if any(match.is_cut for match in search.matches):
        notes.append(
            say(
                "Note: Of long lines the part around the match is shown, after its column (path:line:column). "
                "Madang's 'read_file' with startLine and startColumn reads on there."
            )
        )
    elif search.total:
        notes.append(say("Note: Use Madang's 'read_file' with a path and startLine to read around a line."))
    else:
        notes.append(
            say("Note: Upper and lower case differ unless ignoreCase is set; Madang's 'search_files' finds names.")
        )
    return notes


def _left_out() -> Phrase:
    return say("Note: Files that Git ignores were left out; with 'ignored': true they are searched too.")


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
        column = f":{match.column}" if match.is_cut else ""
        lines.append(f"{name}:{match.line}{column}: {match.text}")
        last_path, last_line = match.path, match.line
        until = following.line if following is not None and following.path == match.path else None
        for number, text in enumerate(match.after, start=match.line + 1):
            if until is None or number < until:
                lines.append(f"{name}-{number}- {text}")
                last_line = number
        rows.append(Block("\n".join(lines), ROW_MARGIN))
    return rows
