"""Disks that fail: a layer under SQLite that loses what was not flushed when the power is cut, or answers with errors.

Everything is written through to real files, where SQLite also keeps its locks; beside them the disk keeps what a real
one would still have after a power cut. What a flush has promised is there. Of the rest, each sector of 512 bytes may
have arrived or not, in any order, and one that was being written may be half old and half new.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

import apsw
from typing_extensions import Buffer

SECTOR = 512

Loss = Literal["nothing unsynced arrived", "some sectors arrived", "sectors are torn", "everything arrived"]
LOSSES: tuple[Loss, ...] = (
    "nothing unsynced arrived",
    "some sectors arrived",
    "sectors are torn",
    "everything arrived",
)


@dataclass
class _File:
    """A file as the platter has it, and what was done to it since: writes at their place, and new sizes."""

    durable: bytearray
    is_durable: bool
    unsynced: list[tuple[int, bytes] | int] = field(default_factory=list)
    is_deleted: bool = False

    def sync(self) -> None:
        for change in self.unsynced:
            _apply(self.durable, change)
        self.unsynced.clear()

    def after_cut(self, loss: Loss, chance: random.Random) -> bytes | None:
        """Return what is found after the power came back, or None when there is no such file."""
        if loss == "everything arrived":
            survives, is_there = 1.0, not self.is_deleted
        elif loss == "nothing unsynced arrived":
            survives, is_there = 0.0, self.is_durable
        else:
            survives = chance.random()
            is_there = chance.random() < 0.5 if self.is_deleted or not self.is_durable else True
        if not is_there:
            return None
        found = bytearray(self.durable)
        for change in self.unsynced:
            for part in _sectors(change):
                if chance.random() < survives:
                    if loss == "sectors are torn" and isinstance(part, tuple) and chance.random() < 0.3:
                        part = part[0], part[1][: chance.randrange(len(part[1]))]
                    _apply(found, part)
        return bytes(found)


def _apply(content: bytearray, change: tuple[int, bytes] | int) -> None:
    size = change if isinstance(change, int) else change[0] + len(change[1])
    if len(content) < size:
        content.extend(bytes(size - len(content)))
    if isinstance(change, int):
        del content[change:]
    else:
        content[change[0] : size] = change[1]


def _sectors(change: tuple[int, bytes] | int) -> list[tuple[int, bytes] | int]:
    if isinstance(change, int):
        return [change]
    offset, data = change
    cuts = [0, *range(SECTOR - offset % SECTOR, len(data), SECTOR), len(data)]
    return [(offset + first, data[first:last]) for first, last in pairwise(cuts)]


class Disk(apsw.VFS):
    """One disk. Give its `name` to a database; `remove` it when every database on it is closed."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "")
        self.name = name
        self.error: apsw.Error | None = None
        """What every write and flush is answered with from now on."""
        self.read_error: apsw.Error | None = None
        self.is_off = False
        self.cut_in_checkpoint = False
        self._lock = threading.Lock()
        self._files: dict[str, _File] = {}
        self._countdown = 0
        self._counted = ""
        self._loss: Loss = "nothing unsynced arrived"
        self._chance = random.Random(0)
        self._survivors: dict[str, bytes] = {}
        self._is_over = False

    def cut_power_at(self, operation: int, *, loss: Loss, chance: random.Random, on: str = "") -> None:
        """Cut the power with a later write, flush, truncation or deletion: of a file whose name ends so, or of any."""
        self._countdown, self._counted, self._loss, self._chance = operation, on, loss, chance

    def cut_power(self, *, loss: Loss, chance: random.Random) -> None:
        """Cut the power now."""
        with self._lock:
            self._loss, self._chance = loss, chance
            self._cut()

    def bury(self, folder: Path) -> None:
        """Put what survived into a new folder, and let whoever still has files open on this disk close them in peace.

        A machine without power closes nothing; a test has to.
        """
        assert self.is_off
        self._is_over = True
        folder.mkdir()
        for name, content in self._survivors.items():
            (folder / name).write_bytes(content)

    def remove(self) -> None:
        self.unregister()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        with self._lock:
            self._check()
            if path is not None:
                self._file(path)
        return _OpenFile(self, path or "", name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        with self._lock:
            self._check()
            if not self._is_over:
                self._file(filename).is_deleted = True
                self._tick(filename)
                if syncdir:
                    self._sync_folder()
            super().xDelete(filename, syncdir)

    def change(self, path: str, change: tuple[int, bytes] | int) -> None:
        with self._lock:
            self._check(self.error)
            if not self._is_over:
                self._files[path].unsynced.append(change)
                self._tick(path)

    def sync(self, path: str, *, with_folder: bool) -> None:
        with self._lock:
            self._check(self.error)
            if not self._is_over:
                self._tick(path)
                self._files[path].sync()
                if with_folder:
                    self._sync_folder()

    def _sync_folder(self) -> None:
        self._files = {path: file for path, file in self._files.items() if not file.is_deleted}
        for file in self._files.values():
            file.is_durable = True

    def _file(self, path: str) -> _File:
        if path not in self._files or self._files[path].is_deleted:
            is_there = Path(path).exists()
            self._files[path] = _File(bytearray(Path(path).read_bytes() if is_there else b""), is_there)
        return self._files[path]

    def check_read(self) -> None:
        self._check(self.read_error)

    def _check(self, error: apsw.Error | None = None) -> None:
        if self.is_off and not self._is_over:
            raise apsw.IOError("the power is off")
        if error is not None:
            raise error

    def _tick(self, path: str) -> None:
        if self._countdown and path.endswith(self._counted):
            self._countdown -= 1
            if not self._countdown:
                self._cut()
                self._check()

    def _cut(self) -> None:
        self.is_off = True
        for path, file in self._files.items():
            content = file.after_cut(self._loss, self._chance)
            if content is not None:
                self._survivors[Path(path).name] = content
        self.cut_in_checkpoint = any(file.unsynced for path, file in self._files.items() if path.endswith(".db"))


class _OpenFile(apsw.VFSFile):
    def __init__(self, disk: Disk, path: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk = disk
        self._path = path
        # As SQLite's own layer does with the first flush of a log or journal that it may have made.
        self._syncs_folder = bool(flags[0] & (apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL))

    def xRead(self, amount: int, offset: int) -> bytes:
        self._disk.check_read()
        return super().xRead(amount, offset)

    def xWrite(self, data: Buffer, offset: int) -> None:
        self._disk.change(self._path, (offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._disk.change(self._path, newsize)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._disk.sync(self._path, with_folder=self._syncs_folder)
        self._syncs_folder = False
