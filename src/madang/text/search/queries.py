"""What a text and a query become before they meet: tokens, and terms with weights. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

MAX_QUERY_TERMS = 128
"""Ranked by: the rarest of a query. The others would add little but time."""

MAX_RESPELLED_WORDS = 4
MAX_SPELLINGS = 4
SPELLING_WEIGHT = 0.5


class Tokens(NamedTuple):
    """The tokens of a text: words as often as they occur, weak tokens once, both in no particular order.

    Weak tokens are kept apart: they only help where words do not meet, as the parts of a compound do.
    """

    words: list[str]
    weak: list[str]


class Term(NamedTuple):
    """A token that is searched for. A weak term is looked up among the weak tokens."""

    text: str
    weight: float = 1.0
    is_weak: bool = False

    @property
    def is_full(self) -> bool:
        """Whether it is one of the words of the query, which all together are a relevance of one."""
        return not self.is_weak and self.weight >= 1


class TypedWord(NamedTuple):
    """A word as it was typed, without case, accents and particles, its own token and those that it became."""

    text: str
    token: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """What a person typed: distinct terms, the phrases that stood in quotation marks, and the words one by one."""

    terms: tuple[Term, ...]
    phrases: tuple[str, ...] = field(default=())
    typed: tuple[TypedWord, ...] = field(default=())

    @property
    def words(self) -> list[str]:
        """The words of the query, without what only helps to find them."""
        return [term.text for term in self.terms if term.is_full]

    def unknown_words(self, known: Collection[str]) -> list[TypedWord]:
        """Return the words that a store does not have, by the tokens of the query that it has, weak ones included.

        A word of which all parts are there is no misspelled one.
        """
        known = set(known)
        words = (word for word in self.typed if word.token not in known and not known.issuperset(word.parts))
        return [word for word, _ in zip(words, range(MAX_RESPELLED_WORDS), strict=False)]

    def respelled(self, spellings: Sequence[str]) -> Query:
        """Return the query with other spellings of its unknown words, which weigh less than what was typed."""
        present = {term.text for term in self.terms if term.is_full}
        added = [Term(text, SPELLING_WEIGHT) for text in dict.fromkeys(spellings) if text not in present]
        weak = [term._replace(is_weak=True) for term in added]
        replaced = {(term.text, term.is_weak) for term in (*added, *weak)}
        kept = [term for term in self.terms if (term.text, term.is_weak) not in replaced]
        return replace(self, terms=(*kept, *added, *weak))


def best_spellings(frequencies: Mapping[str, int]) -> list[str]:
    """Return the commonest of the spellings of one word that a store has."""
    return sorted((text for text, count in frequencies.items() if count), key=lambda text: (-frequencies[text], text))[
        :MAX_SPELLINGS
    ]


def rarest_terms(terms: Sequence[Term], frequencies: Mapping[Term, int]) -> list[Term]:
    """Return the terms to rank by: all, or the rarest of those that a store has, of full ones and of others alike."""
    if len(terms) <= MAX_QUERY_TERMS:
        return list(terms)
    chosen: list[Term] = []
    for is_full in (True, False):
        alike = [term for term in terms if term.is_full is is_full]
        alike.sort(key=lambda term: frequencies.get(term, 0) or 1 << 62)
        chosen += alike[:MAX_QUERY_TERMS]
    return chosen
