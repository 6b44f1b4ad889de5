"""Everything that a user has, as one ZIP file of plain files: written, and read again.

For people there is Markdown beside the JSON that is read again: a page of each session, a page of each playbook.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from madang import __version__
from madang.app import Madang
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import Conflict, InvalidArguments, MadangError, RequestError
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import Phrase, layout, say
from madang.core.texts import one_line
from madang.files.archives import NO_LIMITS, ArchiveLimits, ArchiveSize, NewArchive, ZipArchiveReader, open_archive
from madang.files.archives import ZipArchiveWriter as Writer
from madang.files.folders.sessions import folder_name
from madang.records.session_rows import SessionRecord
from madang.records.sessions import MAX_SESSIONS_LISTED
from madang.rendering.catalogue import translator
from madang.rendering.replies import document
from madang.system.clock import Timestamp, timestamp

FORMAT = 1
MANIFEST = "export.json"
PLAYBOOKS_PER_FILE = 100
PLAYBOOKS_FORMAT = {"madangPlaybooks": 1}
MAX_LISTED_PAGES = 100_000
MAX_PAGE_CHARS = 1_000_000
MAX_PAGE_SECTIONS = 10_000
EMPTY: tuple[object, ...] = (None, "", [], {})
FOR_PROGRAMS = ("format", "lastSeq", "isTainted", "modifiedNs", "isExecutable", "nextId")
"""What a page for people leaves out; the files beside it have it."""


class ExportedSession(Document):
    """Where in an export a session is."""

    folder: str
    id: str
    title: str


class ExportedPlaybooks(Document):
    """Where in an export the playbooks of an assistant are."""

    file: str
    assistant: str
    count: int


class Manifest(Document):
    """What an export says of itself."""

    format: int = FORMAT
    madang: str
    created_at: Timestamp
    user: str
    sessions: list[ExportedSession]
    playbooks: list[ExportedPlaybooks]


@dataclass(frozen=True, slots=True)
class Imported:
    """What came in by an import."""

    sessions: int
    playbooks: int
    renamed: Sequence[tuple[str, str]]


async def export_everything(madang: Madang, path: Path) -> tuple[Manifest, ArchiveSize]:
    """Write all sessions and playbooks of the user to a new ZIP file, whole or not at all.

    Raises:
        Conflict: there is something at the path.
        Unavailable: nothing can be written there, or a service failed.
    """
    archive = await asyncio.to_thread(NewArchive, path)
    try:
        sessions = [await _export_session(madang, session, archive.writer) async for session in all_sessions(madang)]
        playbooks = [
            exported
            for assistant in await _assistants_with_playbooks(madang)
            async for exported in _export_playbooks(madang, assistant, archive.writer)
        ]
        manifest = Manifest(
            madang=__version__,
            created_at=timestamp(),
            user=madang.settings.user,
            sessions=sessions,
            playbooks=playbooks,
        )
        await asyncio.to_thread(archive.writer.add, MANIFEST, manifest)
        await asyncio.to_thread(_add_text, archive.writer, "README.md", _overview(madang, manifest))
        return manifest, await asyncio.to_thread(archive.finish)
    except BaseException:
        await asyncio.shield(asyncio.to_thread(archive.discard))
        raise


async def import_everything(madang: Madang, path: Path, limits: ArchiveLimits | None = None) -> Imported:
    """Add all sessions and playbooks of an export. A session whose name is taken gets a new one; playbooks that the
    assistant has already are not added again.

    Raises:
        InvalidArguments, LimitExceeded: it is no export, or too large.
    """
    archive_context = open_archive(path, limits or ArchiveLimits())
    archive = await asyncio.to_thread(archive_context.__enter__)
    try:
        manifest = await asyncio.to_thread(_manifest, archive)
        added = 0
        # Before the sessions: those bring the playbooks they used, unless the assistant has them by then.
        for exported in manifest.playbooks:
            added += await _import_playbooks(madang, exported, archive)
        renamed = []
        for session in manifest.sessions:
            name = await _import_session(madang, session, archive)
            if name != session.id:
                renamed.append((session.id, name))
        return Imported(len(manifest.sessions), added, renamed)
    finally:
        await asyncio.to_thread(archive_context.__exit__, None, None, None)


async def all_sessions(madang: Madang) -> AsyncIterator[SessionRecord]:
    """Yield every session of the user, newest first."""
    await madang.sessions.open()
    after, has_more = "", True
    while has_more:
        page = await madang.sessions.list_page(madang.settings.user, after, MAX_SESSIONS_LISTED, archived=None)
        for session in page.items:
            yield session
        after, has_more = page.next, bool(page.next)


# Sessions


async def _export_session(madang: Madang, session: SessionRecord, writer: Writer) -> ExportedSession:
    folder = f"sessions/{folder_name(madang.settings.user, session.id)}"
    page = _PageWriter(writer.below("sessions").below(folder.rpartition("/")[2]))
    call = replace(madang.call("command"), session_id=session.id, assistant_id=session.assistant_id)
    await madang.session_operations.export_to(call, page)
    title = session.title or session.id
    await asyncio.to_thread(_add_text, writer, f"{folder}/README.md", page.markdown(title))
    return ExportedSession(folder=folder, id=session.id, title=session.title)


async def _import_session(madang: Madang, session: ExportedSession, archive: ZipArchiveReader) -> str:
    reader = archive
    for part in session.folder.split("/"):
        reader = reader.below(part)
    call = madang.call("command")
    try:
        record = await madang.session_operations.import_from(replace(call, session_id=SessionId(session.id)), reader)
    except Conflict:
        record = await madang.session_operations.import_from(replace(call, session_id=None), reader)
    return record.id


class _PageWriter(Writer):
    """Passes on what services write, and remembers their documents for a page that people read."""

    def __init__(self, writer: Writer, sections: list[tuple[str, Any]] | None = None, root: str | None = None) -> None:
        super().__init__(writer._archive, writer._folder)
        self._sections = [] if sections is None else sections
        self._root = writer._folder if root is None else root

    def below(self, folder: str) -> _PageWriter:
        return _PageWriter(super().below(folder), self._sections, self._root)

    def add(self, name: str, document: Document) -> None:
        super().add(name, document)
        self._remember(name, document)

    def add_all(self, name: str, documents: Iterable[Document]) -> None:
        super().add_all(name, self._remembered(name, documents))

    def _remembered(self, name: str, documents: Iterable[Document]) -> Iterator[Document]:
        for one in documents:
            self._remember(name, one)
            yield one

    def _remember(self, name: str, document: Document) -> None:
        if len(self._sections) >= MAX_PAGE_SECTIONS:
            return
        service = self._folder.removeprefix(self._root).strip("/")
        section = "/".join(filter(None, (service, name.rpartition(".")[0])))
        self._sections.append((section, document.model_dump(mode="json")))

    def markdown(self, title: str) -> str:
        """Return the documents as an outline, one section for each name."""
        lines = [f"# {_inline(title)}", ""]
        previous = ""
        for name, value in self._sections:
            if name != previous:
                lines += [f"## {_inline(name)}", ""]
            previous = name
            lines += [*_outline(value), ""]
        return "\n".join(lines)[:MAX_PAGE_CHARS]


def _outline(value: Any, margin: str = "") -> list[str]:
    """Return the lines of a value as a list of Markdown; what is empty, or of use to a program alone, is left out."""
    if isinstance(value, dict):
        shown = {key: inner for key, inner in value.items() if key not in FOR_PROGRAMS and inner not in EMPTY}
        return [line for key, inner in shown.items() for line in _entry(f"- **{_inline(key)}**", inner, margin)]
    if isinstance(value, list):
        return [line for number, item in enumerate(value, 1) for line in _entry(f"{number}.", item, margin)]
    return [f"{margin}{_text(value, margin)}"]


def _entry(mark: str, value: Any, margin: str) -> list[str]:
    if not isinstance(value, (dict, list)):
        colon = ":" if mark.startswith("-") else ""
        return [f"{margin}{mark}{colon} {_text(value, margin)}"]
    lines = _outline(value, margin + "   ")
    return [f"{margin}{mark}", *lines] if lines else []


def _text(value: Any, margin: str) -> str:
    if "\n" not in (text := str(value)):
        return _inline(text)
    return "\n\n" + "\n".join(f"{margin}       {line}" for line in map(one_line, text.splitlines())) + "\n"


def _inline(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]#|])", r"\\\1", one_line(text))


# Playbooks


async def _assistants_with_playbooks(madang: Madang) -> list[AssistantId]:
    call = madang.call("command")
    await _result(madang, call, "list_playbooks", {"pageSize": 1})  # opens the service, whose table this is
    rows = await madang.database.find(
        "SELECT assistant_id FROM playbook_owner WHERE user_id = ?1 AND total > 0 ORDER BY assistant_id",
        madang.settings.user,
        user_id=madang.settings.user,
    )
    return [AssistantId(str(row[0])) for row in rows]


async def _export_playbooks(madang: Madang, assistant: AssistantId, writer: Writer) -> AsyncIterator[ExportedPlaybooks]:
    call = replace(madang.call("command"), assistant_id=assistant)
    folder = f"playbooks/{folder_name(madang.settings.user, assistant)}"
    ids = [playbook["id"] async for playbook in _listed(madang, call)]
    for first in range(0, len(ids), PLAYBOOKS_PER_FILE):
        part = ids[first : first + PLAYBOOKS_PER_FILE]
        playbooks = await _documents(madang, call, part)
        file = f"{folder}/playbooks-{first // PLAYBOOKS_PER_FILE + 1:03}.json"
        text = json.dumps({**PLAYBOOKS_FORMAT, "playbooks": playbooks}, ensure_ascii=False, indent=1)
        await asyncio.to_thread(_add_text, writer, file, text)
        for id in part:
            page = await madang.provider.read_resource(call, f"skill://playbook-{id}/SKILL.md")
            if page is not None:
                await asyncio.to_thread(_add_text, writer, f"{folder}/{id}.md", document(page, call))
        yield ExportedPlaybooks(file=file, assistant=assistant, count=len(playbooks))


async def _import_playbooks(madang: Madang, exported: ExportedPlaybooks, archive: ZipArchiveReader) -> int:
    call = replace(madang.call("command"), assistant_id=AssistantId(exported.assistant))
    ids = [playbook["id"] async for playbook in _listed(madang, call)]
    known = [
        playbook
        for first in range(0, len(ids), PLAYBOOKS_PER_FILE)
        for playbook in await _documents(madang, call, ids[first : first + PLAYBOOKS_PER_FILE])
    ]
    try:
        saved = json.loads(await asyncio.to_thread(_read_text, archive, exported.file))
        new = [playbook for playbook in saved["playbooks"] if playbook not in known]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _not_an_export(say("'{name}' in it holds no playbooks", name=exported.file[:200])) from None
    if new:
        text = json.dumps({**PLAYBOOKS_FORMAT, "playbooks": new}, ensure_ascii=False)
        await _result(madang, call, "import_playbooks", {"document": text})
    return len(new)


async def _documents(madang: Madang, call: Call, ids: Sequence[str]) -> list[Any]:
    """Return playbooks as they are exported. A document that would be too long is asked for in halves."""
    if not ids:
        return []
    data = await _result(madang, call, "export_playbooks", {"ids": list(ids), "format": "json"})
    playbooks: list[Any] = json.loads(data["document"])["playbooks"]
    if len(playbooks) == len(ids) or len(ids) == 1:
        return playbooks
    middle = len(ids) // 2
    return [*await _documents(madang, call, ids[:middle]), *await _documents(madang, call, ids[middle:])]


async def _listed(madang: Madang, call: Call) -> AsyncIterator[dict[str, Any]]:
    for page in range(1, MAX_LISTED_PAGES):
        data = await _result(madang, call, "list_playbooks", {"page": page, "pageSize": PLAYBOOKS_PER_FILE})
        for playbook in data["page"]["items"]:
            yield playbook
        if page >= data["page"]["totalPages"]:
            return


async def _result(madang: Madang, call: Call, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    # In no session: this is about an assistant, and would make one that nobody asked for.
    reply = await madang.provider.execute_tool(replace(call, session_id=None), tool, arguments)
    if reply.is_error:
        raise RequestError(layout("{text}", text=reply.text))
    assert isinstance(reply.data, dict)
    return reply.data


# Files


def _manifest(archive: ZipArchiveReader) -> Manifest:
    manifest = archive.read(MANIFEST, Manifest)
    if manifest is None:
        raise _not_an_export(say("'{name}' is missing in it", name=MANIFEST))
    if manifest.format != FORMAT:
        raise InvalidArguments(
            say("The export has format {format}, and this Madang reads {known}.", format=manifest.format, known=FORMAT)
        )
    return manifest


def _not_an_export(reason: Phrase) -> MadangError:
    return InvalidArguments(
        say("This is no export of everything: {reason}.", reason=reason),
        hint=say("Take a file that 'madang export --all' made. One of a single session: madang sessions import"),
    )


def _add_text(writer: Writer, name: str, text: str) -> None:
    with writer.create(name) as file:
        file.write(text.encode())


def _read_text(archive: ZipArchiveReader, name: str) -> bytes:
    with archive.open(name) as file:
        return file.read()


def _overview(madang: Madang, manifest: Manifest) -> str:
    translate = translator(madang.settings.locale)
    heading = say("What Madang keeps of {user}, {time}", user=manifest.user, time=manifest.created_at)
    sessions, all_playbooks = say("Sessions"), say("Playbooks")
    lines = [f"# {heading.render(translate)}", "", f"## {sessions.render(translate)}", ""]
    for session in manifest.sessions:
        lines.append(f"- [{_inline(session.title or session.id)}]({session.folder}/README.md)")
    lines += ["", f"## {all_playbooks.render(translate)}", ""]
    for playbooks in manifest.playbooks:
        lines.append(f"- [{_inline(playbooks.assistant)}]({playbooks.file}): {playbooks.count}")
    again = say("To have it in a Madang again: madang import FILE")
    return "\n".join([*lines, "", again.render(translate), ""])


__all__ = ["NO_LIMITS", "Imported", "Manifest", "all_sessions", "export_everything", "import_everything"]
