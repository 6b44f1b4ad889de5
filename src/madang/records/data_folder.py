"""A whole data folder: backed up to one file while it is in use, restored in another place, deleted.

A backup is a ZIP archive with a snapshot of the database, the files of all sessions and `config.toml`. Search indexes
are not in it: they are made of the database. Neither are the tokens, which are no data.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated

import apsw
from pydantic import Field

from madang.core.documents import Document
from madang.core.errors import Conflict, InvalidArguments, InvalidPath, Unavailable
from madang.core.phrases import say
from madang.database.sqlite.errors import translate_sqlite_error
from madang.files.archives import NO_LIMITS, ArchiveSize, NewArchive, ZipArchiveReader, ZipArchiveWriter, open_archive
from madang.files.folders.paths import parse_path
from madang.files.part_files import PartFile, is_part_name
from madang.system.clock import Timestamp, timestamp

FORMAT = 1
MANIFEST = "backup.json"
FILES = "files.jsonl"
FOLDERS = "folders.jsonl"
DATABASE = "madang.db"
CONFIG = "config.toml"
WORKSPACES = "workspaces"
TEMPORARY = "temporary"
"""The folder of a workspace with what is in use at this moment: locks and drafts."""
OWN_FOLDERS = (WORKSPACES, "index", "owners", "trust")
OWN_FILES = (CONFIG, "token", "browser-token", "web.lock", "web.port", "open.html", "keys.json")
OLDER_PARTS = (".token.*.part", ".keys.json.*.part", ".config.toml.*.part", ".restore-*", ".archive-*")
COPY_BYTES = 1024**2
BUSY_MS = 10_000


class Manifest(Document):
    """What a backup says of itself."""

    format: int = FORMAT
    madang: str
    created_at: Timestamp
    database_sha256: str
    """Empty if there was no database yet."""
    database_bytes: Annotated[int, Field(ge=0)]
    files: Annotated[int, Field(ge=0)]
    left_out: Annotated[int, Field(ge=0)]
    """Links, pipes, and files that could not be read or have a name that an archive cannot hold."""


class SavedFile(Document):
    """What is kept of a file beside its bytes."""

    path: str
    mode: Annotated[int, Field(ge=0, le=0o7777)]
    modified_ns: int


class SavedFolder(Document):
    """A folder without files, which an archive of files would lose."""

    path: str


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was written."""

    size: ArchiveSize
    manifest: Manifest


def back_up_folder(folder: Path, target: Path, version: str) -> Backup:
    """Write a backup of a data folder to a new file, whole or not at all. Others may work on it meanwhile. It blocks.

    Raises:
        Conflict: there is something at the target.
        Unavailable: the folder cannot be read, or the target cannot be written.
    """
    archive = NewArchive(target)
    try:
        # The database first: a file that a row tells of is there when the row is, and not before.
        digest, size = _add_database(folder / DATABASE, archive)
        files, folders, left_out = _add_files(folder, archive.writer)
        archive.writer.add_all(FILES, files)
        archive.writer.add_all(FOLDERS, folders)
        manifest = Manifest(
            madang=version,
            created_at=timestamp(),
            database_sha256=digest,
            database_bytes=size,
            files=len(files),
            left_out=left_out,
        )
        archive.writer.add(MANIFEST, manifest)
        return Backup(archive.finish(), manifest)
    except BaseException:
        archive.discard()
        raise


def restore_folder(source: Path, folder: Path) -> Manifest:
    """Fill a data folder that holds nothing yet from a backup. The database comes last, checked. It blocks.

    Raises:
        Conflict: there is data in the folder.
        InvalidArguments: the file is no backup, or it is damaged.
        Unavailable: it cannot be read, or the folder cannot be written.
    """
    check_is_empty(folder)
    with _foreign_errors(), open_archive(source, NO_LIMITS) as archive, _disk_errors(folder):
        manifest = _manifest(archive)
        part = PartFile(folder / "restore")
        try:
            draft = part.beside("files")
            draft.mkdir(mode=0o700)
            _extract(archive, draft, manifest)
            for name in (CONFIG, WORKSPACES, DATABASE):
                if (draft / name).exists():
                    (draft / name).rename(folder / name)
        finally:
            part.discard()
    return manifest


def check_is_empty(folder: Path) -> None:
    """Check that a data folder holds no data.

    Raises:
        Conflict: it does.
    """
    workspaces = folder / WORKSPACES
    if (folder / DATABASE).exists() or (workspaces.is_dir() and any(workspaces.iterdir())):
        raise Conflict(
            say("There is data in {folder} already. Nothing was changed.", folder=str(folder)),
            hint=say("Name an empty folder with --data-dir, or delete what is there: madang delete --all"),
        )


def delete_folder_contents(folder: Path) -> list[str]:
    """Delete everything of Madang in a data folder, and return the names of what is not Madang's and stays. It blocks.

    Raises:
        Conflict: another process uses it.
        Unavailable: something cannot be deleted.
    """
    with _disk_errors(folder):
        _check_is_idle(folder / DATABASE)
        for path in sorted(folder.glob(f"{DATABASE}*")):
            path.unlink(missing_ok=True)
        for name in OWN_FOLDERS:
            if (folder / name).is_symlink():
                (folder / name).unlink()
            elif (folder / name).is_dir():
                shutil.rmtree(folder / name)
        for name in OWN_FILES:
            (folder / name).unlink(missing_ok=True)
        # What earlier versions left under other names may hold keys.
        older = [path for pattern in OLDER_PARTS for path in folder.glob(pattern)]
        for path in {*older, *(path for path in folder.iterdir() if is_part_name(path.name))}:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        return sorted(path.name for path in folder.iterdir())


def _check_is_idle(path: Path) -> None:
    """Leave the write-ahead log, which SQLite grants to none but the only connection."""
    if not path.exists():
        return
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(1_000)
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    except apsw.BusyError:
        raise Conflict(
            say("Another Madang uses this data folder. Nothing was deleted."),
            hint=say("Close the clients that started it, and stop servers with Ctrl-C."),
        ) from None
    except apsw.Error:
        return  # a broken database can be deleted too


# Writing


def _add_database(path: Path, archive: NewArchive) -> tuple[str, int]:
    if not path.exists():
        return "", 0
    draft = archive.part.beside("database")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _take_snapshot(path, draft)
        digest = hashlib.sha256()
        with draft.open("rb") as source, archive.writer.create(DATABASE) as entry:
            size = _copy(source, entry, digest)
        archive.part.remove_beside()
        return digest.hexdigest(), size
    except OSError as error:
        raise _unavailable(draft.parent, error) from error


def _take_snapshot(path: Path, target: Path) -> None:
    """Copy the database as it is at one moment, in one step: readers and writers go on beside it."""
    try:
        with (
            closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as source,
            closing(apsw.Connection(str(target))) as copy,
        ):
            source.set_busy_timeout(BUSY_MS)
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(-1)
            # As one file: the write-ahead log of the copy would be a second one.
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    except apsw.Error as error:
        raise translate_sqlite_error(error) from error


def _add_files(folder: Path, writer: ZipArchiveWriter) -> tuple[list[SavedFile], list[SavedFolder], int]:
    files: list[SavedFile] = []
    folders: list[SavedFolder] = []
    left_out = 0
    for path, is_folder in _walk(folder):
        name = path.relative_to(folder).as_posix()
        if not _is_archivable(name):
            left_out += 1
        elif is_folder:
            folders.append(SavedFolder(path=name))
        elif (saved := _add_file(path, name, writer)) is not None:
            files.append(saved)
        elif path.is_symlink() or path.exists():
            left_out += 1  # others went meanwhile
    return files, folders, left_out


def _walk(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the files of a data folder that are backed up, and its folders without any, in a fixed order."""
    if (folder / CONFIG).is_file():
        yield folder / CONFIG, False
    for parent, folders, names in os.walk(folder / WORKSPACES):
        depth = len(Path(parent).relative_to(folder / WORKSPACES).parts)
        folders[:] = sorted(name for name in folders if depth != 1 or name != TEMPORARY)
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        folders[:] = [name for name in folders if name not in links]
        if not folders and not names and depth:
            yield Path(parent), True
        for name in sorted([*names, *links]):
            yield Path(parent) / name, False


def _add_file(path: Path, name: str, writer: ZipArchiveWriter) -> SavedFile | None:
    try:
        # A link or a pipe that somebody put there is not followed and not waited for.
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(fd, "rb") as source:
        status = os.fstat(source.fileno())
        if not stat.S_ISREG(status.st_mode):
            return None
        with writer.create(name) as entry:
            _copy(source, entry)
    return SavedFile(path=name, mode=stat.S_IMODE(status.st_mode), modified_ns=status.st_mtime_ns)


def _is_archivable(name: str) -> bool:
    try:
        return "/".join(parse_path(name)) == name
    except InvalidPath:
        return False


def _copy(source: IO[bytes], target: IO[bytes], digest: hashlib._Hash | None = None) -> int:
    size = 0
    while part := source.read(COPY_BYTES):
        target.write(part)
        size += len(part)
        if digest is not None:
            digest.update(part)
    return size


# Reading


def _manifest(archive: ZipArchiveReader) -> Manifest:
    manifest = archive.read(MANIFEST, Manifest) if archive.has(MANIFEST) else None
    if manifest is None:
        raise _not_a_backup(say("it says nothing of a backup"))
    if manifest.format != FORMAT:
        raise InvalidArguments(
            say("The backup has format {format}, and this Madang reads {known}.", format=manifest.format, known=FORMAT),
            hint=say("Restore it with the version of Madang that made it, or a newer one."),
        )
    return manifest


def _extract(archive: ZipArchiveReader, draft: Path, manifest: Manifest) -> None:
    for saved in archive.read_all(FILES, SavedFile):
        # The names of entries were checked when the archive was opened: none leads out.
        if not archive.has(saved.path) or not _is_ours(saved.path):
            raise _not_a_backup(say("'{name}' in it is missing or in the wrong place", name=saved.path[:200]))
        path = draft / saved.path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with archive.open(saved.path) as entry, _create(path) as file:
            _copy(entry, file)
        path.chmod(saved.mode)
        os.utime(path, ns=(saved.modified_ns, saved.modified_ns))
    for folder in archive.read_all(FOLDERS, SavedFolder):
        if not _is_archivable(folder.path) or not _is_ours(folder.path):
            raise _not_a_backup(say("'{name}' in it is missing or in the wrong place", name=folder.path[:200]))
        (draft / folder.path).mkdir(mode=0o700, parents=True, exist_ok=True)
    for parent, _, _ in os.walk(draft / WORKSPACES):
        Path(parent).chmod(0o700)
    if manifest.database_sha256:
        _extract_database(archive, draft / DATABASE, manifest)


def _extract_database(archive: ZipArchiveReader, path: Path, manifest: Manifest) -> None:
    digest = hashlib.sha256()
    with archive.open(DATABASE) as entry, _create(path) as file:
        _copy(entry, file, digest)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != manifest.database_sha256:
        raise _not_a_backup(say("its database is not the one that was saved"))
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            result = str(connection.execute("PRAGMA quick_check(1)").get)
    except apsw.Error as error:
        result = str(error)
    if result != "ok":
        raise _not_a_backup(say("its database is damaged"))


def _is_ours(name: str) -> bool:
    return name == CONFIG or name.startswith(f"{WORKSPACES}/")


def _create(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _not_a_backup(reason: object) -> InvalidArguments:
    return InvalidArguments(
        say("This is no backup of Madang: {reason}.", reason=reason),
        hint=say("Take a file that 'madang backup' made, unchanged."),
    )


@contextmanager
def _foreign_errors() -> Iterator[None]:
    """Say of a file that is no archive at all what it should have been here."""
    try:
        yield
    except InvalidArguments as error:
        if not error.message.template.startswith("This is no archive of a session"):
            raise
        raise _not_a_backup(error.message.values.get("reason", "")) from error


def _unavailable(path: Path, error: OSError) -> Unavailable:
    reason = (error.strerror or type(error).__name__).lower()
    return Unavailable(say("'{path}' cannot be used: {reason}.", path=str(path), reason=reason))


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = Path(error.filename) if isinstance(error.filename, str) else folder
        raise _unavailable(place, error) from error
