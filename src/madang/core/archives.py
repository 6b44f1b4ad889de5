"""The archive of a session, as each service writes and reads its own part. The file format is `files.archives`'s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Protocol, TypeVar

from madang.core.documents import Document

DocumentT = TypeVar("DocumentT", bound=Document)


class ArchiveWriter(Protocol):
    """Takes the part of one service, one name after the other. Its methods block: call them from a thread."""

    def add(self, name: str, document: Document) -> None:
        """Add a document, as JSON."""

    def add_all(self, name: str, documents: Iterable[Document]) -> None:
        """Add documents, as lines of JSON; without any, nothing is added."""

    def create(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Add a file, and give it to be written. Nothing else is added meanwhile."""


class ArchiveReader(Protocol):
    """Gives back what an `ArchiveWriter` took. Anybody may have written it: documents are validated.

    Its methods block.
    """

    def read(self, name: str, kind: type[DocumentT]) -> DocumentT | None:
        """Return a document, or None if there is none of this name.

        Raises:
            InvalidArguments, LimitExceeded: it is not of this kind, or too large.
        """

    def read_all(self, name: str, kind: type[DocumentT], max_bytes: int | None = None) -> Iterator[DocumentT]:
        """Yield the documents of one name; none if there is no such name. Each may have `max_bytes`, if that is given.

        Raises:
            InvalidArguments, LimitExceeded: one is not of this kind, or too large.
        """

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file for reading.

        Raises:
            InvalidArguments: there is none of this name.
        """
