"""The message catalogue against the code: nothing is said that it does not hold, and no placeholder gets lost."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

from babel.messages.pofile import read_po

import madang

SOURCE = Path(madang.__file__).parent
with (SOURCE / "locale" / "ko" / "LC_MESSAGES" / "madang.po").open("rb") as _file:
    CATALOGUE = {str(entry.id): str(entry.string) for entry in read_po(_file, locale="ko") if entry.id}
TRANSLATED = {english: korean for english, korean in CATALOGUE.items() if korean}


def said() -> Iterator[tuple[str, ast.expr]]:
    """Yield where something is said, and what."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.args[0]


def test_everything_the_code_says_is_in_the_catalogue() -> None:
    """A template that is put together at run time is never found there, so each must be written out."""
    missing = [
        where for where, template in said() if not (isinstance(template, ast.Constant) and template.value in CATALOGUE)
    ]

    assert missing == []


def test_every_translation_has_the_placeholders_of_its_message() -> None:
    assert {
        english: korean for english, korean in TRANSLATED.items() if placeholders(korean) != placeholders(english)
    } == {}


def test_every_translation_has_the_tool_names_of_its_message() -> None:
    assert {
        english: korean for english, korean in TRANSLATED.items() if quoted_tools(korean) != quoted_tools(english)
    } == {}


def placeholders(template: str) -> set[tuple[str, str]]:
    """Return the names of the values in a template. What only depends on their number is for each language to say."""
    return {(name, spec or "") for _, name, spec, _ in Formatter().parse(template) if name and "|" not in name}


def quoted_tools(template: str) -> list[str]:
    return sorted(re.findall(r"'[a-z]+(?:_[a-z]+)+'", template))
