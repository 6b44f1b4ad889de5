"""YAML, edited by lines: an entry comes first in the mapping it belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from madang.cli.clients.json_text import Malformed


def parse(text: str) -> Any:
    """Return the values of a text.

    Raises:
        Malformed: it is not one mapping of YAML.
    """
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise Malformed(f"line {mark.line + 1} is not YAML" if mark else "it is not YAML") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Malformed("it is not a mapping")
    return value


def put(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return the text with the entry, in the place of the one of that name. The path has two parts."""
    group, name = path
    document = parse(text)
    if isinstance(document.get(group), dict) and name in document[group]:
        text = remove(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    node = _find(text, group)
    if node is None:
        ending = "" if not text or text.endswith("\n") else newline
        return text + ending + "".join(line + newline for line in [f"{group}:", *_lines(name, value, "  ")])
    if not isinstance(node, yaml.MappingNode):
        if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null"):
            return _after_line(text, node.end_mark.index, "".join(line + newline for line in _lines(name, value, "  ")))
        raise Malformed(f"'{group}' is not a mapping")
    if node.flow_style:
        head = node.start_mark.index + 1
        comma = ", " if node.value else ""
        entry = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}{comma}"
        return text[:head] + entry + text[head:]
    first = node.start_mark
    lines = "".join(line + newline for line in _lines(name, value, " " * first.column))
    start = text.rfind("\n", 0, first.index) + 1
    return text[:start] + lines + text[start:]


def remove(text: str, path: Sequence[str]) -> str:
    """Return the text without the lines of an entry."""
    group, name = path
    node = _find(text, group)
    entry = next((key for key, _ in node.value if key.value == name), None) if _is_block(node) else None
    if entry is None:
        raise Malformed(f"'{name}' is not on lines of its own")
    column = entry.start_mark.column
    lines = text.splitlines(keepends=True)
    end = entry.start_mark.line + 1
    while end < len(lines) and _belongs(lines[end], column):
        end += 1
    # Empty lines at its end separate what comes next.
    while not lines[end - 1].strip():
        end -= 1
    return "".join(lines[: entry.start_mark.line] + lines[end:])


def _belongs(line: str, column: int) -> bool:
    stripped = line.strip()
    return not stripped or len(line) - len(line.lstrip(" ")) > column or (line.startswith(" " * column + "- "))


def _is_block(node: Any) -> bool:
    return isinstance(node, yaml.MappingNode) and not node.flow_style


def _find(text: str, group: str) -> Any:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:  # as where the entry that was taken out had an anchor
        raise Malformed("the entry is used in other places") from None
    if root is None:
        return None
    return next((value for key, value in root.value if key.value == group), None)


def _after_line(text: str, index: int, lines: str) -> str:
    end = text.find("\n", index)
    return text + "\n" + lines if end < 0 else text[: end + 1] + lines + text[end + 1 :]


def _lines(name: str, value: Mapping[str, Any], indent: str) -> list[str]:
    # JSON is YAML: quoted strings and lists in brackets need no rules of their own.
    if not isinstance(value, Mapping) or not value:
        return [f"{indent}{name}: {json.dumps(value, ensure_ascii=False)}"]
    items = [f"{indent}  {key}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items()]
    return [f"{indent}{name}:", *items]
