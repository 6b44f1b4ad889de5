"""Whether bytes are Korean in CP949, or another encoding's text that happens to be valid CP949.

Nearly every pair of high bytes is a syllable or a Chinese character in CP949, so a Chinese, Japanese or French file
decodes without an error, as nonsense. Each encoding that the bytes are valid in gets the likelihood of the text that
they are there, from how frequent its characters are; CP949 has to be the most likely one. A single word can be good
text in two encodings: CP949 then has the advantage of `_PRIOR`, because Madang's users write Korean.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Mapping
from functools import cache

from madang.text.frequencies import HANJA, JAPANESE, KOREAN, SIMPLIFIED_CHINESE, TRADITIONAL_CHINESE

MAX_SEARCHED_BYTES = 64 << 10
MAX_EVIDENCE_BYTES = 1_024

Weigh = Callable[[str], float]
"""The logarithm of a character's probability in one language."""

_PRIOR = 2.0
_MIN_MEAN = -10.75
"""Below this mean logarithm a text is not Korean, even if no other encoding is more likely."""
_ASCII = -3.0
_UNLIKELY = -12.5
_PUNCTUATION = frozenset(
    "·“”\u2018\u2019…、。\uff0c\uff1b\uff1a\uff1f\uff01\uff08\uff09「」『』《》〈〉【】\u3000•\u2013—\uff5e〜・"
)
_LATIN_SIGNS = _PUNCTUATION | frozenset("«»°§©®€£№\xa0")
_KOREAN_SIGNS = frozenset("→★☆○●◎◇◆□■△▲▽▼※℃㎞㎏㎝㈜①②③④⑤×÷±")
_JAMO_OF_CHATS = frozenset("ㅋㅎㅠㅜㅇㄱㄴㄷㅡ")
_SINGLE_BYTE_CODECS = ("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "iso8859_11")


def reads_as_korean(data: bytes, *, is_whole: bool) -> bool:
    """Tell whether `data`, which is not UTF-8, is more likely Korean in CP949 than text in any other encoding."""
    evidence, is_whole = _evidence(data, is_whole)
    text = _decoded(evidence, "cp949", is_whole)
    if text is None:
        return False
    likelihood = _likelihood(text, _weigh_korean)
    if likelihood < _ASCII * sum(char < "\x80" for char in text) + _MIN_MEAN * sum(char >= "\x80" for char in text):
        return False
    for codec, weigh in _rivals():
        rival = _decoded(evidence, codec, is_whole)
        if rival is not None and _likelihood(rival, weigh) > likelihood + _PRIOR:
            return False
    return True


def _evidence(data: bytes, is_whole: bool) -> tuple[bytes, bool]:
    """Return the first lines beyond ASCII, and whether they end where a character does."""
    is_whole = is_whole and len(data) <= MAX_SEARCHED_BYTES
    # A line feed is no part of a character in any of these encodings.
    lines = b"\n".join(line for line in data[:MAX_SEARCHED_BYTES].split(b"\n") if not line.isascii())
    return lines[:MAX_EVIDENCE_BYTES], is_whole and len(lines) <= MAX_EVIDENCE_BYTES


def _decoded(data: bytes, codec: str, is_whole: bool) -> str | None:
    errors = "replace" if codec == "utf-8" else "strict"
    try:
        return codecs.getincrementaldecoder(codec)(errors).decode(data, is_whole)
    except UnicodeDecodeError:
        return None


def _likelihood(text: str, weigh: Weigh) -> float:
    return sum(_ASCII if char < "\x80" else weigh(char) for char in text)


@cache
def _rivals() -> tuple[tuple[str, Weigh], ...]:
    return (
        ("utf-8", _weigh_damaged),
        ("gb18030", _weigher(_weights(SIMPLIFIED_CHINESE, 0.88), "gb2312")),
        ("big5", _weigher(_weights(TRADITIONAL_CHINESE, 0.88), "big5")),
        ("euc_jp", _weigher(_weights(JAPANESE, 0.85, 20), "shift_jis")),
        ("cp932", _weigher(_weights(JAPANESE, 0.85, 20), "shift_jis")),
        *((codec, _weigh_letter) for codec in _SINGLE_BYTE_CODECS),
    )


def _weights(characters: str, share: float, shift: float = 8) -> dict[str, float]:
    """Return logarithms of probabilities that fall with the rank (Zipf, Mandelbrot) and add up to `share`."""
    total = sum(1 / (rank + shift) for rank in range(1, len(characters) + 1))
    return {char: math.log(share / (rank + shift) / total) for rank, char in enumerate(characters, 1)}


@cache
def _korean_weights() -> Mapping[str, float]:
    return {
        **dict.fromkeys(HANJA, -8.5),
        **dict.fromkeys(_KOREAN_SIGNS, -10.0),
        **dict.fromkeys(_PUNCTUATION, -6.0),
        **dict.fromkeys(_JAMO_OF_CHATS, -6.0),
        **_weights(KOREAN, 0.93),
    }


def _weigh_korean(char: str) -> float:
    weight = _korean_weights().get(char)
    if weight is not None:
        return weight
    if "가" <= char <= "힣":
        # The 2,350 syllables of KS X 1001 are those in use; the others are spelled out of need or for fun.
        return -10.0 if char.encode("cp949")[1] >= 0xA1 and char.encode("cp949")[0] >= 0xB0 else -11.5
    if "ㄱ" <= char <= "ㅣ":
        return -7.5
    return -11.0 if _is_ideograph(char) else _UNLIKELY


def _weigh_damaged(char: str) -> float:
    """Weigh characters of UTF-8 with errors in it: a few bad bytes in a Korean text do not make it CP949."""
    if char == "\N{REPLACEMENT CHARACTER}":
        return _UNLIKELY
    return _weigh_korean(char) if "가" <= char <= "힣" else _weigh_letter(char)


def _weigher(weights: Mapping[str, float], standard: str) -> Weigh:
    """Return what weighs characters of Chinese or Japanese; those in the first part of a `standard` are in use."""
    levels = {"gb2312": 0xD7, "big5": 0xC6, "shift_jis": 0x97}

    def weigh(char: str) -> float:
        weight = weights.get(char)
        if weight is not None:
            return weight
        if char in _PUNCTUATION:
            return -5.0
        if "\uff61" <= char <= "\uff9f":  # half-width katakana
            return -8.5
        if "\u3041" <= char <= "\u30fe":
            return -7.0
        if not _is_ideograph(char):
            return _UNLIKELY
        try:
            return -9.6 if char.encode(standard)[0] <= levels[standard] else -11.5
        except UnicodeEncodeError:
            return -14.0

    return weigh


def _weigh_letter(char: str) -> float:
    """Weigh what a single byte is in a European, Semitic or Thai encoding."""
    if char in _LATIN_SIGNS:
        return -5.5
    if char.isalpha() or "\u0e30" <= char <= "\u0e4e":  # Thai vowels and tone marks
        return -6.0 if char.isupper() else -4.0
    return -10.0


def _is_ideograph(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff"
