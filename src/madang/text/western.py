"""Whether bytes are surely a text of western Europe in CP1252, of which Latin-1 is a part.

A single byte is a letter in every encoding of that kind, so nothing is ever invalid: bytes are taken for CP1252 only if
all of them are where French, German, Spanish, Italian, Portuguese or Nordic texts have such letters, and several words
say so. A rule out of many that fails leaves the encoding unknown, as it was.
"""

from __future__ import annotations

import re

MAX_SEARCHED_BYTES = 64 << 10
MIN_WORDS = 6
"""Words with such a letter, at least."""
MAX_SHARE = 0.3
"""Of such letters among all letters of their lines."""

_LOWER = "àáâãäåæçèéêëíìîïñòóôõöøùúûüß"
_UPPER = "ÀÁÂÄÅÆÇÈÉÊËÍÎÑÓÔÖØÚÜ"
_SIGNS = "\xa0\xa1\xa3\xa7\xa9\xab\xae\xb0\xb4\xb7\xbb\xbf\u20ac\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u2022"
_KNOWN = re.compile(f"[\x00-\x7f{_LOWER}{_UPPER}{_SIGNS}]*")
_HIGH = f"[{_LOWER}{_UPPER}]"
_WORD = re.compile(f"[A-Za-z{_LOWER}{_UPPER}]+")
_HIGH_LETTER = re.compile(_HIGH)
_SHORT_WORDS = frozenset(("à", "è", "é", "ê", "ó", "á", "í", "ò", "ù", "å", "ö", "Å", "Ö", "À", "È", "É"))
_NOT_WESTERN = re.compile(
    f"{_HIGH}{{3}}"
    # The same bytes are other letters in the encodings of central and eastern Europe, and stand in other places there:
    # č, ď, ě, ň, ů of Czech, ę, ń of Polish, ő of Hungarian, ă of Romanian, ų of Lithuanian, ē, ģ, ņ of Latvian.
    "|õ(?!e)|ã(?![oe])|ñ(?![aeiouáéíóú])|ç(?![aouáàâãóôõúíeé])|[ìòù](?=\\w)|\\w{4}ø\\b|ê\\b|(?<!\\w)[ïì]"
    "|[bdknpstvz]è[aeou]|(?<!\\w)è[aeiouy]"
    "|[¡¿](?=\\s|$)|\\w[¡¿]|[©®](?=[^\\W\\d_])",
    re.IGNORECASE,
)
_CAPITAL_WITHIN = re.compile(f"[a-z{_LOWER}][{_UPPER}]")
_ELSEWHERE = re.compile("[áíúý]", re.IGNORECASE)
_NOT_WITH_THOSE = re.compile("[èïìòùûøæå]", re.IGNORECASE)
"""Letters of languages that have none of the others; in those that have them, Slovak and Hungarian, other letters."""
_NEEDING = ((re.compile("è"), re.compile("[àçê]")), (re.compile("[âîû]", re.IGNORECASE), re.compile("[éã]")))
"""Letters that French, Italian and Portuguese have beside others, and Slavic and Baltic languages without."""


def reads_as_western(data: bytes) -> bool:
    """Tell whether `data`, which is neither UTF-8 nor Korean, is surely CP1252."""
    lines = [line for line in data[:MAX_SEARCHED_BYTES].split(b"\n") if not line.isascii()]
    try:
        text = b"\n".join(lines).decode("cp1252")
    except UnicodeDecodeError:
        return False
    if _KNOWN.fullmatch(text) is None or _NOT_WESTERN.search(text) or _CAPITAL_WITHIN.search(text):
        return False
    if _ELSEWHERE.search(text) and _NOT_WITH_THOSE.search(text):
        return False
    if any(sign.search(text) and not beside.search(text) for sign, beside in _NEEDING):
        return False
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    high = sum(len(_HIGH_LETTER.findall(word)) for word in words)
    letters = sum(map(len, _WORD.findall(text)))
    return len(words) >= MIN_WORDS and high <= MAX_SHARE * letters and all(map(_is_likely, words))


def _is_likely(word: str) -> bool:
    return any(char.isascii() for char in word) or word in _SHORT_WORDS
