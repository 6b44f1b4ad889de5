"""The folders of each session, under the data folder or the person's own, and those that the person allowed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from madang.core.calls import Call
from madang.core.errors import Denied, InvalidPath, ToolError
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.files.folders.binding import folder_gone, open_real, read_binding, write_binding
from madang.files.folders.failures import file_errors
from madang.files.folders.folder import Folder
from madang.files.folders.kernel import directory_flags
from madang.files.folders.staging import PersonalStaging, SessionStaging, sweep
from madang.files.folders.uploads import Upload, open_upload

if TYPE_CHECKING:
    from madang.files.folders.recording import Recorder

MAX_SWEPT_NAMES = 1_000
_REMOVED = ".removed-"
REMOVAL_ATTEMPTS = 10
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class SessionFolders:
    """What a session keeps as files: its workspace, and what it exported. They do not contain each other."""

    def __init__(self, path: Path, files: Folder | ToolError, exports: Folder) -> None:
        self.path = path
        self.exports = exports
        self._files = files

    @property
    def files(self) -> Folder:
        """The workspace.

        Raises:
            Unavailable: it is a folder of the person's own, which is not there.
        """
        if isinstance(self._files, ToolError):
            raise self._files
        return self._files

    @property
    def has_files(self) -> bool:
        """Whether the workspace is there."""
        return isinstance(self._files, Folder)


class Folders:
    """Opens the folders of sessions below `root`, and those that the person `allowed`, for one operation at a time.

    Nothing stays open in between: a descriptor that is closed while another thread still uses its number would be a
    way out of the folder. Its methods block, as those of a folder do.
    """

    def __init__(self, root: Path, allowed: Sequence[Path] = ()) -> None:
        self._root = root
        self.allowed = tuple(allowed)
        self._swept: set[str] = set()

    def has(self, call: Call) -> bool:
        """Tell whether the call's session has folders yet."""
        return (self.path(call) / "files").is_dir()

    def personal(self, call: Call) -> Path | None:
        """Return the folder of the person's own that the call's session works in, if it does."""
        return read_binding(self.path(call))

    def bind(self, call: Call, folder: Path) -> None:
        """Let the call's session work in a folder of the person's own from now on, by its real path.

        Raises:
            Conflict: it has files already, or works in another folder that is there.
        """
        with self.of(call) as session, ExitStack() as held:
            if session.has_files:
                held.enter_context(session.files.locked())
            write_binding(session, folder)

    @contextmanager
    def of(self, call: Call, *, undoes: str = "") -> Iterator[SessionFolders]:
        """Open the folders of the call's session; they are made at their first use.

        What a call of a run changes is recorded; `undoes` is the run that it takes back.
        """
        path = self.path(call)
        with ExitStack() as stack:
            with file_errors(path.name):
                temporary_fd, own_fd, exports_fd = (
                    _closed_with(stack, _open_created(path / name)) for name in ("temporary", "files", "exports")
                )
            if path.name not in self._swept:
                sweep(temporary_fd)
                if len(self._swept) >= MAX_SWEPT_NAMES:
                    self._swept.clear()  # they are swept once more, which costs little
                self._swept.add(path.name)
            recorder = _recorder(path, call, undoes) if call.run_id else None
            staging = SessionStaging(temporary_fd)
            files: Folder | ToolError = Folder(own_fd, staging, recorder=recorder)
            personal = read_binding(path)
            if personal is not None:
                files = _open_personal(stack, personal, recorder)
            yield SessionFolders(path, files, Folder(exports_fd, staging))

    def remove(self, call: Call) -> None:
        """Remove the folders of the call's session, and what an earlier call was killed over.

        They are renamed first, so that half of them is never taken for all. A folder of the person's own stays.
        """
        path = self.path(call)
        with file_errors(path.name):
            if path.is_dir():
                # A write that is under way ends before; one that comes later finds a new folder.
                with self.of(call) as session, ExitStack() as held, suppress(FileNotFoundError):
                    if session.has_files:
                        held.enter_context(session.files.locked())
                    path.rename(path.with_name(f"{path.name}{_REMOVED}{new_id()}"))
            for removed in self._root.glob(f"{path.name}{_REMOVED}*"):
                _remove_tree(removed)
        self._swept.discard(path.name)

    @contextmanager
    def reading(self, call: Call) -> Iterator[SessionFolders]:
        """Open the folders of the call's session for a read, which makes none: a session without any has empty ones."""
        if self.has(call):
            with self.of(call) as session:
                yield session
            return
        with TemporaryDirectory(prefix="madang-") as empty:
            fd = os.open(empty, directory_flags() | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                yield SessionFolders(self.path(call), Folder(fd), Folder(fd))
            finally:
                os.close(fd)

    @contextmanager
    def source(self, call: Call, source: str) -> Iterator[tuple[Folder, str]]:
        """Open the folder that a file is in, and give the path inside.

        `source` is a path in the session's workspace, or an absolute path or `file:` address in one of the folders
        that the person allowed.

        Raises:
            Denied: it is in none of them.
        """
        path = local_path(source)
        own = self._workspace(call)
        if not path.startswith("/") or path.startswith(f"{own}/"):
            with self.reading(call) as session:
                yield session.files, path.removeprefix(f"{own}/")
            return
        for root in self.allowed:
            inside = path.removeprefix(str(root).rstrip("/") + "/")
            if inside != path:
                with file_errors(path):
                    fd = open_real(root)
                try:
                    yield Folder(fd), inside
                finally:
                    os.close(fd)
                return
        ask = say("Ask the person to allow its folder with --allow-folder, or to put the file into the workspace.")
        if self.allowed:
            ask = say("{ask} Allowed: {folders}.", ask=ask, folders=", ".join(map(str, self.allowed[:10])))
        raise Denied(say("'{path}' is in no folder that the person allowed.", path=path[:200]), hint=ask)

    def is_outside(self, call: Call, source: str) -> bool:
        """Tell whether `source` names something that is not in the session's own workspace."""
        path = local_path(source)
        return path.startswith("/") and not path.startswith(f"{self._workspace(call)}/")

    def list_names(self, call: Call, source: str) -> list[tuple[str, ...]]:
        """Return the names along a source: from the root of the workspace or, for one outside of it, from that of the
        allowed folder and from that of the disk. What is in none of these has none: nothing is read there.
        """
        try:
            path = local_path(source)
        except InvalidPath:
            return []
        names = _names(path)
        if not path.startswith("/"):
            return [names]
        for root, is_own in ((self._workspace(call), True), *((root, False) for root in self.allowed)):
            above = _names(str(root))
            if names[: len(above)] == above and len(names) > len(above):
                return [names[len(above) :]] if is_own else [names[len(above) :], names]
        return []

    def read(self, call: Call, source: str, max_bytes: int) -> tuple[bytes, str]:
        """Return the first bytes, at most `max_bytes`, and the name of the file that `source` names.

        Raises:
            ToolError: it is not there, or not in one of these folders.
        """
        with self.source(call, source) as (folder, path), folder.open_file(path) as file:
            data = _read(file.fileno(), max_bytes)
        return data, path.rsplit("/", 1)[-1]

    def new_upload(self, call: Call) -> Upload:
        """Make a file beside the folders of the call's session for what is being uploaded. The caller closes it."""
        path = self.path(call)
        with file_errors(path.name):
            folder_fd = _open_created(path / "temporary")
        try:
            sweep(folder_fd)  # what a process that was killed has left
            return Upload(folder_fd)
        except BaseException:
            os.close(folder_fd)
            raise

    @contextmanager
    def open_upload(self, call: Call, url: str) -> Iterator[int]:
        """Open an upload into the call's session that is under way, and give its descriptor.

        Raises:
            NotFound: there is none.
        """
        with ExitStack() as stack:
            with file_errors("upload"):
                folder_fd = _closed_with(stack, _open_created(self.path(call) / "temporary"))
                fd = _closed_with(stack, open_upload(folder_fd, url))
            yield fd

    def read_upload(self, call: Call, url: str, max_bytes: int) -> bytes:
        """Return the first bytes of such an upload.

        Raises:
            NotFound: there is none.
        """
        with self.open_upload(call, url) as fd, file_errors("upload"):
            return _read(fd, max_bytes)

    def _workspace(self, call: Call) -> Path:
        return self.personal(call) or self.path(call) / "files"

    def paths(self) -> Iterator[Path]:
        """Yield where the folders of sessions are, of all users."""
        for path in self._root.glob("*"):
            if _REMOVED not in path.name and not path.name.startswith("."):
                yield path

    def path(self, call: Call) -> Path:
        """Return where the folders of the call's session are, if it has any."""
        return self._root / folder_name(call.user_id, call.session)


def folder_name(user_id: str, session_id: str) -> str:
    """Return a name that tells people which session it is and is the session's own on every file system.

    Names of sessions may hold anything, and file systems that do not tell `A` from `a` would mix two of them up.
    """
    readable = _UNSAFE.sub("-", session_id).strip(".-")[:40] or "session"
    digest = hashlib.sha256(f"{user_id}\0{session_id}".encode()).hexdigest()
    return f"{readable}-{digest[:16]}"


def _remove_tree(path: Path) -> None:
    """Remove a folder and all in it. A writer that opened it before may add something meanwhile."""
    for attempt in range(1, REMOVAL_ATTEMPTS + 1):
        try:
            shutil.rmtree(path)
            return
        except FileNotFoundError:
            if not path.exists():
                return
        except OSError:
            if attempt == REMOVAL_ATTEMPTS:
                raise
            for folder, _, _ in os.walk(path):
                with suppress(OSError):
                    os.chmod(folder, 0o700)  # a program may have made it read-only


def _open_created(path: Path) -> int:
    flags = directory_flags() | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        path.parent.parent.parent.mkdir(parents=True, exist_ok=True)
        # One by one: with `parents`, the mode would be that of the last alone, and others could read whose these are.
        for folder in (path.parent.parent, path.parent, path):
            folder.mkdir(mode=0o700, exist_ok=True)
        return os.open(path, flags)


def _recorder(path: Path, call: Call, undoes: str) -> Recorder:
    from madang.files.folders.recording import Recorder  # on use: a server that starts has no run

    return Recorder(path, call.run_id, undoes, call.operation_id)


def _open_personal(stack: ExitStack, folder: Path, recorder: Recorder | None) -> Folder | ToolError:
    try:
        fd = _closed_with(stack, open_real(folder))
    except OSError as error:
        return folder_gone(folder, error)
    return Folder(fd, PersonalStaging(fd), recorder=recorder, is_personal=True)


def _closed_with(stack: ExitStack, fd: int) -> int:
    stack.callback(os.close, fd)
    return fd


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name not in ("", "."))


def local_path(source: str) -> str:
    """Return the path that a source names, which may be a `file:` address.

    Raises:
        InvalidPath: it is an address of another machine.
    """
    if not source.lower().startswith("file:"):
        return source
    try:
        address = urlsplit(source)
        if address.netloc in ("", "localhost") and not address.query and not address.fragment:
            return unquote(address.path, errors="strict")
    except ValueError:  # no address at all, or bytes that are no text
        pass
    raise InvalidPath(say("'{source}' is not a file of this machine.", source=source[:200]))


def _read(fd: int, most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (part := os.read(fd, min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)
