"""The one way to the terminal: nothing printed here moves a cursor, sets a title or turns the reading direction."""

from __future__ import annotations

import sys
from typing import Any

from madang.core.texts import inert_json, one_line, terminal_text


def show(text: str) -> None:
    """Print a text, which may have several lines, to standard output; at once, as some of it tells what to do next."""
    print(terminal_text(text), flush=True)


def show_json(value: Any) -> None:
    """Print JSON of exactly this value to standard output."""
    print(inert_json(value, indent=2))


def show_error(message: str) -> None:
    """Print what is wrong, on one line of standard error."""
    print(f"madang: {one_line(message)}", file=sys.stderr)
