"""TOML, edited by lines: an entry is a table of its own at the end of the file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from typing import Any

from madang.cli.clients.json_text import Malformed

_HEADER = re.compile(r"^\s*\[\[?(?P<name>[^\[\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|'(?P<literal>[^']*)'|(?P<bare>[\w-]+))\s*(?:\.|$)")
_MULTILINE = re.compile(r'"""|\'\'\'')


def parse(text: str) -> Any:
    """Return the values of a text.

    Raises:
        Malformed: it is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None


def put(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return the text with a table at its end, in the place of the one of that name."""
    table = parse(text)
    for name in path:
        table = table.get(name) if isinstance(table, dict) else None
    if table is not None:
        text = remove(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    ending = "" if not text or text.endswith("\n") else newline
    gap = newline if text.strip() and not (text + ending).endswith(newline * 2) else ""
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(name)} = {_value(item)}" for name, item in value.items())]
    return text + ending + gap + "".join(line + newline for line in lines)


def remove(text: str, path: Sequence[str]) -> str:
    """Return the text without a table and those inside of it. Comments after its last line stay."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    is_ours = False
    waiting: list[str] = []
    for line, name in _headers(lines):
        if name is not None:
            is_ours = name[: len(path)] == tuple(path)
            if not is_ours:
                # Comments that stand right above a table belong to it.
                kept += waiting
            elif kept and not kept[-1].strip() and not waiting:
                kept.pop()
            waiting = []
        if not is_ours:
            kept.append(line)
        elif name is None:
            waiting = [*waiting, line] if line.lstrip().startswith("#") or (waiting and not line.strip()) else []
    return "".join(kept + waiting)


def _headers(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield each line with the name of the table that it begins, if it does."""
    quote = ""
    for line in lines:
        header = None if quote else _HEADER.match(line)
        yield line, _parts(header["name"]) if header else None
        for mark in _MULTILINE.findall(line):
            quote = "" if quote == mark else quote or mark


def _parts(name: str) -> tuple[str, ...]:
    return tuple(
        next(part for part in (key["quoted"], key["literal"], key["bare"]) if part is not None)
        for key in _KEY.finditer(name)
    )


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(name)} = {_value(item)}' for name, item in value.items())}}}"
    if isinstance(value, (date, time)):
        return value.isoformat()
    # Strings, numbers and truth are written as in JSON; the one sign that TOML wants escaped beyond it is DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
