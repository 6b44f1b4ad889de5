"""Where the words of a query stand in a text that was found by them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from madang.text.search import latin
from madang.text.search.queries import Query
from madang.text.search.spelling import spellings
from madang.text.search.tokens import JOINERS, WEAK_WEIGHT, normalized, runs

MIN_PREFIX_CHARS = 3


class Highlights:
    """The strings of a query to look for in texts, all in lower case and without accents."""

    def __init__(self, query: Query, text: str) -> None:
        self._query = query
        terms = [term.text for term in query.terms if not term.is_weak and term.weight >= WEAK_WEIGHT]
        self.strings = highlight_terms(terms, text)

    def respelled_in(self, text: str) -> list[str]:
        """Return the words of a text that are spelled almost like one of the query."""
        words = {match.group().lower() for match in runs().finditer(normalized(text)) if match.lastgroup == "word"}
        latin_words = [word for word in words if latin.stemmed(latin.folded(word)) in self._spellings]
        return latin_words + [token for token in self._spellings if not token.isascii() and token in text]

    @cached_property
    def _spellings(self) -> dict[str, None]:
        return dict.fromkeys(token for word in self._query.typed for token in spellings(word.text))


def highlight_terms(terms: Iterable[str], query: str) -> list[str]:
    """Return the strings to look for in a text to see where `terms` of a query stand in it.

    A term is a stem that the text may not hold (`happi`); these are how the query's words begin (`happ`).
    """
    wanted = dict.fromkeys(terms)
    strings = dict.fromkeys(term for term in wanted if not term.isascii())
    for run in runs().finditer(normalized(query)):
        if run.lastgroup == "word":
            for word in JOINERS.split(run.group()):
                for token in latin.word_tokens(word).words:
                    if token in wanted:
                        prefix = _common_prefix(latin.folded(word), token)
                        strings[prefix if len(prefix) >= MIN_PREFIX_CHARS else token] = None
                        del wanted[token]
    return [*strings, *(term for term in wanted if term.isascii())]


def _common_prefix(word: str, token: str) -> str:
    """Return how a word and its token both begin, or the token: then it is a part from the middle of the word."""
    length = 0
    for one, other in zip(word, token, strict=False):
        if one != other:
            break
        length += 1
    return word[:length] or token
