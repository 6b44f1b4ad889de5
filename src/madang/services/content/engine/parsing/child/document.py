"""Text as it is put together from the pages, slides or sheets of a document."""

from __future__ import annotations

from collections.abc import Iterable

from .refused import Refused

LARGEST_TEXT_BYTES = 64 << 20
MOST_PAGES = 20_000


class Document:
    """Lines, and where pages start. It takes no more than may be sent."""

    def __init__(self, mime_type: str) -> None:
        self.mime_type = mime_type
        self.page_lines: list[int] = []
        self._lines: list[str] = []
        self._size_bytes = 0

    def start_page(self) -> None:
        """Begin a page: it is set off from the one before it by an empty line."""
        if len(self.page_lines) == MOST_PAGES:
            raise Refused("pages", MOST_PAGES)
        if self._lines:
            self.add_line("")
        self.page_lines.append(len(self._lines) + 1)

    def add_line(self, line: str) -> None:
        self._size_bytes += len(line.encode("utf-8", "replace")) + 1
        if self._size_bytes > LARGEST_TEXT_BYTES:
            raise Refused("text", LARGEST_TEXT_BYTES)
        self._lines.append(line)

    def add_text(self, text: str) -> None:
        """Add a text of several lines; blanks at their ends, and empty lines at its own, are left out."""
        for line in unified(text).strip("\n").split("\n"):
            self.add_line(line.rstrip())

    def add_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.add_text(line)

    def end(self) -> str:
        """Return the whole text. A document without a word is refused: nobody could tell it from one that was read."""
        if not any(line.strip() for line in self._lines):
            raise Refused("no_text", len(self.page_lines))
        return "\n".join(self._lines) + "\n"


def unified(text: str) -> str:
    """Return the text with `\\n` at the end of each line, and without the NULs and halves of pairs nothing can keep."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
