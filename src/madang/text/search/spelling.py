"""Words one edit away from another: what to look up in place of a word that no text has. Pure.

An edit of a Latin word leaves out, adds, replaces or swaps letters. One of a Korean word changes a single letter of a
syllable, or leaves a syllable out or swaps two: 컨텐츠 and 콘텐츠 are one edit apart. Words of two syllables are too
often a letter apart (사과, 사고): in them, only letters that sound alike are changed.
"""

from __future__ import annotations

from collections.abc import Iterator

MIN_LATIN_CHARS = 4
MIN_HANGUL_CHARS = 2
MAX_CHARS = 24
"""A longer word has more than a thousand neighbours."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FIRST_SYLLABLE, _LAST_SYLLABLE = "\uac00", "\ud7a3"
_MEDIALS, _FINALS = 21, 28
_INITIALS = 19
# By their numbers, of initials ㄱ ㄲ ㅋ, ㄷ ㄸ ㅌ, ㅂ ㅃ ㅍ, ㅅ ㅆ, ㅈ ㅉ ㅊ, and of medials ㅐ ㅔ, ㅒ ㅖ ㅔ, ㅙ ㅚ ㅞ.
_INITIALS_ALIKE = ((0, 1, 15), (3, 4, 16), (7, 8, 17), (9, 10), (12, 13, 14))
_MEDIALS_ALIKE = ((1, 5), (3, 7, 5), (10, 11, 15))


def spellings(word: str) -> list[str]:
    """Return the tokens of words one edit away from a typed one, or one edit away from its own token."""
    variants = one_edit_away(word)
    if not word.isascii():
        return variants
    from madang.text.search.latin import stemmed

    token = stemmed(word)
    return [text for text in dict.fromkeys((*map(stemmed, variants), *one_edit_away(token))) if text != token]


def one_edit_away(word: str) -> list[str]:
    """Return the words one edit away from `word`, none for a word that is too short, too long or of another script."""
    if len(word) > MAX_CHARS:
        return []
    if word.isascii() and word.isalpha() and len(word) >= MIN_LATIN_CHARS:
        variants = _latin_variants(word)
    elif len(word) >= MIN_HANGUL_CHARS and all(_FIRST_SYLLABLE <= char <= _LAST_SYLLABLE for char in word):
        variants = _hangul_variants(word)
    else:
        return []
    return list(dict.fromkeys(variant for variant in variants if variant != word))


def _latin_variants(word: str) -> Iterator[str]:
    yield from _shortened(word)
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        for letter in _LETTERS:
            yield before + letter + after
            if after:
                yield before + letter + after[1:]


def _hangul_variants(word: str) -> Iterator[str]:
    is_short = len(word) == MIN_HANGUL_CHARS
    if not is_short:
        yield from _shortened(word)
    for at, syllable in enumerate(word):
        for other in _syllables_alike(syllable) if is_short else _syllables_near(syllable):
            yield word[:at] + other + word[at + 1 :]


def _shortened(word: str) -> Iterator[str]:
    """Yield a word without each of its characters, and with each two neighbours swapped."""
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]
        if at:
            yield word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]


def _syllables_near(syllable: str) -> Iterator[str]:
    """Yield the syllables with one other letter, or with a final one more or less."""
    initial, medial, final = _letters(syllable)
    yield from (_syllable(other, medial, final) for other in range(_INITIALS))
    yield from (_syllable(initial, other, final) for other in range(_MEDIALS))
    yield from (_syllable(initial, medial, other) for other in range(_FINALS))


def _syllables_alike(syllable: str) -> Iterator[str]:
    initial, medial, final = _letters(syllable)
    for group in _INITIALS_ALIKE:
        if initial in group:
            yield from (_syllable(other, medial, final) for other in group)
    for group in _MEDIALS_ALIKE:
        if medial in group:
            yield from (_syllable(initial, other, final) for other in group)


def _letters(syllable: str) -> tuple[int, int, int]:
    rest, final = divmod(ord(syllable) - ord(_FIRST_SYLLABLE), _FINALS)
    return *divmod(rest, _MEDIALS), final


def _syllable(initial: int, medial: int, final: int) -> str:
    return chr(ord(_FIRST_SYLLABLE) + (initial * _MEDIALS + medial) * _FINALS + final)
