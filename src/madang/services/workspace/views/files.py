"""Files as results: what was read, written, edited, listed, moved and deleted."""

from __future__ import annotations

from pydantic import Field

from madang.core.documents import Document
from madang.core.phrases import Block, Line, Phrase, Rows, layout, say
from madang.core.results import ToolResult
from madang.core.texts import visible_name
from madang.core.trust import Origin
from madang.files.folders.entries import EntryKind
from madang.services.workspace.domain.files import (
    UNKNOWN_ENCODING,
    DirectoryEntry,
    DirectoryListing,
    EditedFile,
    FileExcerpt,
    LineEnding,
    TextLine,
    WrittenFile,
)
from madang.services.workspace.views.left_out import left_out_notes
from madang.services.workspace.views.sizes import size_text
from madang.text.encodings import EncodingName

_LINE_ENDINGS: dict[LineEnding, Phrase] = {
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


class FileWritten(Document):
    path: str
    size: int
    encoding: EncodingName
    line_ending: LineEnding
    created: bool
    success: bool = True


class EditPlace(Document):
    line: int
    count: int


class FileEdited(Document):
    path: str
    size: int
    encoding: EncodingName
    line_ending: LineEnding
    replacements: int
    edits: list[EditPlace]
    diff: str
    success: bool = True


class EntryRow(Document):
    path: str
    kind: EntryKind
    size: int
    modified: str


class DirectoryListed(Document):
    path: str
    entries: list[EntryRow]
    offset: int
    total: int = Field(description="-1: not counted")
    has_more: bool
    truncated: bool


class FileMoved(Document):
    source: str
    path: str
    kind: EntryKind
    success: bool = True


class FileDeleted(Document):
    path: str
    kind: EntryKind
    success: bool = True


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
        ending=_LINE_ENDINGS[excerpt.format.line_ending],
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


def written(result: WrittenFile, *, appended: bool) -> ToolResult[FileWritten]:
    name = visible_name(result.path)
    facts = {"path": name, "size": size_text(result.size), "lines": result.lines}
    if appended and not result.created and result.total_lines is not None:
        summary = say(
            "Added {lines} line(s) to the end of '{path}'. The file has {total} line(s) now, {size}.",
            total=result.total_lines,
            **facts,
        )
    elif appended and not result.created:
        summary = say("Added {lines} line(s) to the end of '{path}', which has {size} now.", **facts)
    elif result.created:
        summary = say("Wrote the new file '{path}': {lines} line(s), {size}.", **facts)
    else:
        summary = say("Wrote '{path}' over what was there: {lines} line(s), {size}.", **facts)
    text: list[Line] = [summary]
    text_format = result.format
    if result.fell_back_from is not None:
        text.append(
            say(
                "Note: It was in {old}, which has no place for some of these characters; it is in UTF-8 now.",
                old=result.fell_back_from,
            )
        )
    elif text_format.encoding != "utf-8" or text_format.line_ending == "crlf":
        text.append(
            say(
                "Encoding: {encoding}, line ends: {ending}, as the file has them.",
                encoding=text_format.encoding,
                ending=_LINE_ENDINGS[text_format.line_ending],
            )
        )
    note = say("Note: Use Madang's 'read_file' to see it, Madang's 'edit_file' to change parts of it.")
    return ToolResult(text, _written(result), next=[note], origins=())


def imported(result: WrittenFile, source: str) -> ToolResult[FileWritten]:
    summary = say(
        "Copied '{source}' into the workspace as '{path}' ({size}, {encoding}).",
        source=visible_name(source),
        path=visible_name(result.path),
        size=size_text(result.size),
        encoding=result.format.encoding,
    )
    note = say("Note: Use Madang's 'read_file' with path '{path}' to read it.", path=visible_name(result.path))
    return ToolResult([summary], _written(result), next=[note])


def uploaded(result: WrittenFile) -> ToolResult[FileWritten]:
    path = visible_name(result.path)
    summary = say("The person put '{path}' into the workspace ({size}).", path=path, size=size_text(result.size))
    return ToolResult([summary], _written(result))


def _written(result: WrittenFile) -> FileWritten:
    return FileWritten(
        path=result.path,
        size=result.size,
        encoding=result.format.encoding,
        line_ending=result.format.line_ending,
        created=result.created,
    )


def edited(result: EditedFile) -> ToolResult[FileEdited]:
    """Return what changed as a diff."""
    count = sum(count for _, count in result.replacements)
    summary = say(
        "Changed '{path}' in {count} place(s); it has {size} now ({encoding}, line ends: {ending}).",
        path=visible_name(result.path),
        count=count,
        size=size_text(result.size),
        encoding=result.format.encoding,
        ending=_LINE_ENDINGS[result.format.line_ending],
    )
    data = FileEdited(
        path=result.path,
        size=result.size,
        encoding=result.format.encoding,
        line_ending=result.format.line_ending,
        replacements=count,
        edits=[EditPlace(line=line, count=count) for line, count in result.replacements],
        diff=result.diff,
    )
    text: list[Line] = [summary, Block(result.diff, margin="")]
    notes = [say("Note: Use Madang's 'read_file' to see the whole.")]
    if signs := ", ".join(result.taken_as_equal):
        text.append(say("Signs of the file that look like those of oldText were taken as equal: {signs}.", signs=signs))
    return ToolResult(text, data, next=notes, origins=(Origin("file", result.path),))


def listed(listing: DirectoryListing) -> ToolResult[DirectoryListed]:
    """Return a page of a folder."""
    data = DirectoryListed(
        path=listing.path,
        entries=[entry_row(entry) for entry in listing.entries],
        offset=listing.offset,
        total=UNKNOWN if listing.total is None else listing.total,
        has_more=listing.total is None or listing.offset + len(listing.entries) < listing.total,
        truncated=listing.total is None or listing.offset + len(listing.entries) < listing.total,
    )
    name = f"'{visible_name(listing.path)}'" if listing.path else say("The workspace")
    if not listing.entries:
        note = say(
            "Note: Madang's 'write_file' makes a file, 'import_file' copies one from a folder that the person allowed."
        )
        notes = [*left_out_notes(listing.left_out), note]
        return ToolResult([say("{folder} is empty.", folder=name)], data, next=notes, origins=())
    if listing.total is None:
        heading = say("{folder}: more than {count} entries (counting was stopped).", folder=name, count=listing.counted)
    else:
        heading = say("{folder}: {total} {total|entry|entries}.", folder=name, total=listing.total)
    rows = [row_text(entry) for entry in listing.entries]
    note = say("Note: Use Madang's 'read_file' to read a file, Madang's 'search_files' or 'grep' to find one.")
    return ToolResult([heading, _entries(listing, rows)], data, next=[*left_out_notes(listing.left_out), note])


def _entries(listing: DirectoryListing, rows: list[Phrase]) -> Rows:
    where = layout("path '{path}', ", path=visible_name(listing.path)) if listing.path else ""
    if listing.depth > 1:
        where = layout("{where}depth {depth}, ", where=where, depth=listing.depth)
    if listing.total is None:
        rest = say("… more: Madang's 'list_directory' with {where}offset {next}.", where=where)
        counted = max(listing.counted, listing.offset + len(rows) + 1)
        return Rows(rows, rest, offset=listing.offset, total=counted)
    rest = say("… {left_out} more: Madang's 'list_directory' with {where}offset {next}.", where=where)
    return Rows(rows, rest, offset=listing.offset, total=listing.total)


def entry_row(entry: DirectoryEntry) -> EntryRow:
    return EntryRow(path=entry.path, kind=entry.kind, size=entry.size, modified=entry.modified)


def row_text(entry: DirectoryEntry) -> Phrase:
    """Return an entry on one line. Folders end in a slash, links in an at sign, as `ls -F` has it."""
    sign = {"file": "", "folder": "/", "link": "@", "other": "?"}[entry.kind]
    size = f"  {size_text(entry.size)}" if entry.kind == "file" else ""
    return layout(
        "  {path}{sign}{size}  {modified}", path=visible_name(entry.path), sign=sign, size=size, modified=entry.modified
    )


def moved(source: str, path: str, kind: EntryKind) -> ToolResult[FileMoved]:
    summary = say("Moved '{source}' to '{path}'.", source=visible_name(source), path=visible_name(path))
    note = say("Note: Use Madang's 'list_directory' to see what is there.")
    return ToolResult([summary], FileMoved(source=source, path=path, kind=kind), next=[note], origins=())


def deleted(path: str, kind: EntryKind) -> ToolResult[FileDeleted]:
    summary = {
        "file": say("Deleted the file '{path}'.", path=visible_name(path)),
        "folder": say("Deleted the empty folder '{path}'.", path=visible_name(path)),
        "link": say("Deleted the link '{path}'; what it points to was not touched.", path=visible_name(path)),
        "other": say("Deleted '{path}', which was no regular file.", path=visible_name(path)),
    }[kind]
    note = say("Note: Use Madang's 'list_directory' to see what is left.")
    return ToolResult([summary], FileDeleted(path=path, kind=kind), next=[note], origins=())
