"""How much is in a data folder, counted within bounds: it may have millions of files, or be on a slow disk."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from madang.records.data_folder import DATABASE, WORKSPACES


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Where the counting ends."""

    max_entries: int = 200_000
    max_s: float = 5.0


@dataclass(slots=True)
class FolderSize:
    """What was counted, in bytes."""

    database_bytes: int = 0
    """With its write-ahead log."""
    file_bytes: int = 0
    """The files of sessions."""
    other_bytes: int = 0
    is_cut: bool = False
    """There is more than was counted."""


def measure_folder(folder: Path, limits: SizeLimits | None = None) -> FolderSize:
    """Count what is in a data folder: its own files first, then those of sessions, then the rest. It blocks."""
    limits = limits or SizeLimits()
    until = time.monotonic() + limits.max_s
    size = FolderSize()
    for count, (place, file_bytes) in enumerate(_walk(folder)):
        if count >= limits.max_entries or time.monotonic() > until:
            size.is_cut = True
            break
        if place.startswith(DATABASE):
            size.database_bytes += file_bytes
        elif place == WORKSPACES:
            size.file_bytes += file_bytes
        else:
            size.other_bytes += file_bytes
    return size


def _walk(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield for each entry the name in the folder that it is, or is below of, and its bytes. Links are not followed."""
    below: list[tuple[str, str]] = []
    for entry in _entries(str(folder)):
        if _is_folder(entry):
            below.append((entry.name, entry.path))
        yield entry.name, _bytes(entry)
    below.sort(key=lambda one: one[0] == WORKSPACES)  # the last is walked first
    while below:
        place, path = below.pop()
        for entry in _entries(path):
            if _is_folder(entry):
                below.append((place, entry.path))
            yield place, _bytes(entry)


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            yield from entries
    except OSError:  # it was deleted meanwhile, or cannot be read
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _bytes(entry: os.DirEntry[str]) -> int:
    try:
        return 0 if entry.is_dir(follow_symlinks=False) else entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
