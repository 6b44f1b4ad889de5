"""Paragraphs and tables of WordprocessingML and DrawingML, as lines.

Both call a paragraph `p`, a text `t`, a table row `tr` and a cell `tc`, in the old namespaces and in the strict ones;
so the names decide and the namespaces do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, cast

from lxml import etree

from .archive import Part
from .refused import Refused

# Settings; a second telling of what comes before it; what was deleted or moved away.
_SKIPPED = {"pPr", "rPr", "tblPr", "tcPr", "trPr", "sectPr", "Fallback", "moveFrom", "del", "instrText"}
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_NAMES = {"p", "t", "tr", "tc", "fld", *_SIGNS, *_SKIPPED}


class Markup:
    """Reads one part. A row of a table is one line, its cells set off by tabs."""

    def __init__(self) -> None:
        self._paragraphs: list[list[str]] = []
        self._cells: list[list[str]] = []
        self._rows: list[list[str]] = []
        self._skipped = 0

    def lines(self, part: Part) -> Iterator[str]:
        events = etree.iterparse(
            cast("IO[bytes]", part),
            events=("start", "end"),
            tag=[f"{{*}}{name}" for name in _NAMES],
            # With the encoding given, a part cannot hide a DTD from us by declaring another one.
            encoding="utf-8",
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
        )
        try:
            for event, element in events:
                name = element.tag.rpartition("}")[2]
                if name in _SKIPPED or (name == "fld" and element.get("type") == "slidenum"):
                    self._skipped += 1 if event == "start" else -1
                elif self._skipped:
                    continue
                elif event == "start":
                    self._start(name)
                else:
                    yield from self._end(name, element)
        except etree.XMLSyntaxError as error:
            raise Refused("broken") from error

    def _start(self, name: str) -> None:
        if name == "p":
            self._paragraphs.append([])
        elif name == "tr":
            self._rows.append([])
        elif name == "tc":
            self._cells.append([])

    def _end(self, name: str, element: etree._Element) -> Iterator[str]:
        if name == "t":
            if self._paragraphs and element.text:
                self._paragraphs[-1].append(element.text)
        elif name in _SIGNS:
            if self._paragraphs:
                self._paragraphs[-1].append(_SIGNS[name])
        elif name == "p":
            yield from self._line("".join(self._paragraphs.pop()))
            _forget(element)
        elif name == "tc":
            cell = " ".join(" ".join(self._cells.pop()).split())
            if self._rows:
                self._rows[-1].append(cell)
        elif name == "tr":
            yield from self._line("\t".join(self._rows.pop()).rstrip())
            _forget(element)

    def _line(self, line: str) -> Iterator[str]:
        if self._cells:
            self._cells[-1].append(line)
        elif line.strip():
            yield line


def _forget(element: etree._Element) -> None:
    """Let go of what was read, or the whole part would be in memory in the end."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]
