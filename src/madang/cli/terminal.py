"""The one way to the terminal: nothing printed here moves a cursor, sets a title or turns the reading direction."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from madang.core.texts import inert_json, one_line, terminal_text


def show(text: str) -> None:
    """Print a text, which may have several lines, to standard output; at once, as some of it tells what to do next."""
    print(terminal_text(text), flush=True)


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns side by side; each text stays on its line."""
    cells = [list(headings), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(map(text_width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        show(
            "  ".join(cell + " " * (width - text_width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def confirm(question: str) -> bool:
    """Ask at the terminal, and wait for the answer; anything but yes is no."""
    print(f"{one_line(question)} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def show_json(value: Any) -> None:
    """Print JSON of exactly this value to standard output."""
    print(inert_json(value, indent=2))


def show_json_line(value: Any) -> None:
    """Print JSON of exactly this value on one line of standard output, at once: another program may follow."""
    print(inert_json(value), flush=True)


def show_error(message: str) -> None:
    """Print what is wrong, on one line of standard error. Where that cannot be written, the exit code has to do."""
    with suppress(OSError):
        print(f"madang: {one_line(message)}", file=sys.stderr, flush=True)


def show_note(message: str) -> None:
    """Print something that is neither the answer nor an error, on one line of standard error."""
    with suppress(OSError):
        print(one_line(message), file=sys.stderr, flush=True)


def text_width(text: str) -> int:
    """Return how many columns a text takes: a syllable of Hangul takes two."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
