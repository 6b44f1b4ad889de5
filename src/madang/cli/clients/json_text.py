"""JSON as people write it, with comments and trailing commas: read with the place of each value, and edited there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 100

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[-+.\w]+")


class Malformed(ValueError):
    """A text that cannot be read; says where."""


@dataclass(slots=True)
class _Member:
    name: str
    start: int
    value: _Value
    comma: int = -1
    """Where the comma after it is; -1 without one."""


@dataclass(slots=True)
class _Value:
    start: int
    end: int
    value: Any
    members: list[_Member] | None = None
    """Of an object only."""
    by_name: dict[str, _Member] = field(default_factory=dict)


def parse(text: str) -> Any:
    """Return the value of a text; an empty one is an empty object.

    Raises:
        Malformed: it cannot be read.
    """
    return _document(text).value if text.strip("\ufeff \t\r\n") else {}


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with the value at the path: in the place of the one that is there, or as a first member."""
    if not text.strip("\ufeff \t\r\n"):
        return json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"
    node, rest = _document(text), list(path)
    while rest:
        if node.members is None:
            raise Malformed(f"'{'.'.join(path[: len(path) - len(rest)])}' is not an object")
        member = node.by_name.get(rest[0])
        if member is None:
            return _insert(text, node, rest[0], _nested(rest[1:], value))
        node = member.value
        rest.pop(0)
    lines = _Lines(text)
    return text[: node.start] + lines.dump(value, lines.indent_at(node.start)) + text[node.end :]


def remove(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at the path, whose name must be there."""
    node = _document(text)
    for name in path[:-1]:
        node = node.by_name[name].value
    members = node.members or []
    index = next(number for number, member in enumerate(members) if member.name == path[-1])
    member = members[index]
    start = _start_with_gap(text, member.start)
    if member.comma >= 0:
        rest = text[member.comma + 1 :]
        return text[:start] + (rest.lstrip(" \t") if start == member.start else rest)
    cut = text[:start] + text[member.value.end :]
    comma = members[index - 1].comma if index else -1
    return cut if comma < 0 else cut[:comma] + cut[comma + 1 :]


def _start_with_gap(text: str, start: int) -> int:
    """Return where the white space before a member begins, up to and with its line break."""
    gap = start - len(text[:start].rstrip(" \t"))
    before = text[: start - gap]
    for newline in ("\r\n", "\n"):
        if before.endswith(newline):
            return len(before) - len(newline)
    return start - gap


def _insert(text: str, node: _Value, name: str, value: Any) -> str:
    lines = _Lines(text)
    members, inside = node.members or [], text[node.start + 1 : node.end - 1]
    is_spread = "\n" in inside if members else "\n" in text
    member = f"{json.dumps(name, ensure_ascii=False)}: "
    head = node.start + 1
    if not is_spread:
        comma = ", " if members else ""
        return f"{text[:head]}{member}{json.dumps(value, ensure_ascii=False)}{comma}{text[head:]}"
    outer = lines.indent_at(node.start)
    inner = lines.indent_at(members[0].start) if members else outer + lines.unit
    new = f"{lines.newline}{inner}{member}{lines.dump(value, inner)}"
    if members:
        return f"{text[:head]}{new},{text[head:]}"
    closing = "" if "\n" in inside else f"{lines.newline}{outer}"
    return f"{text[:head]}{new}{closing}{text[head:]}"


def _nested(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


class _Lines:
    """How a text breaks and indents its lines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        indented = re.search(r"^([ \t]+)\"", text, re.MULTILINE)
        self.unit = indented[1] if indented else "  "

    def indent_at(self, position: int) -> str:
        line = self._text[self._text.rfind("\n", 0, position) + 1 : position]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def dump(self, value: Any, indent: str) -> str:
        if "\n" not in self._text:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, indent=self.unit, ensure_ascii=False).splitlines()
        return f"{self.newline}{indent}".join(lines)


def _document(text: str) -> _Value:
    reader = _Reader(text)
    try:
        return reader.document()
    except (RecursionError, IndexError):
        raise Malformed("it is nested too deeply, or ends too soon") from None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith("\ufeff") else 0

    def document(self) -> _Value:
        value = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._malformed()
        if value.members is None:
            raise Malformed("it is not an object")
        return value

    def _value(self, depth: int) -> _Value:
        self._skip()
        if depth > MAX_DEPTH:
            raise Malformed("it is nested too deeply")
        start = self._at
        match self._text[start : start + 1]:
            case "{":
                return self._object(depth)
            case "[":
                items = [value.value for value in self._items(depth)]
                return _Value(start, self._at, items)
            case '"':
                text = self._string()
                return _Value(start, self._at, text)
        scalar = _SCALAR.match(self._text, start)
        if scalar is None:
            raise self._malformed()
        self._at = scalar.end()
        return _Value(start, self._at, self._decoded(scalar[0]))

    def _object(self, depth: int) -> _Value:
        node = _Value(self._at, self._at, {}, [])
        assert node.members is not None
        self._at += 1
        while not self._closes("}"):
            start = self._at
            name = self._string()
            self._skip()
            self._expect(":")
            member = _Member(name, start, self._value(depth + 1))
            if name in node.by_name:
                raise Malformed(f"it has '{name}' twice in one place")
            node.members.append(member)
            node.by_name[name] = member
            node.value[name] = member.value.value
            self._skip()
            if self._peek() == ",":
                member.comma = self._at
                self._at += 1
            elif self._peek() != "}":
                raise self._malformed()
        node.end = self._at
        return node

    def _items(self, depth: int) -> Iterator[_Value]:
        self._at += 1
        while not self._closes("]"):
            yield self._value(depth + 1)
            self._skip()
            if self._peek() == ",":
                self._at += 1
            elif self._peek() != "]":
                raise self._malformed()

    def _closes(self, bracket: str) -> bool:
        self._skip()
        if self._peek() != bracket:
            return False
        self._at += 1
        return True

    def _string(self) -> str:
        quoted = _STRING.match(self._text, self._at)
        if quoted is None:
            raise self._malformed()
        text: str = self._decoded(quoted[0])
        self._at = quoted.end()
        return text

    def _decoded(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise self._malformed() from None

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _expect(self, sign: str) -> None:
        if self._peek() != sign:
            raise self._malformed()
        self._at += 1

    def _malformed(self) -> Malformed:
        line = self._text.count("\n", 0, self._at) + 1
        return Malformed(f"line {line} is not JSON")
