"""Addresses under which one file can be fetched over HTTP for a while, by a bearer of the address.

A browser that opens a link brings no bearer token, and a token must not stand in an address. So an address holds 256
random bits of its own, which open one export of one session, for reading, for an hour, in this process alone.
"""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from typing import IO
from urllib.parse import quote

from madang.core.calls import Call
from madang.files.folders import Folders

LIFETIME_S = 3600
MAX_ADDRESSES = 10_000
PREFIX = "/exports/"


@dataclass(frozen=True, slots=True)
class Download:
    """What an address stands for: a file in the exports of the call's session, and the name to save it under."""

    call: Call
    stored_name: str
    name: str
    until: float


class Downloads:
    """Hands out addresses below `base_url` and opens what they stand for. Nothing of it is ever written down."""

    def __init__(self, folders: Folders, base_url: str) -> None:
        self._folders = folders
        self._base_url = base_url
        self._downloads: dict[str, Download] = {}

    def address(self, call: Call, stored_name: str, name: str) -> str:
        """Return a new address for an export."""
        while len(self._downloads) >= MAX_ADDRESSES:
            del self._downloads[next(iter(self._downloads))]  # the oldest
        key = secrets.token_urlsafe(32)
        self._downloads[key] = Download(call, stored_name, name, time.monotonic() + LIFETIME_S)
        return f"{self._base_url}{PREFIX}{key}/{quote(name, safe='')}"

    def find(self, key: str) -> Download | None:
        """Return what an address with this key stands for, unless its time is over."""
        download = self._downloads.get(key)
        if download is not None and download.until <= time.monotonic():
            del self._downloads[key]
            return None
        return download

    def open(self, download: Download) -> IO[bytes]:
        """Open the file for reading; the caller closes it. It blocks.

        Raises:
            NotFound: it was removed.
        """
        with self._folders.reading(download.call) as session, session.exports.open_file(download.stored_name) as file:
            return open(os.dup(file.fileno()), "rb", buffering=0)
