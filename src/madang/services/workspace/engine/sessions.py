"""The files and exports of a session that is deleted, copied, exported or imported. Everything blocks.

Regular files alone are copied: links, pipes and names that are no paths are left out, and empty folders with them.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import IO, Literal, NamedTuple

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import InvalidArguments, ToolError, Unavailable
from madang.core.phrases import say
from madang.files.folders import CopiedStatus, Folder, Folders, SessionFolders, parse_path
from madang.files.folders.folder import MAX_TREE_DEPTH
from madang.services.workspace.domain.exports import parse_stored_name

COPY_CHUNK_BYTES = 1024 * 1024
FILES = "files"
EXPORTS = "exports"
FOLDER = "folder.json"
MAX_NS = 2**62


class SavedFile(Document):
    """A file in an archive: where it was, and what it has beside its bytes."""

    path: str
    modified_ns: int
    is_executable: bool = False


class OutsideFolder(Document):
    """The folder of the person's own that a session worked in: its files are not in the archive, nor is it read back.

    A path in an archive that somebody else made must not decide where a session works.
    """

    folder: str
    is_in_archive: Literal[False] = False


class WorkCancelled(Exception):
    """The call that asked for the copy was cancelled."""


class SessionFiles:
    """The folders of whole sessions."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def forget(self, call: Call) -> None:
        self._folders.remove(call)

    def copy(self, source: Call, target: Call, cancelled: threading.Event) -> None:
        """Copy all files and exports. A file that changes meanwhile is copied as it is when it is opened.

        A folder of the person's own is not copied: the copy of the session works in it, too.
        """
        if not self._folders.has(source):
            return
        personal = self._folders.personal(source)
        if personal is not None:
            self._folders.bind(target, personal)
        with self._folders.of(source) as old, self._folders.of(target) as new:
            for name in (FILES, EXPORTS) if personal is None else (EXPORTS,):
                folder = _folder(new, name)
                for path, file, size, status in _all_files(_folder(old, name), cancelled):
                    folder.write(path, _chunks(file, cancelled, size), "create", like=status)
            new.exports.flush()

    def export(self, call: Call, archive: ArchiveWriter, cancelled: threading.Event) -> None:
        """Write all files and exports, and a list of them with their times.

        Of a folder of the person's own only its path is written.
        """
        if not self._folders.has(call):
            return
        personal = self._folders.personal(call)
        if personal is not None:
            archive.add(FOLDER, OutsideFolder(folder=str(personal)))
        with self._folders.of(call) as session:
            for name in (FILES, EXPORTS) if personal is None else (EXPORTS,):
                saved: list[SavedFile] = []
                for path, file, size, status in _all_files(_folder(session, name), cancelled):
                    if not _is_path(f"workspace/{name}/{path}"):
                        continue  # too long for the archive
                    with archive.create(f"{name}/{path}") as entry:
                        for chunk in _chunks(file, cancelled, size):
                            entry.write(chunk)
                    saved.append(SavedFile(path=path, **status._asdict()))
                archive.add_all(f"{name}.jsonl", saved)

    def import_(self, call: Call, archive: ArchiveReader, cancelled: threading.Event) -> None:
        """Write the files that the list in the archive names.

        Raises:
            ToolError: a path is none, a file is missing or there twice, or the disk is full.
        """
        for name in (FILES, EXPORTS):
            for saved in archive.read_all(f"{name}.jsonl", SavedFile):
                if not 0 <= saved.modified_ns < MAX_NS or (name == EXPORTS and not parse_stored_name(saved.path)):
                    raise InvalidArguments(say("The archive has no file '{path}'.", path=saved.path[:200]))
                status = CopiedStatus(saved.modified_ns, saved.is_executable)
                with archive.open(f"{name}/{saved.path}") as file, self._folders.of(call) as session:
                    _folder(session, name).write(saved.path, _chunks(file, cancelled), "create", like=status)
        if self._folders.has(call):
            with self._folders.of(call) as session:
                session.files.flush()


def _folder(session: SessionFolders, name: str) -> Folder:
    return session.files if name == FILES else session.exports


class _OpenFile(NamedTuple):
    path: str
    file: IO[bytes]
    size: int
    status: CopiedStatus


def _all_files(folder: Folder, cancelled: threading.Event) -> Iterator[_OpenFile]:
    """Yield each regular file, open; one that is gone again or cannot be opened by its path is left out.

    Raises:
        Unavailable: the disk fails.
    """
    for entry in folder.walk(depth=MAX_TREE_DEPTH, with_status=range(0)):
        _check(cancelled)
        if entry.kind != "file":
            continue
        with ExitStack() as stack:
            try:
                file = stack.enter_context(folder.open_file(entry.path))
            except Unavailable:
                raise
            except ToolError:
                continue
            found = os.fstat(file.fileno())
            status = CopiedStatus(found.st_mtime_ns, bool(found.st_mode & stat.S_IXUSR))
            yield _OpenFile(entry.path, file, found.st_size, status)


def _chunks(file: IO[bytes], cancelled: threading.Event, size: int = sys.maxsize) -> Iterator[bytes]:
    """Yield the bytes of a file, at most `size`: one that grows faster than it is read would never end."""
    while size and (chunk := file.read(min(size, COPY_CHUNK_BYTES))):
        _check(cancelled)
        size -= len(chunk)
        yield chunk


def _check(cancelled: threading.Event) -> None:
    if cancelled.is_set():
        raise WorkCancelled


def _is_path(text: str) -> bool:
    with suppress(ToolError):
        return bool(parse_path(text))
    return False
