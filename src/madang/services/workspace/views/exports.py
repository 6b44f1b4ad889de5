"""An export as a result and as a resource: its text, and the card from which the person saves it. Pure."""

from __future__ import annotations

import mimetypes
from typing import NamedTuple

from madang.core.documents import Document
from madang.core.errors import LimitExceeded
from madang.core.phrases import ByPage, Line, Phrase, Rows, Text, layout, say
from madang.core.resources import Resource, ResourceTemplate
from madang.core.results import Link, ToolResult, UiPage
from madang.core.texts import visible_name
from madang.services.workspace.domain.exports import (
    MAX_EXPORT_READ_BYTES,
    Export,
    PackedFile,
    SkippedFile,
    SkipReason,
    StoredExport,
    export_uri,
    made_at,
)
from madang.services.workspace.views.kinds import file_kind
from madang.services.workspace.views.sizes import size_text

EXPORT_PAGE = "workspace/export"
EXPORT_TEMPLATE = ResourceTemplate(
    "madang://exports/{id}", "export", "A file that was exported", "application/octet-stream"
)

MAX_FILES_ON_PAGE = 100


class PackedFileRow(NamedTuple):
    """A packed file as it is shown in the text and on the page."""

    path: str
    size: str


class SkippedFileRow(NamedTuple):
    """A skipped file as it is shown in the text and on the page."""

    path: str
    reason: Phrase


class Exported(Document):
    name: str
    path: str
    size: int
    sha256: str
    mime_type: str
    uri: str
    download_url: str
    file_count: int
    files: list[PackedFile]
    skipped_count: int
    skipped: list[SkippedFile]


def exported(export: Export, description: str, download_url: str) -> ToolResult[Exported]:
    """Return a finished export. It never pauses."""
    uri, mime_type = export_uri(export.id, export.name), mime_type_of(export.name)
    data = Exported(
        name=export.name,
        path=export.path,
        size=export.size,
        sha256=export.sha256,
        mime_type=mime_type,
        uri=uri,
        download_url=download_url,
        file_count=export.file_count,
        files=list(export.files),
        skipped_count=export.skipped_count,
        skipped=list(export.skipped),
    )
    files = [PackedFileRow(visible_name(file.path), size_text(file.size)) for file in export.files]
    skipped = [SkippedFileRow(visible_name(file.path), _REASONS[file.reason]) for file in export.skipped]
    return ToolResult(
        _text(export, data, description, files, skipped),
        data,
        next=[_following(export, data)],
        page=_page(export, data, description, files, skipped),
        links=(Link(uri, export.name, mime_type=mime_type, size=export.size, description=description),),
    )


def export_resource(export: StoredExport, body: bytes = b"") -> Resource:
    """Return an export as a resource, in lists without its bytes."""
    uri = export_uri(export.id, export.name)
    return Resource(uri, export.name, export.name, body, mime_type_of(export.name), size=export.size)


def export_too_large(export: StoredExport, download_url: str) -> LimitExceeded:
    """Return the error for an export that cannot be read as a resource; its hint says where it can be had."""
    message = say(
        "'{name}' has {size}; a resource is read up to {most}.",
        name=export.name,
        size=size_text(export.size),
        most=size_text(MAX_EXPORT_READ_BYTES),
    )
    if download_url:
        return LimitExceeded(message, hint=say("It can be downloaded at {address}", address=download_url))
    return LimitExceeded(message, hint=say("Take it from the folder that the export named as its path."))


def mime_type_of(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _text(
    export: Export, data: Exported, description: str, files: list[PackedFileRow], skipped: list[SkippedFileRow]
) -> Text:
    text: list[Line | Rows] = [_summary(export, data)]
    if description:
        text.append(say("Description: {description}", description=description))
    # One place is enough: of several, a model does not know which to name.
    if data.download_url:
        text.append(say("Download (for an hour): {address}", address=data.download_url))
    else:
        # Only a host that shows pages also reads such an address.
        text += [say("It is at: {path}", path=export.path), ByPage(shown=say("Link: {uri}", uri=data.uri))]
    text.append(say("Size: {size} ({bytes} {bytes|byte|bytes})", size=size_text(export.size), bytes=export.size))
    if export.kind == "zip":
        rest = say("  … {left_out} more. They are all in the archive.")
        rows = [layout("  {path} ({size})", path=file.path, size=file.size) for file in files]
        text += ["", say("Files:"), Rows(rows, rest)]
        text += _name_notes(export)
    if skipped:
        rest = say("  … {left_out} more. Madang's 'export_zip' with fewer files or folders names them.")
        rows = [say("  {path}: {reason}", path=file.path, reason=file.reason) for file in skipped]
        text += ["", say("Skipped, and not in the package ({count}):", count=data.skipped_count), Rows(rows, rest)]
    return text


def _name_notes(export: Export) -> list[Line]:
    """Return what the person should know of names that deceive."""
    notes: list[Line] = [
        say(
            "Note: '{path}' holds invisible characters and is packed as '{name}'.",
            path=visible_name(file.path),
            name=visible_name(file.name),
        )
        for file in export.renamed
    ]
    notes += [
        say(
            "Note: '{one}' and '{other}' differ by upper and lower case alone: on Windows and macOS one replaces the "
            "other.",
            one=visible_name(one),
            other=visible_name(other),
        )
        for one, other in export.case_twins
    ]
    return ["", *notes] if notes else []


def _summary(export: Export, data: Exported) -> Phrase:
    if export.kind == "zip" and data.download_url:
        return say(
            "ZIP package '{name}' was created with {count} file(s). It can be downloaded from the link below.",
            name=export.name,
            count=data.file_count,
        )
    if export.kind == "zip":
        return say("ZIP package '{name}' was created with {count} file(s).", name=export.name, count=data.file_count)
    if data.download_url:
        return say(
            "File '{name}' was exported successfully. It can be downloaded from the link below.", name=export.name
        )
    return say("File '{name}' was exported successfully.", name=export.name)


def _what_to_tell(export: Export, data: Exported) -> Phrase:
    if export.kind == "zip" and data.skipped_count:
        return say("The export is done. Tell the person where it is, what the package holds and what was skipped.")
    if export.kind == "zip":
        return say("The export is done. Tell the person where it is and what the package holds.")
    return say("The export is done. Tell the person where the file is.")


def _following(export: Export, data: Exported) -> Phrase | ByPage:
    # A card saves by the address; without one, the app that shows it may not be able to.
    told = _what_to_tell(export, data)
    return ByPage(_what_to_tell_beside_card(export, data), told) if data.download_url else told


def _what_to_tell_beside_card(export: Export, data: Exported) -> Phrase:
    if export.kind == "zip" and data.skipped_count:
        return say(
            "The export is done. Tell the person that the card has it, what the package holds and what was skipped."
        )
    if export.kind == "zip":
        return say("The export is done. Tell the person that the card has it, and what the package holds.")
    return say("The export is done. Tell the person that they can save the file from the card.")


_REASONS: dict[SkipReason, Phrase] = {
    "missing": say("there is no such file"),
    "link": say("it is or leads through a symbolic link, which is never followed"),
    "not_regular": say("it is not a regular file"),
    "name": say("its name cannot be used in an archive"),
    "unreadable": say("the system does not let it be read"),
    "too_deep": say("it lies too many folders deep"),
    "duplicate": say("another file has the same name in another spelling"),
    "hard_link": say("it is a hard link: the same file has another name, perhaps outside of the workspace"),
    "rule": say("it is under a rule: named by its own path, the person is asked"),
}


def _page(
    export: Export, data: Exported, description: str, files: list[PackedFileRow], skipped: list[SkippedFileRow]
) -> UiPage:
    context = {
        "export": data,
        "kind": export.kind,
        "description": description,
        "file_kind": file_kind(export.name, data.mime_type),
        "made_at": made_at(export.id),
        "size": size_text(export.size),
        "is_small": export.size <= MAX_EXPORT_READ_BYTES,
        "files": files[:MAX_FILES_ON_PAGE],
        "more_files": max(0, data.file_count - MAX_FILES_ON_PAGE),
        "skipped": skipped[:MAX_FILES_ON_PAGE],
        "more_skipped": max(0, data.skipped_count - MAX_FILES_ON_PAGE),
    }
    return UiPage(name=EXPORT_PAGE, title=say("Export"), template="workspace/export.html", context=context)
