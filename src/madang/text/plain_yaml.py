"""YAML with the values that JSON knows: texts, numbers, true and false, null, lists, and objects with texts as keys.

No aliases, tags of programs, directives or numbers in base 60: each of them makes a short document cost minutes or all
memory. Only the standard library, PyYAML and our limits are imported, so that a child process starts quickly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import yaml

from madang.core.limits import MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_VALUES

MAX_NUMBER_CHARS = 100
"""Of a scalar that is looked at as anything but a text: longer ones are texts."""
CLOCK_EVENTS = 500
"""How many events of the parser pass between two looks at the clock."""

_TAG = "tag:yaml.org,2002:"
# The words of YAML 1.1, which PyYAML writes in quotes where they are texts.
_BOOLEANS = {
    spelling: value
    for word, value in {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}.items()
    for spelling in (word, word.capitalize(), word.upper())
}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?", re.DOTALL)


class YamlRefused(Exception):
    """A document that is not read. `reason` is one of REASONS; `detail` has the parser's words."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


REASONS = ("aliases", "directives", "depth", "values", "keys", "tag", "documents", "syntax")


def parse_plain_yaml(document: str, check_time: Callable[[], None] = lambda: None) -> Any:
    """Return the value of a document. `check_time` is called regularly, and raises to end it.

    Raises:
        YamlRefused: it is no YAML, or more than JSON could hold.
    """
    check_directives(document)
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for number, event in enumerate(yaml.parse(document, Loader=loader)):
            if number % CLOCK_EVENTS == 0:
                check_time()
            builder.add(event, type(event).__name__)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlRefused("syntax", str(error)[:500]) from None
    return builder.value


def check_directives(document: str) -> None:
    """Refuse a document with directives.

    The parser searches the list of them for duplicates at each new one, where there is no clock.

    Raises:
        YamlRefused: it has some.
    """
    # No regular expression: on a long document it takes many times as long, and other threads wait.
    if document.startswith("%") or "\n%" in document:
        raise YamlRefused("directives")


def answer(question: bytes) -> bytes:
    """Answer for a child process: the document in, its value or why it is refused out, both as JSON."""
    try:
        reply = {"value": parse_plain_yaml(question.decode())}
    except YamlRefused as refused:
        reply = {"refused": refused.reason, "detail": refused.detail}
    return json.dumps(reply).encode()


class _Builder:
    """Builds the value from the events of a parser. Values are counted as they come, before anything is built."""

    def __init__(self) -> None:
        self.value: Any = None
        self._open: list[Any] = []
        self._keys: list[str | None] = []
        self._values = 0
        self._documents = 0

    def add(self, event: Any, kind: str) -> None:
        if kind == "ScalarEvent":
            if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
                self._count()
                self._keys[-1] = event.value
            else:
                self._put(_scalar(event))
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if event.tag not in (None, "!", f"{_TAG}map", f"{_TAG}seq"):
                raise YamlRefused("tag", event.tag[:100])
            collection: Any = {} if kind == "MappingStartEvent" else []
            self._put(collection)
            self._open.append(collection)
            self._keys.append(None)
            if len(self._open) > MAX_ARGUMENT_DEPTH:
                raise YamlRefused("depth")
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._open.pop()
            self._keys.pop()
        elif kind == "AliasEvent":
            raise YamlRefused("aliases")
        elif kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                raise YamlRefused("documents")

    def _put(self, value: Any) -> None:
        self._count()
        if not self._open:
            self.value = value
        elif isinstance(self._open[-1], list):
            self._open[-1].append(value)
        else:
            key = self._keys[-1]
            if key is None:
                raise YamlRefused("keys")
            self._open[-1][key] = value
            self._keys[-1] = None

    def _count(self) -> None:
        self._values += 1
        if self._values > MAX_ARGUMENT_VALUES:
            raise YamlRefused("values")


def _scalar(event: Any) -> Any:
    text: str = event.value
    is_plain, is_quoted = event.implicit
    if is_plain:
        return _resolved(text)
    if is_quoted or event.tag in ("!", f"{_TAG}str"):
        return text
    value = _resolved(text)
    kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
    expected = kinds.get((event.tag or "").removeprefix(_TAG))
    if expected is None or type(value) not in expected:
        raise YamlRefused("tag", (event.tag or "")[:100])
    return value


def _resolved(text: str) -> Any:
    """Return what an unquoted scalar means. A date is no text, as in YAML 1.1, and nothing that is taken here."""
    if len(text) > MAX_NUMBER_CHARS:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] in "-+.0123456789":
        if _INTEGER.fullmatch(text):
            return _integer(text.replace("_", ""))
        if _FLOAT.fullmatch(text):
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan").lower())
        if _DATE.fullmatch(text):
            return 0.0
    return text


def _integer(digits: str) -> int:
    bare = digits.lstrip("+-")
    base = 2 if bare.startswith("0b") else 16 if bare.startswith("0x") else 8 if bare.startswith("0") else 10
    return int(digits, base)
