"""What a text and a query become before they meet: tokens, and terms with weights. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Tokens(NamedTuple):
    """The tokens of a text, each as often as it occurs, in no particular order.

    `weak` tokens are kept apart: they only help where words do not meet, as the parts of a compound.
    """

    words: list[str]
    weak: list[str]


class Term(NamedTuple):
    """A token that is searched for. A weak term is looked up among the weak tokens."""

    text: str
    weight: float = 1.0
    is_weak: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What a person typed: distinct terms, and the phrases that stood in quotation marks."""

    terms: tuple[Term, ...]
    phrases: tuple[str, ...] = field(default=())

    @property
    def words(self) -> list[str]:
        """The terms that are looked up among words."""
        return [term.text for term in self.terms if not term.is_weak]
