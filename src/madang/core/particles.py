"""Korean particles by the sound of the word before them: 책을 but 나무를, 책상으로 but 연필로.

The one home of the rule in Python; `web/src/texts/particles.ts` is its twin, held to the same table of words. How a
word of another script sounds is a guess by its spelling: right for nearly all names of files, tools and programs, never
for all of English. What has no sound at all is treated like a vowel.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import lru_cache
from typing import Final


class Ending(Enum):
    """How a word ends, as far as a particle goes by it."""

    VOWEL = "vowel"
    RIEUL = "rieul"
    """A consonant for all particles but 으로, which is 로 after it."""
    CONSONANT = "consonant"


PARTICLES: Final = {"은": "는", "이": "가", "을": "를", "과": "와", "으로": "로", "이라": "라"}
"""The form after a consonant, by which a translation names a particle, and the form after a vowel."""

_PLACEHOLDER = re.compile(rf"\{{({'|'.join(PARTICLES)})\}}")
_FINALS = 28
"""Syllables are in Unicode by their final consonant, none first: 가 각 갂 …"""
_FIRST_SYLLABLE, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_FINAL_RIEUL = 8

_CONSONANT_DIGITS, _RIEUL_DIGITS = "036", "178"
"""영 삼 육, and 일 칠 팔. The other four end in a vowel: 이 사 오 구."""
_TRILLIONS = range(12, 16)
"""Zeros of 조, 십조, 백조 and 천조. All other round numbers end in a consonant: 십, 백, 천, 만, 억, 경."""
_MAX_AMOUNT_DIGITS = 16
"""Longer numbers are no amounts, and are read digit by digit."""
_MAX_ACRONYM_LETTERS = 3
"""Longer words in capitals are read as words, if they can be: NAME, JSON."""

_UNIT = re.compile(r"\d ?(?:(m|mm|cm|km|l|ml|s|ms|[kmgt]i?b)|(px)|(g|kg|mg|h|min))$", re.IGNORECASE)
"""Units by their endings: 미터, 리터, 초, 바이트; 픽셀; 그램, 시간, 분."""
_NUMBER = re.compile(r"(\.)?(\d[\d,]*)$")
_LATIN = re.compile(r"([A-Z]+|[A-Z]?[a-z]+)$")
"""The last word of a name: `SQL` in `PostgreSQL`, `Line` in `startLine`, `file` in `read_file`."""
_REMARK = re.compile(r"(?<=[^\W_])(?P<quote>['\"`’”»」』》〉]*) ?\([^()]*\)$")
_READ_SIGNS = "%‰℃℉"
"""Signs that are spoken, all of them ending in a vowel: 퍼센트, 도씨. Others are passed over."""


def particle(name: str, before: str) -> str:
    """Return the form of a particle after the text `before`; `name` is a key of `PARTICLES`."""
    ending = ending_of(before)
    with_consonant = ending is Ending.CONSONANT or (ending is Ending.RIEUL and name != "으로")
    return name if with_consonant else PARTICLES[name]


@lru_cache(maxsize=4096)
def split_at_particles(template: str) -> tuple[str, ...]:
    """Return the parts of a template around its particles, and between them the particles that are named there."""
    return tuple(_PLACEHOLDER.split(template))


def ending_of(text: str) -> Ending:
    """Return how the last word of `text` sounds at its end. Quotes, brackets and other signs after it are silent."""
    # Only the end counts, and a text may be the body of a file.
    text = unicodedata.normalize("NFC", text[-200:])
    while (bare := _without_signs(text)) != text:
        text = bare
    if not text or text[-1] in _READ_SIGNS:
        return Ending.VOWEL
    last = ord(text[-1])
    if _FIRST_SYLLABLE <= last <= _LAST_SYLLABLE:
        final = (last - _FIRST_SYLLABLE) % _FINALS
        return Ending.VOWEL if final == 0 else Ending.RIEUL if final == _FINAL_RIEUL else Ending.CONSONANT
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return _ending_of_number(plain) or _ending_of_latin(plain) or Ending.VOWEL


def _without_signs(text: str) -> str:
    text = text.rstrip()
    if text.endswith(")"):
        # By the rules of Korean spelling a remark in brackets does not count: 계획(plan)을.
        text = _REMARK.sub(r"\g<quote>", text)
    return text if not text or text[-1].isalnum() or text[-1] in _READ_SIGNS else text[:-1]


def _ending_of_number(text: str) -> Ending | None:
    number = _NUMBER.search(text)
    if number is None:
        return None
    digits = number[2].replace(",", "")
    zeros = len(digits) - len(digits.rstrip("0"))
    is_amount = number[1] is None and len(digits) <= _MAX_AMOUNT_DIGITS
    if is_amount and zeros in _TRILLIONS and zeros < len(digits):
        return Ending.VOWEL
    return _by_sign(digits[-1], rieul=_RIEUL_DIGITS, consonant=_CONSONANT_DIGITS)


def _ending_of_latin(text: str) -> Ending | None:
    if unit := _UNIT.search(text):
        return (Ending.VOWEL, Ending.RIEUL, Ending.CONSONANT)[(unit.lastindex or 1) - 1]
    word = _LATIN.search(text)
    if word is None:
        return None
    is_spelt = text[: word.start()][-1:].isdigit() or _is_spelt(word[1])
    # The names of letters: 엘 and 알, 엠 and 엔. All others end in a vowel.
    return _by_sign(word[1][-1].lower(), rieul="lr", consonant="mn") if is_spelt else _ending_of_word(word[1].lower())


def _is_spelt(word: str) -> bool:
    """Whether a word is read letter by letter, as PDF, html and the end of an id are."""
    is_acronym = word.isupper() and len(word) <= _MAX_ACRONYM_LETTERS
    return is_acronym or not re.search("[aeiouy]", word.lower())


def _by_sign(sign: str, *, rieul: str, consonant: str) -> Ending:
    return Ending.RIEUL if sign in rieul else Ending.CONSONANT if sign in consonant else Ending.VOWEL


def _ending_of_word(word: str) -> Ending:
    """Return the ending of an English word as it is usually written in Korean.

    l is ㄹ (email, file, table); m, n and ng are consonants, also before a silent e (name, line). b, c, k, p and t are
    one after a short vowel, that is a single one (web, music, chat, zip), or after oo as k (book) or with c as ck
    (Slack), and in type; elsewhere they get a vowel of their own (client, week), as all other letters do (server, log).
    """
    if re.search("le?$", word):
        return Ending.RIEUL
    consonant = "[mn]$|ng$|[aeiou][mn]e$|ck$|ook$|ype$|(?:^|[^aeiou])(?:[aeiou](?:[ckt]|pp?)|[aeio]b)$"
    return Ending.CONSONANT if re.search(consonant, word) else Ending.VOWEL
