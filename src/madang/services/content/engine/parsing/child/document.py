"""Text as it is put together from the pages, slides or sheets of a document."""

from __future__ import annotations

from collections.abc import Iterable

from .refused import Refused

MAX_EXTRACTED_BYTES = 64 << 20
MAX_DOCUMENT_PAGES = 20_000


class DocumentText:
    """Lines, and where pages start. It takes no more than may be sent."""

    def __init__(self, mime_type: str) -> None:
        self.mime_type = mime_type
        self.page_lines: list[int] = []
        self._lines: list[str] = []
        self._size_bytes = 0

    def start_page(self) -> None:
        """Begin a page: it is set off from the one before it by an empty line."""
        if len(self.page_lines) == MAX_DOCUMENT_PAGES:
            raise Refused("pages", MAX_DOCUMENT_PAGES)
        if self._lines:
            self._lines.append("")
        self.page_lines.append(len(self._lines) + 1)

    def add_text(self, text: str) -> None:
        """Add a text of one or more lines; blanks at their ends, and empty lines at its own, are left out."""
        # What cannot be kept goes: NULs, and halves of surrogate pairs.
        encoded = text.encode("utf-8", "replace")
        self._size_bytes += len(encoded) + 1
        if self._size_bytes > MAX_EXTRACTED_BYTES:
            raise Refused("text", MAX_EXTRACTED_BYTES)
        clean = encoded.decode().replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        self._lines += map(str.rstrip, clean.split("\n"))

    def add_texts(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.add_text(text)

    def end(self) -> str:
        """Return the whole text. A document without a word is refused: it would look like one that was read."""
        if not any(self._lines):
            raise Refused("no_text", len(self.page_lines))
        return "\n".join(self._lines) + "\n"
