"""Tokens as PostgreSQL keeps them: the lexemes of a `tsvector`."""

from __future__ import annotations

from collections.abc import Iterable

from madang.text.search.queries import Term, Tokens

# No word has a space in it: that is what words are cut at.
WEAK_PREFIX = " "
MAX_POSITION = 16_383
"""The largest that PostgreSQL stores."""

MAX_POSITIONS = 255
"""The most that it stores of one lexeme."""


def tsvector_text(tokens: Tokens) -> str:
    """Return tokens as the text of a tsvector, with their positions, because the server ranks by their number."""
    positions: dict[str, list[str]] = {}
    for position, lexeme in enumerate(_lexemes(tokens), start=1):
        positions.setdefault(lexeme, []).append(str(min(position, MAX_POSITION)))
    return " ".join(f"{quoted(lexeme)}:{','.join(at[:MAX_POSITIONS])}" for lexeme, at in positions.items())


def word_count(tokens: Tokens) -> int:
    """Return the length of a chunk: all its words, without the weak tokens."""
    return len(tokens.words)


def lexeme(term: Term) -> str:
    """Return what a term is looked up as."""
    return WEAK_PREFIX + term.text if term.is_weak else term.text


def quoted(lexeme: str) -> str:
    """Return a lexeme as it stands in the text of a tsvector or a tsquery."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _lexemes(tokens: Tokens) -> Iterable[str]:
    yield from tokens.words
    yield from (WEAK_PREFIX + token for token in tokens.weak)
