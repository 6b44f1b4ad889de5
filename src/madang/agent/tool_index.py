"""Ranking tools by words, in memory. Pure.

BM25 over names, descriptions and parameters, each normalized by its own length, and three things beside: how much of a
tool's name was said, words that stand next to each other on both sides, and a little for synonyms. What each is worth
was measured on the sentences of a public benchmark (`benchmarks/tool_search.py`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SATURATION = 1.2
"""BM25's k1: how fast a word counts less when it is repeated."""
FIELDS = ((1.0, 0.3), (1.0, 0.7), (0.5, 0.7))
"""Weight and length normalization of name, description and parameters."""
NAME_WEIGHT = 4.0
PAIR_WEIGHT = 0.5

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ToolWords:
    """The tokens of a tool, in the order of its texts."""

    name: Sequence[str]
    description: Sequence[str]
    parameters: Sequence[str]

    @property
    def fields(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        return self.name, self.description, self.parameters


class ToolIndex:
    """Some tools, which do not change."""

    def __init__(self, tools: Sequence[ToolWords]) -> None:
        self._names = [frozenset(tool.name) for tool in tools]
        lengths = [sum(len(tool.fields[place]) for tool in tools) / max(len(tools), 1) or 1.0 for place in range(3)]
        self._words: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._pairs: dict[Pair, list[int]] = defaultdict(list)
        for number, tool in enumerate(tools):
            for word, weight in _weights(tool, lengths).items():
                self._words[word].append((number, weight))
            for pair in {pair for field in tool.fields for pair in pairwise(field)}:
                self._pairs[pair].append(number)
        self._count = len(tools)

    def rank(self, words: Mapping[str, float], pairs: Collection[Pair] = ()) -> list[int]:
        """Return the numbers of the tools that have any of the weighted words, the best first."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in words.items():
            rarity = self._rarity(len(self._words.get(word, ())))
            for number, times in self._words.get(word, ()):
                scores[number] += weight * rarity * times * (SATURATION + 1) / (times + SATURATION)
        for pair in pairs:
            rarity = self._rarity(len(self._pairs.get(pair, ())))
            for number in self._pairs.get(pair, ()):
                if number in scores:
                    scores[number] += PAIR_WEIGHT * rarity
        for number in scores:
            scores[number] += NAME_WEIGHT * self._said_of_name(number, words)
        return sorted(scores, key=lambda number: (-scores[number], number))

    def _said_of_name(self, number: int, words: Mapping[str, float]) -> float:
        name = self._names[number]
        whole = sum(self._rarity(len(self._words[word])) for word in name)
        said = sum(words[word] * self._rarity(len(self._words[word])) for word in name if word in words)
        return said / whole if whole else 0.0

    def _rarity(self, tools: int) -> float:
        return math.log(1 + (self._count - tools + 0.5) / (tools + 0.5))


def _weights(tool: ToolWords, lengths: Sequence[float]) -> dict[str, float]:
    """Return how much each word of a tool counts, over its fields."""
    weights: dict[str, float] = {}
    for field, (weight, normalization), length in zip(tool.fields, FIELDS, lengths, strict=True):
        norm = 1 - normalization + normalization * len(field) / length
        for word, times in Counter(field).items():
            weights[word] = weights.get(word, 0.0) + weight * times / norm
    return weights
