"""Finding tools by what is to be done: what `find_tools` answers with.

English and Korean alike: descriptions are English, so our own tools have Korean words beside them (`tool_words`). The
Korean dictionary is loaded, in its child, only for a query that has Korean in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from madang.agent.tool_index import Pair, ToolIndex, ToolWords
from madang.agent.tool_words import ENGLISH_WORDS, KOREAN_WORDS
from madang.core.calls import Call
from madang.core.suggestions import nearest_tools
from madang.core.synonyms import SYNONYM_WORDS, synonyms
from madang.core.tools import MethodTool, Tool
from madang.records.analysis.analysis import Analysis

SYNONYM_WEIGHT = 0.3
VALUE_WEIGHT = 0.7
MAX_DEPTH = 4
"""Of parameters: deeper ones say little of what a tool does, and a stranger's schema may be endless."""
MAX_PARAMETER_CHARS = 4_000

# Of sentences to an assistant; those of every English text are stop words already.
_POLITE_WORDS = (
    "i me my we our you your please can could would will tell help want need like know let got sure hi hello thanks "
    "thank also just some any out up about here going used via following now looking"
)
# What a value is: a sentence has the date itself, a tool only the word.
_VALUES = (
    (
        r"\b(?:january|february|march|april|june|july|august|september|october|november|december|monday|tuesday|"
        r"wednesday|thursday|friday|saturday|sunday|tomorrow|yesterday)\b|\b\d{4}-\d\d-\d\d\b|\b\d+/\d+/\d{2,4}\b",
        "date",
    ),
    (r"https?://", "url"),
    (r"[\w.]+@[\w.]+", "email"),
    (r"[$€£₩¥]|\b(?:dollars?|euros?|yen|won|usd|eur|jpy|krw)\b", "currency money amount"),
    (r"\b\d{1,2}(?::\d\d)?\s?[ap]\.?m\b|\b\d{1,2}:\d\d\b", "time"),
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7a3]")


class ToolSearch:
    """Searches lists of tools. The index of the last list is kept, one with Korean words and one without."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._alike: dict[str, set[str]] = {}
        self._indexes: dict[bool, tuple[list[tuple[str, str]], ToolIndex]] = {}

    async def search(self, call: Call, tools: Sequence[Tool], query: str) -> list[Tool]:
        """Return the tools that fit a query, the best first: one that is named exactly comes before all others.

        Raises:
            LimitExceeded, Unavailable: the query cannot be analyzed now.
        """
        by_name = {tool.name: tool for tool in tools}
        # A single word in a sentence is more often a word than a name.
        named = [name for name in re.findall(r"\w+", query) if "_" in name and name in by_name]
        if not named and " " not in query.strip():
            named = nearest_tools(query.strip(), list(by_name))[:1]
        has_korean = _HANGUL.search(query) is not None
        index = await self._index(call, tools, has_korean=has_korean)
        words, pairs = await self._parse(call, query)
        ranked = [tools[number].name for number in index.rank(words, pairs)]
        return [by_name[name] for name in dict.fromkeys([*named, *ranked])]

    async def _index(self, call: Call, tools: Sequence[Tool], *, has_korean: bool) -> ToolIndex:
        key = [(tool.name, tool.description) for tool in tools]
        known = self._indexes.get(has_korean)
        if known is not None and known[0] == key:
            return known[1]
        texts = [text for tool in tools for text in _texts(tool, has_korean=has_korean)]
        tokens = iter([one.words for one in await self._analysis.tokenize(call, texts)])
        index = ToolIndex([ToolWords(name, next(tokens), next(tokens)) for name in tokens])
        self._indexes[has_korean] = key, index
        return index

    async def _parse(self, call: Call, query: str) -> tuple[Mapping[str, float], set[Pair]]:
        """Return the words of a query with their weights, and those that stand beside each other."""
        parsed = await self._analysis.parse_query(call, query)
        values = [
            word for pattern, words in _VALUES if re.search(pattern, query, re.IGNORECASE) for word in words.split()
        ]
        polite, meant = await self._analysis.tokenize(call, [_POLITE_WORDS, " ".join(values)])
        (in_order,) = await self._analysis.tokenize(call, [query])
        dropped = set(polite.words)
        words = {
            term.text: min(term.weight, 1.0) for term in parsed.terms if not term.is_weak and term.text not in dropped
        }
        alike = await self._synonyms(call)
        others = [other for word in words for other in alike.get(word, ())]
        for weight, added in ((VALUE_WEIGHT, meant.words), (SYNONYM_WEIGHT, others)):
            for word in added:
                words.setdefault(word, weight)
        return words, set(pairwise(in_order.words))

    async def _synonyms(self, call: Call) -> Mapping[str, set[str]]:
        """Return synonyms in the form in which words are searched."""
        if not self._alike:
            stems = [tokens.words[0] for tokens in await self._analysis.tokenize(call, SYNONYM_WORDS)]
            stem_of = dict(zip(SYNONYM_WORDS, stems, strict=True))
            for word, stem in stem_of.items():
                self._alike.setdefault(stem, set()).update(stem_of[other] for other in synonyms(word))
        return self._alike


def _texts(tool: Tool, *, has_korean: bool) -> tuple[str, str, str]:
    words = ENGLISH_WORDS.get(tool.name, ""), KOREAN_WORDS.get(tool.name, "") if has_korean else ""
    description = " ".join((tool.description, *words)) if isinstance(tool, MethodTool) else tool.description
    parameters = " ".join(_parameter_texts(tool.input_schema))[:MAX_PARAMETER_CHARS]
    return _spaced(tool.name), _spaced(description), _spaced(parameters)


def _parameter_texts(schema: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        yield str(name)
        if not isinstance(part, Mapping):
            continue
        items = part.get("items")
        items = items if isinstance(items, Mapping) else {}
        for text in (part.get("description", ""), *_listed(part.get("enum")), *_listed(items.get("enum"))):
            yield str(text)
        if depth < MAX_DEPTH:
            yield from _parameter_texts(part, depth + 1)
            yield from _parameter_texts(items, depth + 1)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _spaced(text: str) -> str:
    """Return a text with the words of names apart."""
    return _CAMEL.sub(" ", text).replace("_", " ")
