"""Texts for one reader: no hint names a tool that the reader has not got.

The names stand in the templates of the catalogue, so it is the templates that are cut, before any value is filled in: a
file that is called like a tool stays what it is. What goes is the smallest part that can go: an aside in brackets, a
clause, a sentence; a line of which nothing is left is left out by whoever renders it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import lru_cache

from madang.core.calls import Locale
from madang.core.phrases import Translate
from madang.rendering.catalogue import translator

_NAME = re.compile(r"'([a-z]+(?:_[a-z]+)+|grep)'")
"""A tool in a template. Whatever else is quoted there has no underscore."""
_BARE_NAME = re.compile(r"(?<![\w{'-])([a-z]+(?:_[a-z]+)+|grep)(?![\w}'-])")
_ASIDE = re.compile(r" ?\(((?:[^()]|\([^()]*\))*)\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])(\s+)")
_OURS = re.compile(r"Madang(?:'s |의 )(?=')")
"""Before a tool that hosts may have under the same name."""

_Judge = Callable[[str], bool]


@lru_cache(maxsize=64)
def reader_words(locale: Locale, tools: frozenset[str], *, has_others: bool) -> Translate:
    """Return the words for a reader with these tools, who may have others of the same names beside them."""
    translate = translator(locale)
    kept: dict[str, str] = {}

    def words(template: str) -> str:
        text = kept.get(template)
        if text is None:
            text = without_tools(translate(template), _AllBut(tools))
            kept[template] = text = text if has_others else _OURS.sub("", text)
        return text

    return words


def without_tools(text: str, lacking: Container[str], *, bare: bool = False) -> str:
    """Return a text without the parts that name a tool which its reader lacks; `bare` names are not quoted."""
    pattern = _BARE_NAME if bare else _NAME

    def names_lacking(part: str) -> bool:
        return any(match[1] in lacking for match in pattern.finditer(part))

    if not names_lacking(text):
        return text
    text = _ASIDE.sub(lambda aside: _kept_aside(aside, names_lacking), text)
    return "\n".join(_kept_sentences(line, names_lacking) for line in text.split("\n"))


@dataclass(frozen=True)
class _AllBut:
    """Every tool but these, also one of a service that is not there at all."""

    tools: frozenset[str]

    def __contains__(self, name: object) -> bool:
        return name not in self.tools


def _kept_aside(aside: re.Match[str], names_lacking: _Judge) -> str:
    if not names_lacking(aside[1]):
        return aside[0]
    clauses = [clause for clause in aside[1].split("; ") if not names_lacking(clause)]
    return aside[0].replace(aside[1], "; ".join(clauses)) if clauses else ""


def _kept_sentences(line: str, names_lacking: _Judge) -> str:
    """Return what stays of a line, with its indent."""
    indent = line[: len(line) - len(line.lstrip())]
    pieces = _SENTENCE_END.split(line.strip())
    sentences = [_kept_clauses(sentence, names_lacking) for sentence in pieces[::2]]
    kept = " ".join(filter(None, sentences))
    return indent + kept if kept else ""


def _kept_clauses(sentence: str, names_lacking: _Judge) -> str:
    if not names_lacking(sentence):
        return sentence
    end = sentence[-1] if sentence[-1] in ".!?" else ""
    clauses = [clause for clause in sentence.removesuffix(end).split("; ") if not names_lacking(clause)]
    if clauses:
        return "; ".join(clauses) + end
    # How much was left out is said even where there is no way to get it. A label alone says nothing.
    head, colon, _ = sentence.partition(": ")
    says_how_much = "{" in head or head.lstrip().startswith("…")
    return f"{head}{end}" if colon and says_how_much and not names_lacking(head) else ""
