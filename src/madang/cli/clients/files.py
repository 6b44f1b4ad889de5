"""Editing a client's file: read once, checked, backed up, and replaced in one step; a symlink stays one.

Beside it stand, for each name that Madang was installed under, its backup and a record of the entry that was written:
an entry made by hand may look the same, so its looks do not tell whose it is.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

from madang.core.errors import SetupError
from madang.core.phrases import Phrase, say
from madang.files.part_files import replace_file

MAX_FILE_BYTES = 64 * 1024**2
DEFAULT_NAME = "madang"
BACKUP_SUFFIX = ".before-madang"
RECORD_SUFFIX = ".by-madang"


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """What an install wrote, and whether there is a backup of the file as it was before."""

    entry: dict[str, Any]
    has_backup: bool


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A file of a client as it was when it was read. `data` is None if there was none."""

    path: Path
    """The file itself, past symlinks."""
    data: bytes | None
    name: str = DEFAULT_NAME
    """The name of the entry that is edited in it."""

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
        return self._beside(BACKUP_SUFFIX)

    def read_backup(self) -> bytes | None:
        """Return the file as it was before Madang was in it, if that was kept.

        A backup of an earlier time does not count where the install that is in force had none to make.
        """
        record = self.read_record()
        return read_file(self.backup_path).data if record is None or record.has_backup else None

    def back_up(self) -> None:
        """Keep the file as it is now.

        Raises:
            SetupError: the copy cannot be written.
        """
        if self.data is None:
            return
        if self.read_record() is not None and self.read_backup() not in (None, self.data):
            # The install that is in force was taken back by nobody: what its backup holds may be nowhere else.
            numbered = (self._beside(f"{BACKUP_SUFFIX}.{number}") for number in count(1))
            with suppress(OSError):
                self.backup_path.rename(next(path for path in numbered if not path.exists()))
        _replace(self.backup_path, self.data, _mode(self.path))

    def drop_backup(self) -> None:
        with suppress(OSError):
            self.backup_path.unlink()

    def read_record(self) -> InstallRecord | None:
        """Return what the install that is in force wrote, if there is one."""
        try:
            values = json.loads(self._beside(RECORD_SUFFIX).read_bytes())
            return InstallRecord(dict(values["entry"]), bool(values["has_backup"]))
        except (OSError, ValueError, KeyError, TypeError):  # of no use if it cannot be read
            return None

    def write_record(self, record: InstallRecord) -> None:
        """Remember what an install wrote.

        Raises:
            SetupError: it cannot be written.
        """
        _replace(self._beside(RECORD_SUFFIX), json.dumps(asdict(record), indent=2).encode() + b"\n", 0o600)

    def drop_record(self) -> None:
        with suppress(OSError):
            self._beside(RECORD_SUFFIX).unlink()

    def _beside(self, suffix: str) -> Path:
        ending = "" if self.name == DEFAULT_NAME else f"-{self.name}"
        return self.path.with_name(f"{self.path.name}{suffix}{ending}")

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


def read_file(path: Path, name: str = DEFAULT_NAME) -> ClientFile:
    """Read a client's file, to edit the entry of that name.

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
        return ClientFile(real, None, name)
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from None
    if len(data) > MAX_FILE_BYTES:
        raise unusable(path, say("it is too large"))
    return ClientFile(real, data, name)


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
    try:
        replace_file(path, data, mode)
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from None
