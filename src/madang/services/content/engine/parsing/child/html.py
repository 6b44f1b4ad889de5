"""HTML: what a person would see, a line per block and per row of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from lxml import etree

from .document import DocumentText

_UNSEEN = {"script", "style", "template", "noscript", "head", "svg", "object", "iframe", "datalist"}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
    "hr", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot",
    "thead", "title", "ul",
}  # fmt: skip
_CELLS = {"td", "th"}
_HIDING = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n\f]+")


def read_html(data: bytes) -> DocumentText:
    """Return the visible text of a page in UTF-8."""
    page = _Page()
    # Element by element: a page of a million nested tags is never a tree.
    target = cast("Any", page)  # lxml's stubs ask for bytes too, which never come
    parser = etree.HTMLParser(target=target, encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True)
    parser.feed(data)
    parser.close()
    return page.document


class _Page:
    """Takes the elements as the parser meets them."""

    def __init__(self) -> None:
        self.document = DocumentText("text/html")
        # The line being put together, and inside a table that of each cell around it.
        self._lines: list[list[str]] = [[]]
        self._rows: list[list[str]] = []
        self._unseen: list[str] = []
        self._preformatted = 0
        self._is_title = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._unseen:
            # The title stands in the head, which is not seen otherwise.
            self._is_title = tag == "title" and self._unseen == ["head"]
            self._unseen.append(tag)
        elif tag in _UNSEEN or "hidden" in attributes or _HIDING.search(attributes.get("style") or ""):
            self._unseen.append(tag)
        elif tag == "tr":
            self._break()
            self._rows.append([])
        elif tag in _CELLS and self._rows:
            self._lines.append([])
        elif tag == "img":
            self._lines[-1].append(attributes.get("alt") or "")
        elif tag in _BLOCKS:
            self._break()
            if tag == "li":
                self._lines[-1].append("- ")
            self._preformatted += tag == "pre"

    def end(self, tag: str) -> None:
        if self._unseen:
            if self._is_title:
                self._break()
                self._is_title = False
            self._unseen.pop()
        elif tag == "tr":
            if self._rows:
                self._add("\t".join(self._rows.pop()).rstrip())
        elif tag in _CELLS and self._rows:
            if len(self._lines) > 1:
                self._rows[-1].append(_BLANKS.sub(" ", "".join(self._lines.pop())).strip())
        elif tag in _BLOCKS:
            self._break()
            self._preformatted -= tag == "pre"

    def data(self, text: str) -> None:
        if self._unseen and not self._is_title:
            return
        if self._preformatted:
            *whole, rest = text.replace("\r\n", "\n").split("\n")
            for line in whole:
                self._lines[-1].append(line)
                self._break()
            self._lines[-1].append(rest)
        else:
            self._lines[-1].append(_BLANKS.sub(" ", text))

    def comment(self, text: str | bytes) -> None:
        """Comments are not seen."""

    def close(self) -> None:
        self._rows.clear()
        for line in reversed(self._lines):
            self._add("".join(line).strip())

    def _break(self) -> None:
        """End the line. Inside a cell it goes on: a row is one line whatever its cells are made of."""
        if self._rows:
            self._lines[-1].append(" ")
            return
        text = "".join(self._lines.pop())
        self._lines.append([])
        self._add(text.rstrip() if self._preformatted else re.sub(" +", " ", text).strip())

    def _add(self, line: str) -> None:
        if self._rows:
            # A table within a cell: its rows are words of that cell.
            self._lines[-1].append(f" {line} ")
        elif line and line != "-":
            self.document.add_text(line)
