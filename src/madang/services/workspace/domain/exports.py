"""An export: a copy of a file, or a package of several, made for the person; its name and address. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Literal
from urllib.parse import quote

from pydantic import ConfigDict

from madang.core.documents import DOCUMENT_CONFIG

MAX_EXPORT_NAME_BYTES = 150
MAX_EXPORT_READ_BYTES = 16 * 1024 * 1024
"""Bytes of an export that one message carries; a larger one is fetched over HTTP, or taken from the disk."""
MAX_EXPORT_BYTES = 4 * 1024**3
"""Bytes of all files of one export. A sparse file takes no space until it is copied."""

MAX_LISTED_FILES = 5_000
"""Files of an export that are named; the others of a package are counted."""

ExportKind = Literal["file", "zip"]
SkipReason = Literal[
    "missing", "link", "not_regular", "name", "unreadable", "too_deep", "duplicate", "hard_link", "rule"
]

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_URI = re.compile(rf"madang://exports/({_ID})(?:/[^/]*)?")
_STORED_NAME = re.compile(rf"({_ID})_(.+)", re.DOTALL)

# What Windows refuses in a name, and what separates the parts of a path or an address.
_UNSAFE = re.compile(r'[/\\:*?"<>|]|%(?=[0-9A-Fa-f]{2})')
_JOINERS = "\u200c\u200d"  # some scripts and emoji are not written without them
_EXTENSION = re.compile(r"\.(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,10}")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file that went into an export, and how many bytes of it."""

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT_CONFIG

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """What was asked for, or is in a folder that was, and did not go in."""

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT_CONFIG

    path: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class RenamedFile:
    """A file whose name in the package is another: without the characters that nobody sees."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Export:
    """A finished export. `path` is where it lies on this machine."""

    id: str
    kind: ExportKind
    name: str
    path: str
    size: int
    sha256: str
    files: tuple[PackedFile, ...]
    file_count: int
    skipped: tuple[SkippedFile, ...] = ()
    skipped_count: int = 0
    renamed: tuple[RenamedFile, ...] = ()
    case_twins: tuple[tuple[str, str], ...] = ()
    """Pairs of paths that are one file where upper and lower case are the same: on Windows and macOS."""


@dataclass(frozen=True, slots=True)
class StoredExport:
    """An export as it is found in its folder."""

    id: str
    name: str
    size: int

    @property
    def stored_name(self) -> str:
        return stored_name(self.id, self.name)


def made_at(id: str) -> str:
    """Return when an export was made, which its id says: ISO 8601 in UTC."""
    moment = datetime.fromtimestamp(int(id[:8] + id[9:13], 16) / 1000, UTC)
    return moment.isoformat(timespec="seconds")


def file_name(requested: str, source: str) -> str:
    """Return the name of an exported file: `requested`, else its own; it keeps its extension."""
    own = source.rstrip("/").rsplit("/", 1)[-1]
    name = clean_name(requested) or clean_name(own) or "export"
    if not _extension(name):
        name += _extension(own)
    return _truncate(name)


def package_name(requested: str) -> str:
    """Return the name of a package, which always ends in .zip."""
    name = clean_name(requested) or "export"
    return _truncate(name if name.lower().endswith(".zip") else f"{name}.zip")


def clean_name(text: str) -> str:
    """Return a text as a name that every file system takes and that looks like what it is, or nothing.

    Invisible characters are dropped: controls split headers, and a direction mark makes `gpj.exe` look like `exe.jpg`.
    A leading dot would hide the file.
    """
    visible = _without_invisible(unicodedata.normalize("NFC", text))
    name = " ".join(_UNSAFE.sub("_", visible).split()).strip(". ")
    return f"_{name}" if _DEVICES.fullmatch(name) else name


def packed_path(path: str) -> str:
    """Return a path as it is in a package: its names look like what they are. Leading dots stay, as in a repository."""
    if path.isascii() and path.isprintable():
        return path
    return "/".join(_without_invisible(name).strip() or "_" for name in path.split("/"))


def _without_invisible(text: str) -> str:
    return "".join(
        char
        for char in text
        if char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    )


def stored_name(id: str, name: str) -> str:
    """Return the name of an export in its folder."""
    return f"{id}_{name}"


def parse_stored_name(text: str) -> tuple[str, str] | None:
    """Return id and name of an export from its name in the folder, or None for another file."""
    match = _STORED_NAME.fullmatch(text)
    return (match[1], match[2]) if match else None


def export_uri(id: str, name: str) -> str:
    """Return the address of an export. The name in it is for people, and for clients that save the file."""
    return f"madang://exports/{id}/{quote(name, safe='')}"


def export_id(uri: str) -> str:
    """Return the id in the address of an export, or nothing for another address."""
    match = _URI.fullmatch(uri)
    return match[1] if match else ""


def _extension(name: str) -> str:
    stem, dot, end = name.rpartition(".")
    return dot + end if stem and _EXTENSION.fullmatch(dot + end) else ""


def _truncate(name: str) -> str:
    """Truncate the stem of a name, so that its extension stays."""
    if len(name.encode()) <= MAX_EXPORT_NAME_BYTES:
        return name
    extension = _extension(name)
    room = MAX_EXPORT_NAME_BYTES - len(extension.encode())
    return name.encode()[:room].decode(errors="ignore").rstrip(". ") + extension
