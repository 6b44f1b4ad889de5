"""Files as results: what was read, written and changed."""

from __future__ import annotations

from pydantic import Field

from madang.core.documents import Document
from madang.core.phrases import Block, Line, Phrase, Rows, layout, say
from madang.core.results import ToolResult
from madang.core.texts import visible_name
from madang.services.workspace.domain.files import (
    Edited,
    Kind,
    LineEnding,
    Listing,
    Reading,
    Row,
    TextLine,
    Written,
)
from madang.services.workspace.views.sizes import size_text
from madang.storage.files.encodings import EncodingName

UNKNOWN = -1
"""A count that there was no time for."""


class FileRead(Document):
    path: str
    content: str
    start_line: int
    end_line: int
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
    kind: Kind
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
    kind: Kind
    success: bool = True


class FileDeleted(Document):
    path: str
    kind: Kind
    success: bool = True


def read(reading: Reading) -> ToolResult[FileRead]:
    """Tell what was read: numbered lines, what was cut, and the call that goes on."""
    if reading.form.encoding == "binary":
        return _binary(reading)
    first, wanted_last = reading.wanted
    last = reading.lines[-1].number if reading.lines else 0
    cut = [line.number for line in reading.lines if line.left_out]
    end = reading.total if wanted_last is None or reading.total is None else min(wanted_last, reading.total)
    is_short = bool(cut) or reading.total is None or (end is not None and last < end)
    data = FileRead(
        path=reading.path,
        content="\n".join(line.text for line in reading.lines),
        start_line=first if reading.lines else 0,
        end_line=last,
        total_lines=UNKNOWN if reading.total is None else reading.total,
        size=reading.size,
        encoding=reading.form.encoding,
        line_ending=reading.form.line_ending,
        truncated=is_short,
        is_binary=False,
        cut_lines=cut,
    )
    about = say(
        "'{path}' ({size}, {encoding}, line ends: {ending})",
        path=visible_name(reading.path),
        size=size_text(reading.size),
        encoding=reading.form.encoding,
        ending=reading.form.line_ending,
    )
    if not reading.lines:
        return ToolResult([say("{about} is empty.", about=about)], data)
    if reading.total is None:
        heading = say(
            "{about}, lines {first} to {last}; there are more than {counted}, which is how far counting came:",
            about=about,
            first=first,
            last=last,
            counted=reading.counted,
        )
    else:
        heading = say(
            "{about}, lines {first} to {last} of {total}:", about=about, first=first, last=last, total=reading.total
        )
    numbered = "\n".join(f"{line.number:>6}\t{_with_note(line)}" for line in reading.lines)
    text: list[Line] = [heading, Block(numbered, margin="")]
    text += _what_was_cut(reading, first, last, end, cut)
    return ToolResult(text, data)


def _what_was_cut(reading: Reading, first: int, last: int, end: int | None, cut: list[int]) -> list[Line]:
    notes: list[Line] = []
    name = visible_name(reading.path)
    if cut and first != last:
        notes.append(
            say(
                "Note: Line {line} is longer than can be shown here. More of it: "
                "'read_file' with path '{path}', startLine {line}, endLine {line}.",
                line=cut[0],
                path=name,
            )
        )
    elif cut:
        notes.append(say("Note: The rest of this line cannot be shown; 'grep' finds places in it."))
    if end is None or last < end:
        wanted_last = reading.wanted[1]
        bound = say(", endLine {line}", line=wanted_last) if wanted_last is not None else ""
        notes.append(
            say(
                "Note: Not all of it is shown. To go on: 'read_file' with path '{path}', startLine {line}{bound}.",
                path=name,
                line=last + 1,
                bound=bound,
            )
        )
    return ["", *notes] if notes else []


def _with_note(line: TextLine) -> str:
    text = line.text
    return f"{text}… [+{line.left_out} B]" if line.left_out else text


def _binary(reading: Reading) -> ToolResult[FileRead]:
    data = FileRead(
        path=reading.path,
        content="",
        start_line=0,
        end_line=0,
        total_lines=0,
        size=reading.size,
        encoding="binary",
        line_ending="none",
        truncated=reading.size > 0,
        is_binary=True,
        cut_lines=[],
    )
    said = say(
        "'{path}' is a binary file ({size}), not a text.", path=visible_name(reading.path), size=size_text(reading.size)
    )
    text: list[Line] = [said]
    if reading.kind:
        text.append(say("It begins like a {kind}.", kind=reading.kind))
    text.append(say("First bytes: {bytes}", bytes=reading.first_bytes.hex(" ")))
    return ToolResult(text, data)


def written(result: Written, *, appended: bool) -> ToolResult[FileWritten]:
    name = visible_name(result.path)
    facts = {"path": name, "size": size_text(result.size), "lines": result.lines}
    if appended and not result.created:
        said = say("Added {lines} line(s) to the end of '{path}', which has {size} now.", **facts)
    elif result.created:
        said = say("Wrote the new file '{path}': {lines} line(s), {size}.", **facts)
    else:
        said = say("Wrote '{path}' over what was there: {lines} line(s), {size}.", **facts)
    text: list[Line] = [said]
    form = result.form
    if result.fell_back_from is not None:
        text.append(
            say(
                "Note: It was in {old}, which has no place for some of these characters; it is in UTF-8 now.",
                old=result.fell_back_from,
            )
        )
    elif form.encoding != "utf-8" or form.line_ending == "crlf":
        text.append(
            say(
                "Encoding: {encoding}, line ends: {ending}, as the file has them.",
                encoding=form.encoding,
                ending=form.line_ending,
            )
        )
    text.append(say("Note: Use 'read_file' to see it, 'edit_file' to change parts of it."))
    return ToolResult(text, _written(result))


def imported(result: Written, source: str) -> ToolResult[FileWritten]:
    said = say(
        "Copied '{source}' into the workspace as '{path}' ({size}, {encoding}).",
        source=visible_name(source),
        path=visible_name(result.path),
        size=size_text(result.size),
        encoding=result.form.encoding,
    )
    return ToolResult([said, say("Note: Use 'read_file' to read it.")], _written(result))


def _written(result: Written) -> FileWritten:
    return FileWritten(
        path=result.path,
        size=result.size,
        encoding=result.form.encoding,
        line_ending=result.form.line_ending,
        created=result.created,
    )


def edited(result: Edited) -> ToolResult[FileEdited]:
    """Tell what changed as a diff."""
    replacements = sum(count for _, count in result.changed)
    said = say(
        "Changed '{path}' in {count} place(s); it has {size} now ({encoding}, line ends: {ending}).",
        path=visible_name(result.path),
        count=replacements,
        size=size_text(result.size),
        encoding=result.form.encoding,
        ending=result.form.line_ending,
    )
    data = FileEdited(
        path=result.path,
        size=result.size,
        encoding=result.form.encoding,
        line_ending=result.form.line_ending,
        replacements=replacements,
        edits=[EditPlace(line=line, count=count) for line, count in result.changed],
        diff=result.diff,
    )
    text: list[Line] = [said, Block(result.diff, margin="")]
    return ToolResult([*text, say("Note: Use 'read_file' to see the whole.")], data)


def listed(listing: Listing) -> ToolResult[DirectoryListed]:
    """Tell what is in a folder."""
    data = DirectoryListed(
        path=listing.path,
        entries=[entry_row(row) for row in listing.rows],
        offset=listing.offset,
        total=UNKNOWN if listing.total is None else listing.total,
        has_more=listing.total is None or listing.offset + len(listing.rows) < listing.total,
        truncated=listing.total is None or listing.offset + len(listing.rows) < listing.total,
    )
    name = f"'{visible_name(listing.path)}'" if listing.path else say("The workspace")
    if not listing.rows:
        return ToolResult([say("{folder} is empty.", folder=name), _how_to_begin(listing)], data)
    if listing.total is None:
        heading = say("{folder}: more than {count} entries (counting was stopped).", folder=name, count=listing.counted)
    else:
        heading = say("{folder}: {total} entries.", folder=name, total=listing.total)
    rest = say("… {left_out} more of these are in the structured result; or use a smaller limit and the next offset.")
    text: list[Line | Rows] = [heading, Rows([row_text(row) for row in listing.rows], rest)]
    if data.has_more:
        after = listing.offset + len(listing.rows)
        text += ["", say("Note: There are more. To go on: 'list_directory' with offset {offset}.", offset=after)]
    else:
        text += ["", say("Note: Use 'read_file' to read a file, 'search_files' or 'grep' to find one.")]
    return ToolResult(text, data)


def _how_to_begin(listing: Listing) -> Phrase:
    return say("Note: 'write_file' makes a file, 'import_file' copies one from a folder that the person allowed.")


def entry_row(row: Row) -> EntryRow:
    return EntryRow(path=row.path, kind=row.kind, size=row.size, modified=row.modified)


def row_text(row: Row) -> Phrase:
    """Return an entry on one line. Folders end in a slash, links in an at sign, as `ls -F` has it."""
    sign = {"file": "", "folder": "/", "link": "@", "other": "?"}[row.kind]
    size = f"  {size_text(row.size)}" if row.kind == "file" else ""
    return layout(
        "  {path}{sign}{size}  {modified}", path=visible_name(row.path), sign=sign, size=size, modified=row.modified
    )


def moved(source: str, path: str, kind: Kind) -> ToolResult[FileMoved]:
    said = say("Moved '{source}' to '{path}'.", source=visible_name(source), path=visible_name(path))
    note = say("Note: Use 'list_directory' to see what is there.")
    return ToolResult([said, note], FileMoved(source=source, path=path, kind=kind))


def deleted(path: str, kind: Kind) -> ToolResult[FileDeleted]:
    said = {
        "file": say("Deleted the file '{path}'.", path=visible_name(path)),
        "folder": say("Deleted the empty folder '{path}'.", path=visible_name(path)),
        "link": say("Deleted the link '{path}'; what it points to was not touched.", path=visible_name(path)),
        "other": say("Deleted '{path}', which was no regular file.", path=visible_name(path)),
    }[kind]
    note = say("Note: Use 'list_directory' to see what is left.")
    return ToolResult([said, note], FileDeleted(path=path, kind=kind))
