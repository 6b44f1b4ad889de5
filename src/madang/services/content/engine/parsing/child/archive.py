"""A ZIP archive that lies: its directory is checked before anything is read, and the bytes are counted while reading.

Parts are read by their place in the directory. Nothing is unpacked, and no archive inside it is followed.
"""

from __future__ import annotations

import codecs
import io
import stat
import struct
import zipfile
import zlib

from .refused import Refused

MAX_ARCHIVE_ENTRIES = 10_000
MAX_EXPANDED_BYTES = 256 << 20
MAX_COMPRESSION_RATIO = 100
MAX_ENTRY_NAME_CHARS = 255

# zipfile decodes names by it, and a confined process can import nothing.
codecs.lookup("cp437")

_CHUNK = 1 << 16
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_IS_ENCRYPTED = 0x1
# Every entry of a directory has this mark, so there are no more entries than marks.
_ENTRY_MARK = b"PK\x01\x02"
_DTD_MARK = b"<!DOCTYPE"
_XML_NAMES = (".xml", ".rels", ".vml")


class Archive:
    """The parts of an archive by name, within the bounds of what all of them may expand to."""

    def __init__(self, data: bytes) -> None:
        # Before the directory becomes a million objects.
        marks = data.count(_ENTRY_MARK)
        if marks > MAX_ARCHIVE_ENTRIES:
            raise Refused("entries", MAX_ARCHIVE_ENTRIES)
        try:
            entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise Refused("broken") from error
        self._data = memoryview(data)
        self._left = min(MAX_EXPANDED_BYTES, MAX_COMPRESSION_RATIO * len(data))
        self._entries = {entry.filename: entry for entry in entries}
        self._places: dict[str, slice] = {}
        self._check(entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def open(self, name: str) -> Part:
        entry = self._entries.get(name)
        if entry is None:
            raise Refused("broken")
        return Part(self, entry, self._data[self._places[name]])

    def read(self, name: str) -> bytes:
        part = self.open(name)
        return b"".join(iter(lambda: part.read(_CHUNK), b""))

    def verify(self) -> None:
        """Read every part and keep none: for a parser that opens the archive itself and trusts it."""
        for name in self._entries:
            part = self.open(name)
            while part.read(_CHUNK):
                pass

    def spend(self, size_bytes: int) -> None:
        self._left -= size_bytes
        if self._left < 0:
            raise Refused("expanded", MAX_EXPANDED_BYTES)

    def _check(self, entries: list[zipfile.ZipInfo]) -> None:
        if len(self._entries) < len(entries):
            # Two of the same name: which of them counts differs from reader to reader.
            raise Refused("names")
        for entry in entries:
            _check_name(entry)
            if entry.flag_bits & _IS_ENCRYPTED:
                raise Refused("password")
        expanded = sum(entry.file_size for entry in entries)
        if expanded > MAX_EXPANDED_BYTES:
            raise Refused("expanded", MAX_EXPANDED_BYTES)
        if expanded > MAX_COMPRESSION_RATIO * len(self._data):
            raise Refused("ratio", MAX_COMPRESSION_RATIO)
        end = 0
        for entry in sorted(entries, key=lambda entry: entry.header_offset):
            # Entries that share bytes are how a bomb gets past a ratio.
            if entry.header_offset < end:
                raise Refused("overlap")
            start = self._start(entry.header_offset)
            end = start + entry.compress_size
            if end > len(self._data):
                raise Refused("broken")
            self._places[entry.filename] = slice(start, end)

    def _start(self, offset: int) -> int:
        try:
            mark, name_length, extra_length = _LOCAL_HEADER.unpack_from(self._data, offset)
        except struct.error as error:
            raise Refused("broken") from error
        if mark != b"PK\x03\x04":
            raise Refused("broken")
        return offset + _LOCAL_HEADER.size + int(name_length) + int(extra_length)


class Part:
    """One part, read from front to end. Expands at most what its directory entry says."""

    def __init__(self, archive: Archive, entry: zipfile.ZipInfo, packed: memoryview) -> None:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused("broken")
        self._archive = archive
        self._left = entry.file_size
        self._packed = packed
        self._at = 0
        self._inflate = zlib.decompressobj(-15) if entry.compress_type == zipfile.ZIP_DEFLATED else None
        self._is_xml = entry.filename.lower().endswith(_XML_NAMES)
        self._tail = b""

    def read(self, size: int = _CHUNK) -> bytes:
        chunk = self._expanded(size if 0 < size < _CHUNK else _CHUNK)
        self._left -= len(chunk)
        if self._left < 0 or (not chunk and self._left):
            # The directory lied about the size.
            raise Refused("broken")
        self._archive.spend(len(chunk))
        if self._is_xml:
            # No office program writes a DTD; entities and files of others are all that one is good for.
            # The mark cannot be part of a text: `<` is escaped there.
            if _DTD_MARK in self._tail + chunk:
                raise Refused("dtd")
            self._tail = (self._tail + chunk)[-len(_DTD_MARK) :]
        return chunk

    def _expanded(self, size: int) -> bytes:
        if self._inflate is None:
            chunk = bytes(self._packed[self._at : self._at + size])
            self._at += len(chunk)
            return chunk
        while not self._inflate.eof:
            piece = self._inflate.unconsumed_tail
            if not piece:
                piece = bytes(self._packed[self._at : self._at + _CHUNK])
                self._at += len(piece)
            try:
                chunk = self._inflate.decompress(piece, size)
            except zlib.error as error:
                raise Refused("broken") from error
            if chunk or not piece:
                return chunk
        return b""


def _check_name(entry: zipfile.ZipInfo) -> None:
    """Refuse names that lead somewhere, although nothing is unpacked: no office program writes them."""
    # As it is in the archive: `filename` ends at a NUL, and on Windows has its separators turned.
    name = entry.orig_filename
    if (
        not name
        or len(name) > MAX_ENTRY_NAME_CHARS
        or name.startswith("/")
        or "\\" in name
        or "\0" in name
        or name[1:2] == ":"
        or ".." in name.split("/")
        or stat.S_ISLNK(entry.external_attr >> 16)
    ):
        raise Refused("names")
