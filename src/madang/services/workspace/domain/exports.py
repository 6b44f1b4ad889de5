"""An export: a copy of a file, or a package of several, made for the person. Its name and its address."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import ClassVar, Literal
from urllib.parse import quote

from pydantic import ConfigDict

from madang.core.documents import DOCUMENT_CONFIG

MAX_EXPORT_NAME_BYTES = 150
MAX_EXPORT_READ_BYTES = 16 * 1024 * 1024
"""How many bytes one message carries; what is larger is fetched over HTTP, or taken from the disk."""
MAX_EXPORT_BYTES = 4 * 1024**3
"""How many bytes one export takes in: a sparse file costs nothing until it is copied."""

MAX_LISTED_FILES = 5_000
"""How many files of an export are named; a package may hold more, and then says how many."""

ExportKind = Literal["file", "zip"]
SkipReason = Literal["missing", "link", "not_regular", "name", "unreadable", "too_deep", "duplicate"]

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_URI = re.compile(rf"madang://exports/({_ID})(?:/[^/]*)?")
_KEPT_NAME = re.compile(rf"({_ID})_(.+)", re.DOTALL)

# Not what Windows refuses in a name, nor what a path or an address would be taken apart at.
_UNSAFE = re.compile(r'[/\\:*?"<>|]|%(?=[0-9A-Fa-f]{2})')
_JOINERS = "\u200c\u200d"  # some scripts and emoji are not written without them
_EXTENSION = re.compile(r"\.(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,10}")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file that went into an export, and how much of it."""

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT_CONFIG

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """Something that was asked for, or lies in a folder that was, and did not go in."""

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT_CONFIG

    path: str
    reason: SkipReason


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


@dataclass(frozen=True, slots=True)
class KeptExport:
    """An export as its folder lists it."""

    id: str
    name: str
    size: int

    @property
    def kept_name(self) -> str:
        return kept_name(self.id, self.name)


def file_name(wanted: str, source: str) -> str:
    """Return the name of an exported file: the one that is wanted, else its own; it keeps its extension."""
    own = source.rstrip("/").rsplit("/", 1)[-1]
    name = clean_name(wanted) or clean_name(own) or "export"
    if not _extension(name):
        name += _extension(own)
    return _cut(name)


def package_name(wanted: str) -> str:
    """Return the name of a package, which always ends in .zip."""
    name = clean_name(wanted) or "export"
    return _cut(name if name.lower().endswith(".zip") else f"{name}.zip")


def clean_name(text: str) -> str:
    """Return a text as a name that every file system takes and that looks like what it is, or nothing.

    What cannot be seen goes: controls split headers, and a sign that turns the direction of writing makes `gpj.exe`
    look like `exe.jpg`. A dot in front would hide the file.
    """
    visible = "".join(
        character
        for character in unicodedata.normalize("NFC", text)
        if character in _JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    )
    name = " ".join(_UNSAFE.sub("_", visible).split()).strip(". ")
    return f"_{name}" if _DEVICES.fullmatch(name) else name


def kept_name(id: str, name: str) -> str:
    """Return the name of an export in its folder."""
    return f"{id}_{name}"


def parse_kept_name(text: str) -> tuple[str, str] | None:
    """Return id and name of an export in its folder, or None for what is no export."""
    found = _KEPT_NAME.fullmatch(text)
    return (found[1], found[2]) if found else None


def export_uri(id: str, name: str) -> str:
    """Return the address of an export; its name is there for people, and for clients that save it under it."""
    return f"madang://exports/{id}/{quote(name, safe='')}"


def export_id(uri: str) -> str:
    """Return the id in an address, or nothing when it is none of an export."""
    found = _URI.fullmatch(uri)
    return found[1] if found else ""


def _extension(name: str) -> str:
    stem, dot, end = name.rpartition(".")
    return dot + end if stem and _EXTENSION.fullmatch(dot + end) else ""


def _cut(name: str) -> str:
    """Cut a name to its bytes at the end of its stem."""
    if len(name.encode()) <= MAX_EXPORT_NAME_BYTES:
        return name
    extension = _extension(name)
    room = MAX_EXPORT_NAME_BYTES - len(extension.encode())
    return name.encode()[:room].decode(errors="ignore").rstrip(". ") + extension
