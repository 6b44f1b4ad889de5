"""Editing a client's file: read once, checked, backed up, and replaced in one step; a symlink stays one."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from madang.core.errors import SetupError
from madang.core.ids import new_id
from madang.core.phrases import Phrase, say

MAX_FILE_BYTES = 64 * 1024**2
BACKUP_SUFFIX = ".before-madang"


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A file of a client as it was when it was read. `data` is None if there was none."""

    path: Path
    """The file itself, past symlinks."""
    data: bytes | None

    @property
    def text(self) -> str:
        """Its text, byte-order mark included; empty if there is no file.

        Raises:
            SetupError: it is not UTF-8.
        """
        try:
            return (self.data or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise unusable(self.path, say("it is not UTF-8")) from None

    @property
    def backup_path(self) -> Path:
        return self.path.with_name(self.path.name + BACKUP_SUFFIX)

    def read_backup(self) -> bytes | None:
        """Return the file as it was before Madang was in it, if that was kept."""
        return read_file(self.backup_path).data

    def back_up(self) -> None:
        """Keep the file as it is now."""
        if self.data is not None:
            _replace(self.backup_path, self.data, _mode(self.path))

    def drop_backup(self) -> None:
        with suppress(OSError):
            self.backup_path.unlink()

    def replace(self, data: bytes | None) -> None:
        """Put new contents in the place of the file, or remove it.

        Raises:
            SetupError: it was changed meanwhile, or cannot be written.
        """
        if read_file(self.path).data != self.data:
            raise unusable(self.path, say("it was changed at this moment; try again"))
        try:
            if data is None:
                self.path.unlink(missing_ok=True)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                _replace(self.path, data, _mode(self.path))
        except OSError as error:
            raise unusable(self.path, error.strerror or str(error)) from None


def read_file(path: Path) -> ClientFile:
    """Read a client's file.

    Raises:
        SetupError: it cannot be read.
    """
    try:
        real = Path(os.path.realpath(path))
        if real.exists() and not real.is_file():
            raise unusable(path, say("it is not a file"))
        with real.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return ClientFile(real, None)
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from None
    if len(data) > MAX_FILE_BYTES:
        raise unusable(path, say("it is too large"))
    return ClientFile(real, data)


def unusable(path: Path, reason: str | Phrase) -> SetupError:
    """Return the error for a file that is left as it is, with the reason."""
    return SetupError(
        say("{path} cannot be edited: {reason}.", path=str(path), reason=reason),
        hint=say("It was left as it is."),
    )


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0o600


def _replace(path: Path, data: bytes, mode: int) -> None:
    draft = path.with_name(f".{path.name[:100]}.{new_id()}.part")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
