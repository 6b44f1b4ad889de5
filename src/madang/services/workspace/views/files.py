"""Files as results: what was written, edited, listed, moved and deleted."""

from __future__ import annotations

from pydantic import Field

from madang.core.documents import Document
from madang.core.phrases import Block, Line, Phrase, Rows, layout, say
from madang.core.results import ToolResult
from madang.core.texts import visible_name
from madang.core.trust import Origin
from madang.files.folders.entries import EntryKind
from madang.services.workspace.domain.files import (
    DirectoryEntry,
    DirectoryListing,
    EditedFile,
    LineEnding,
    WrittenFile,
)
from madang.services.workspace.views.left_out import left_out_notes
from madang.services.workspace.views.reading import LINE_ENDINGS, UNKNOWN
from madang.services.workspace.views.sizes import size_text
from madang.text.encodings import EncodingName


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
                ending=LINE_ENDINGS[text_format.line_ending],
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
        ending=LINE_ENDINGS[result.format.line_ending],
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
