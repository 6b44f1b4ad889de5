"""Words of alphabets: folded and stemmed, identifiers also by their parts. Pure."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache
from typing import Any, NamedTuple

from madang.text.search.english import one_form

MAX_TOKEN_CHARS = 64
MAX_IDENTIFIER_PIECES = 12
"""Of more pieces are hashes and keys, whose pieces mean nothing together."""

MAX_JOINED_PIECES = 4

_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LETTERS_AND_DIGITS = re.compile(r"([A-Za-z]+)(\d+)|(\d+)([A-Za-z]+)")
# Latin letters that are no letter with an accent.
_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
_LETTERS |= {letter.upper(): plain.capitalize() for letter, plain in _LETTERS.items()} | {"\u0131": "i"}


class WordTokens(NamedTuple):
    """The tokens of one word."""

    words: tuple[str, ...]
    weak: tuple[str, ...] = ()


def word_tokens(word: str) -> WordTokens:
    """Return a word folded and stemmed; of an identifier also its parts, and its neighbouring parts joined."""
    # Past the cache, which then takes some megabytes at most.
    return cached_tokens(word) if len(word) <= MAX_TOKEN_CHARS else _tokens(word)


def joined_token(pieces: list[str]) -> str:
    """Return the token of a word whose pieces stand between hyphens, dots or apostrophes, or none.

    `e-mail` is `email`, `U.S.A` is `USA`; but 3.14 is not 314.
    """
    if len(pieces) > MAX_JOINED_PIECES or all(piece.isdecimal() for piece in pieces):
        return ""
    return _cached_stem(folded("".join(pieces))[:MAX_TOKEN_CHARS])


def folded(word: str) -> str:
    """Return a word without case and without the accents of Latin letters."""
    word = word.casefold()
    return word if word.isascii() else without_accents(word)


def stemmed(word: str) -> str:
    """Return the token of a folded word."""
    return (_stemmer().stemWord(one_form(word)) if word.isascii() else word)[:MAX_TOKEN_CHARS]


def without_accents(word: str) -> str:
    """Return a word without the accents of its Latin letters; those of other scripts make other letters."""
    chars: list[str] = []
    is_latin = False
    for char in unicodedata.normalize("NFD", word):
        if not unicodedata.combining(char):
            char = _LETTERS.get(char, char)
            is_latin = char.isascii()
            chars.append(char)
        elif not is_latin:
            chars.append(char)
    return unicodedata.normalize("NFC", "".join(chars))


def plain_letters(text: str) -> str:
    """Return a text of the same length with its Latin letters in lower case and without accents.

    A few characters become longer in lower case: then all of them stay as they are.
    """
    lower = text.lower()
    if len(lower) != len(text):
        return text
    return lower if lower.isascii() else lower.translate(_plain_letters())


@cache
def _plain_letters() -> dict[int, str]:
    letters = {code: without_accents(chr(code)) for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))}
    return {code: letter for code, letter in letters.items() if len(letter) == 1 and letter.isascii()}


def _tokens(word: str) -> WordTokens:
    plain = word if word.isascii() else without_accents(word)
    tokens, weak = [plain.casefold()], []
    if "_" in plain or not (plain.islower() or plain.isupper() or not plain.isascii()):
        pieces = [piece.lower() for piece in _PIECES.findall(plain)]
        parts = [piece for piece in pieces if len(piece) > 1]
        if parts != tokens:
            tokens += parts
        weak = _joined_neighbours(pieces)
    elif pair := _LETTERS_AND_DIGITS.fullmatch(plain):  # GPT4, 5kg
        tokens += [part.lower() for part in pair.groups("") if len(part) > 1 or part.isdigit()]
    words = tuple(map(stemmed, tokens))
    return WordTokens(words, tuple(dict.fromkeys(token for token in map(stemmed, weak) if token not in words)))


def _joined_neighbours(pieces: list[str]) -> list[str]:
    """Return each two and three neighbours joined (`username` of `getUserName`), and all of them."""
    count = len(pieces)
    if not 2 <= count <= MAX_IDENTIFIER_PIECES:
        return []
    joined = ["".join(pieces[at : at + size]) for size in (2, 3) for at in range(count - size + 1)]
    return [*joined, "".join(pieces)]


cached_tokens = lru_cache(maxsize=20_000)(_tokens)
"""For words of at most `MAX_TOKEN_CHARS`: longer ones would take too much memory."""

_cached_stem = lru_cache(maxsize=5_000)(stemmed)
_thread_state = threading.local()


def _stemmer() -> Any:
    # A stemmer is not thread-safe: one for each thread.
    if not hasattr(_thread_state, "stemmer"):
        import Stemmer  # type: ignore[import-not-found]  # it ships no types

        _thread_state.stemmer = Stemmer.Stemmer("english")
    return _thread_state.stemmer
