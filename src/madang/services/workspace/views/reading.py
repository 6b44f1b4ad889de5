"""A file as a result: what was read of it, and how to read on."""

from __future__ import annotations

from pydantic import Field

from madang.core.documents import Document
from madang.core.phrases import Block, Line, Phrase, layout, say
from madang.core.results import ToolResult
from madang.core.texts import visible_name
from madang.core.trust import Origin
from madang.services.workspace.domain.files import (
    UNKNOWN_ENCODING,
    FileExcerpt,
    LineEnding,
    TextLine,
)
from madang.services.workspace.views.sizes import size_text
from madang.text.encodings import EncodingName

LINE_ENDINGS: dict[LineEnding, Phrase] = {
    "lf": layout("lf"),
    "crlf": layout("crlf"),
    "mixed": say("mixed"),
    "none": say("none"),
}


UNKNOWN = -1
"""A total that there was no time to count."""


class FileRead(Document):
    path: str
    content: str
    start_line: int
    end_line: int
    start_column: int
    total_lines: int = Field(description="-1: not counted")
    size: int
    encoding: EncodingName
    line_ending: LineEnding
    truncated: bool
    is_binary: bool
    cut_lines: list[int]


def read(excerpt: FileExcerpt) -> ToolResult[FileRead]:
    """Return numbered lines, what was truncated, and the call that continues."""
    if excerpt.format.encoding == "binary":
        return _binary(excerpt)
    first, requested_last = excerpt.requested
    last = excerpt.lines[-1].number if excerpt.lines else 0
    cut = [line.number for line in excerpt.lines if line.left_out]
    end = excerpt.total if requested_last is None or excerpt.total is None else min(requested_last, excerpt.total)
    is_truncated = bool(cut) or excerpt.total is None or (end is not None and last < end)
    data = FileRead(
        path=excerpt.path,
        content="\n".join(line.text for line in excerpt.lines),
        start_line=first if excerpt.lines else 0,
        end_line=last,
        start_column=excerpt.column,
        total_lines=UNKNOWN if excerpt.total is None else excerpt.total,
        size=excerpt.size,
        encoding=excerpt.format.encoding,
        line_ending=excerpt.format.line_ending,
        truncated=is_truncated,
        is_binary=False,
        cut_lines=cut,
    )
    about = say(
        "'{path}' ({size}, {encoding}, line ends: {ending})",
        path=visible_name(excerpt.path),
        size=size_text(excerpt.size),
        encoding=excerpt.format.encoding,
        ending=LINE_ENDINGS[excerpt.format.line_ending],
    )
    if not excerpt.lines:
        return ToolResult([say("{about} is empty.", about=about)], data, origins=())
    heading = _read_heading(excerpt, about, first, last)
    numbered_lines = "\n".join(f"{line.number:>6}\t{_with_note(line)}" for line in excerpt.lines)
    text: list[Line] = [heading, Block(numbered_lines, margin="")]
    origins = (Origin("file", excerpt.path),)
    return ToolResult(text, data, next=_reading_on(excerpt, first, last, cut), origins=origins)


def _read_heading(excerpt: FileExcerpt, about: Phrase, first: int, last: int) -> Phrase:
    if excerpt.total is None:
        return say(
            "{about}, lines {first} to {last}; there are more than {counted}, which is how far counting came:",
            about=about,
            first=first,
            last=last,
            counted=excerpt.counted,
        )
    if excerpt.column > 1:
        return say(
            "{about}: only line {line} is shown here, from column {column} on, "
            "the whole has {total} {total|line|lines}:",
            about=about,
            line=first,
            column=excerpt.column,
            total=excerpt.total,
        )
    if first == 1 and last == excerpt.total:
        return say("{about}, the whole file, {total} line(s):", about=about, total=excerpt.total)
    if first == last:
        return say(
            "{about}: only line {line} is shown here, the whole has {total} {total|line|lines}:",
            about=about,
            line=first,
            total=excerpt.total,
        )
    return say(
        "{about}: only lines {first} to {last} are shown here, the whole has {total} lines:",
        about=about,
        first=first,
        last=last,
        total=excerpt.total,
    )


def _reading_on(excerpt: FileExcerpt, first: int, last: int, cut: list[int]) -> list[Phrase]:
    """Return how to read what is not shown: more of a long line, and the lines after these."""
    notes: list[Phrase] = []
    name = visible_name(excerpt.path)
    if cut:
        line = next(line for line in excerpt.lines if line.left_out)
        notes.append(
            say(
                "Note: Line {line} is longer than can be shown here. More of it: "
                "Madang's 'read_file' with path '{path}', startLine {line}, startColumn {column}.",
                line=line.number,
                path=name,
                column=len(line.text) + (excerpt.column if line.number == first else 1),
            )
        )
    requested_last = excerpt.requested[1]
    end = requested_last if requested_last is not None and last < requested_last else excerpt.total
    if end is not None and excerpt.total is not None:
        end = min(end, excerpt.total)
    bound = say(", endLine {line}", line=end) if end is not None and end != excerpt.total else ""
    facts = {"path": name, "line": last + 1, "bound": bound}
    if excerpt.total is None:
        notes.append(
            say(
                "Not the whole file. More lines after these: Madang's 'read_file' with path '{path}', "
                "startLine {line}{bound}.",
                **facts,
            )
        )
    elif end is not None and last < end:
        notes.append(
            say(
                "Not the whole file. {count} more line(s) after these: Madang's 'read_file' with path '{path}', "
                "startLine {line}{bound}.",
                count=end - last,
                **facts,
            )
        )
    return notes


def _with_note(line: TextLine) -> str:
    text = line.text
    return f"{text}… [+{line.left_out} B]" if line.left_out else text


def _binary(excerpt: FileExcerpt) -> ToolResult[FileRead]:
    data = FileRead(
        path=excerpt.path,
        content="",
        start_line=0,
        end_line=0,
        start_column=1,
        total_lines=0,
        size=excerpt.size,
        encoding="binary",
        line_ending="none",
        truncated=excerpt.size > 0,
        is_binary=True,
        cut_lines=[],
    )
    summary = say(
        "'{path}' is a binary file ({size}), not a text.", path=visible_name(excerpt.path), size=size_text(excerpt.size)
    )
    text: list[Line] = [summary]
    if excerpt.kind == UNKNOWN_ENCODING:
        text.append(say("It begins like a text in an unknown encoding."))
    elif excerpt.kind:
        text.append(say("It begins like a {kind}.", kind=excerpt.kind))
    text.append(say("First bytes: {bytes}", bytes=excerpt.first_bytes.hex(" ")))
    return ToolResult(text, data)
