"""What was found, as results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from madang.core.documents import Document
from madang.core.phrases import Block, Line, Rows, say
from madang.core.results import ToolResult
from madang.core.texts import visible_name
from madang.services.workspace.domain.files import Found, Hit, Search, StopReason
from madang.services.workspace.views.files import EntryRow, entry_row, row_text


class FilesFound(Document):
    pattern: str
    path: str
    files: list[EntryRow]
    total: int
    truncated: bool


class GrepHit(Document):
    path: str
    line: int
    text: str
    before: list[str]
    after: list[str]


class GrepResult(Document):
    pattern: str
    path: str
    matches: list[GrepHit]
    total: int
    truncated: bool
    stopped: StopReason


def files_found(found: Found) -> ToolResult[FilesFound]:
    """Tell which files fit, and what was left out."""
    is_short = not found.is_complete or found.total > len(found.rows) or found.too_deep > 0
    data = FilesFound(
        pattern=found.pattern,
        path=found.path,
        files=[entry_row(row) for row in found.rows],
        total=found.total,
        truncated=is_short,
    )
    where = f"'{visible_name(found.path)}'" if found.path else say("the workspace")
    pattern = visible_name(found.pattern)
    heading = say("{total} file(s) in {where} fit '{pattern}'.", total=found.total, where=where, pattern=pattern)
    text: list[Line | Rows] = [heading]
    if found.rows:
        rest = say("… {left_out} more are in the structured result; or use a narrower pattern or path.")
        text.append(Rows([row_text(row) for row in found.rows], rest))
    text.append("")
    if found.total > len(found.rows):
        text.append(
            say("Note: Only the first {count} are given. Use a narrower pattern or path.", count=len(found.rows))
        )
    if not found.is_complete:
        text.append(
            say(
                "Note: Stopped after {searched} entries for lack of time: there may be more. Name a folder in path.",
                searched=found.searched,
            )
        )
    if found.too_deep:
        text.append(say("Note: {count} folder(s) are too deep and were not searched.", count=found.too_deep))
    if found.rows:
        text.append(say("Note: Use 'read_file' to read one, 'grep' to search in their texts."))
    else:
        text.append(say("Note: A pattern is like '*.md' or 'src/**/*.py'; 'list_directory' shows what is there."))
    return ToolResult(text, data)


def grepped(search: Search) -> ToolResult[GrepResult]:
    """Tell the lines that fit, file by file."""
    data = GrepResult(
        pattern=search.pattern,
        path=search.path,
        matches=[
            GrepHit(path=hit.path, line=hit.line, text=hit.text, before=list(hit.before), after=list(hit.after))
            for hit in search.hits
        ],
        total=len(search.hits),
        truncated=search.stopped != "",
        stopped=search.stopped,
    )
    where = f"'{visible_name(search.path)}'" if search.path else say("the workspace")
    files = len({hit.path for hit in search.hits})
    pattern = visible_name(search.pattern)
    count = len(search.hits)
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
    if search.hits:
        rest = say("… {left_out} more are in the structured result; or narrow the search with path or glob.")
        text.append(Rows(_hit_texts(search.hits), rest))
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
    if search.hits:
        text.append(say("Note: Use 'read_file' with startLine to read around a line."))
    else:
        text.append(say("Note: Upper and lower case differ unless ignoreCase is set; 'search_files' finds names."))
    return ToolResult(text, data)


def _hit_texts(hits: Sequence[Hit]) -> list[Block]:
    """Return a text for each hit, with the lines around it; a line between two hits is told once, as grep does."""
    texts: list[Block] = []
    told_path, told_to = "", 0
    has_context = any(hit.before or hit.after for hit in hits)
    for hit, following in zip_longest(hits, hits[1:]):
        name = visible_name(hit.path)
        first = hit.line - len(hit.before)
        is_near = hit.path == told_path and first <= told_to + 1
        lines = ["--"] if texts and has_context and not is_near else []
        for number, text in enumerate(hit.before, start=first):
            if not is_near or number > told_to:
                lines.append(f"{name}-{number}- {text}")
        lines.append(f"{name}:{hit.line}: {hit.text}")
        told_path, told_to = hit.path, hit.line
        until = following.line if following is not None and following.path == hit.path else None
        for number, text in enumerate(hit.after, start=hit.line + 1):
            if until is None or number < until:
                lines.append(f"{name}-{number}- {text}")
                told_to = number
        texts.append(Block("\n".join(lines), margin=""))
    return texts
