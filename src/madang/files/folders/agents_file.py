"""AGENTS.md in a folder of the person's own: what it says to agents, and whether the person has agreed to it.

Whoever can change a file of the folder could otherwise instruct the agent: a pull, a package, the agent itself. So the
answer is kept with the hash of what the person was shown, and a file that has changed has none. It is kept in the data
folder, as bindings are: a path belongs to this machine.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from madang.core.documents import Document
from madang.core.errors import ToolError
from madang.core.ids import UserId
from madang.files.folders.binding import open_real
from madang.files.folders.folder import Folder

AGENTS_FILE = "AGENTS.md"
MAX_AGENTS_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class AgentsFile:
    """The AGENTS.md at the root of a folder, as it was read."""

    folder: Path
    data: bytes
    """As much as is ever used, and one byte more."""

    @property
    def is_too_large(self) -> bool:
        return len(self.data) > MAX_AGENTS_BYTES

    @property
    def text(self) -> str:
        """What it says; empty if that is nothing, too much or no UTF-8, and it is not used."""
        try:
            return "" if self.is_too_large else self.data.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            return ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def read_agents_file(folder: Path) -> AgentsFile | None:
    """Return the AGENTS.md of a folder, by its real path; None if there is none, it is empty or a link. It blocks."""
    try:
        fd = open_real(folder)
    except OSError:
        return None
    try:
        with Folder(fd).open_file(AGENTS_FILE) as file:
            data = b""
            while len(data) <= MAX_AGENTS_BYTES and (part := file.read(MAX_AGENTS_BYTES + 1 - len(data))):
                data += part
            return AgentsFile(folder, data) if data.strip() else None
    except (ToolError, OSError):
        return None
    finally:
        os.close(fd)


class TrustedFile(Document):
    """What the person has said to the AGENTS.md of a folder."""

    user_id: str
    folder: str
    sha256: str
    is_trusted: bool


class FolderTrust:
    """The answers of all users, a small file each below `root`. Its methods block."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find_answer(self, user_id: UserId, file: AgentsFile) -> bool | None:
        """Return what the user said to the file as it is now; None if nothing."""
        answer = self._read(self._path(user_id, file.folder))
        if answer is None or answer.sha256 != file.sha256:
            return None
        return answer.is_trusted

    def keep_answer(self, user_id: UserId, file: AgentsFile, *, is_trusted: bool) -> None:
        """Keep what the user says to a file, which they were shown as it is here."""
        answer = TrustedFile(user_id=user_id, folder=str(file.folder), sha256=file.sha256, is_trusted=is_trusted)
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd, draft = tempfile.mkstemp(dir=self._root)
        try:
            with open(fd, "w", encoding="utf-8") as written:
                written.write(answer.model_dump_json())
            Path(draft).replace(self._path(user_id, file.folder))
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise

    def forget(self, user_id: UserId, folder: Path) -> bool:
        """Forget what the user said to the file of a folder; False if nothing."""
        try:
            self._path(user_id, folder).unlink()
        except FileNotFoundError:
            return False
        return True

    def list_answers(self, user_id: UserId) -> list[TrustedFile]:
        """Return what the user said, by folder."""
        answers = [answer for path in self._root.glob("*.json") if (answer := self._read(path)) is not None]
        return sorted((one for one in answers if one.user_id == user_id), key=lambda one: one.folder)

    def _read(self, path: Path) -> TrustedFile | None:
        try:
            return TrustedFile.model_validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def _path(self, user_id: UserId, folder: Path) -> Path:
        name = f"{user_id}\0".encode() + os.fsencode(folder)
        return self._root / f"{hashlib.sha256(name).hexdigest()}.json"
