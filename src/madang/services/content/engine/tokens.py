"""The words by which texts are found: the same for what is kept and for what is asked. Pure, but for the dictionary.

Latin and other words are folded and stemmed (English), identifiers also taken apart; Korean is cut into morphemes, of
which the ones that carry meaning stay; Chinese and Japanese become pairs of characters, and so do Korean words that the
dictionary does not know, or all where it cannot be loaded. Wide, narrow and joined forms of a character are one. A
change of what comes out needs a new `VERSION`: indexes are then made anew.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

VERSION = 2
MAX_TOKEN_CHARS = 64
MAX_QUERY_TERMS = 128
KOREAN_PACKAGE = "lindera-python-ko-dic"

_HANGUL = "\uac00-\ud7a3"
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAS_HANGUL = re.compile(f"[{_HANGUL}]")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LETTERS_AND_DIGITS = re.compile(r"([A-Za-z]+)(\d+)|(\d+)([A-Za-z]+)")
# Nouns, numerals, pronouns, verbs, adjectives, roots, adverbs and calls carry meaning; particles and endings do not.
_MEANING = ("NN", "NR", "NP", "VV", "VA", "XR", "MAG", "IC")
_UNKNOWN = "UNKNOWN"
# Words that hold a question together and say nothing of what it is about.
_STOP_WORDS = (
    "a an and are as at be been but by could did do does for from had has have how if in into is it its not of on or "
    "should so such than that the their them then there these they this those to was were what when where which "
    "who whom whose why with would"
)


class Tokenizer:
    """Makes tokens. The Korean dictionary (0.6 s, 220 MiB) is loaded with the first Hangul, once for all threads."""

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._korean: Any = None
        self._is_loadable = True

    @property
    def name(self) -> str:
        """What makes these tokens; tokens of another name do not match them."""
        found = _package_version(KOREAN_PACKAGE) if self._is_loadable else ""
        korean = f"lindera-ko-dic-{found}" if found else "bigrams"
        return f"{korean}+snowball-english/{VERSION}"

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of `text`, in no particular order, as often as they occur."""
        text = _composed(text)
        found: list[str] = []
        has_hangul = False
        for run in _runs().finditer(text):
            if run.lastgroup == "word":
                found += _word(run.group())
            elif run.lastgroup == "cjk":
                found += _pairs(run.group())
            else:
                has_hangul = True
        if has_hangul:
            found += self._korean_tokens(text)
        return found

    def terms(self, query: str) -> list[str]:
        """Return the distinct tokens of a query, as many as are looked for; stop words only if there are no others."""
        found = self.tokens(_stop_words().sub(" ", query)) or self.tokens(query)
        return list(dict.fromkeys(found))[:MAX_QUERY_TERMS]

    def _korean_tokens(self, text: str) -> Iterator[str]:
        analyser = self._analyser()
        for line in text.split("\n"):
            if not _HAS_HANGUL.search(line):
                continue
            if analyser is None:
                for run in _runs().finditer(line):
                    if run.lastgroup == "hangul":
                        yield from _pairs(run.group())
                continue
            for morpheme in analyser.tokenize(line):
                yield from _meanings(morpheme)

    def _analyser(self) -> Any:
        if self._korean is None and self._is_loadable:
            with self._loading:
                if self._korean is None and self._is_loadable:
                    self._load()
        return self._korean

    def _load(self) -> None:
        if not _package_version(KOREAN_PACKAGE):
            self._is_loadable = False
            return
        try:
            import lindera  # type: ignore[import-untyped]  # it ships no types

            builder = lindera.TokenizerBuilder()
            builder.set_mode("decompose")
            builder.set_dictionary("embedded://ko-dic")
            self._korean = builder.build()
        except (ImportError, OSError, ValueError, RuntimeError):
            self._is_loadable = False  # from now on it is pairs, and the name says so


@cache
def _package_version(name: str) -> str:
    # Imported here: it costs more than all the rest of this module, and most sessions never search.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


@cache
def _stop_words() -> re.Pattern[str]:
    # In small letters or with a first capital: IT and WHO are names.
    words = (f"[{word[0].upper()}{word[0]}]{word[1:]}" if len(word) > 1 else word for word in _STOP_WORDS.split())
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


@cache
def _runs() -> re.Pattern[str]:
    # Not at import: it takes milliseconds, and most sessions never search.
    return re.compile(rf"(?P<hangul>[{_HANGUL}]+)|(?P<cjk>[{_CJK}]+)|(?P<word>[^\W{_HANGUL}{_CJK}]+)")


def has_words(text: str) -> bool:
    """Tell whether there is anything in `text` that could be searched for."""
    return _runs().search(text) is not None


def needles(terms: list[str], query: str) -> list[str]:
    """Return what to look for in a text to see where `terms` stand in it: in lower case, and without endings."""
    found, wanted = dict.fromkeys(term for term in terms if not term.isascii()), set(terms)
    for run in _runs().finditer(_composed(query)):
        if run.lastgroup == "word":
            word = run.group().casefold()
            for token in wanted.intersection(_word(run.group())):
                beginning = _shared(word, token)
                found[beginning if len(beginning) >= 3 else token] = None
    return list(found)


def _shared(word: str, token: str) -> str:
    """Return how a word and its token both begin; a token that begins otherwise is a part of the word."""
    length = 0
    for one, other in zip(word, token, strict=False):
        if one != other:
            break
        length += 1
    return word[:length] or token


def _composed(text: str) -> str:
    # macOS names and some PDFs hold Hangul in parts, which no dictionary knows; and Asian
    # texts hold letters and figures in wide forms, and units in one sign.
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _meanings(morpheme: Any) -> list[str]:
    """Return a morpheme if it carries meaning; of an inflected one its stem, so that 열렸다 is found by 열리다.

    Its details are the dictionary's: the tags, then fifth the kind and eighth the parts, as 열리/VV/*+었/EP/*. They are
    asked for one by one, because most morphemes are done with after the first.
    """
    tag = morpheme.get_detail(0) or ""
    if not tag.startswith(_MEANING) and tag != _UNKNOWN:
        return []
    surface = morpheme.surface
    if not _HAS_HANGUL.match(surface):
        return []
    if tag == _UNKNOWN:
        return _pairs(surface) if len(surface) > 1 else []
    if morpheme.get_detail(4) == "Inflect":
        parts = [part.split("/") for part in (morpheme.get_detail(7) or "").split("+")]
        stems = [part[0] for part in parts if len(part) > 1 and part[1].startswith(_MEANING)]
        if stems:
            return stems
    return [surface[:MAX_TOKEN_CHARS]]


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(maxsize=20_000)
def _word(word: str) -> tuple[str, ...]:
    """Return a word folded and stemmed; of an identifier also its parts."""
    found = [word.casefold()]
    if "_" in word or not (word.islower() or word.isupper() or not word.isascii()):
        parts = [part.lower() for part in _PARTS.findall(word) if len(part) > 1]
        if parts != found:
            found += parts
    elif pair := _LETTERS_AND_DIGITS.fullmatch(word):  # GPT4, 5kg
        found += [part.lower() for part in pair.groups("") if len(part) > 1 or part.isdigit()]
    stem = _stemmer().stemWord
    return tuple((stem(token) if token.isascii() else token)[:MAX_TOKEN_CHARS] for token in found)


_of_thread = threading.local()


def _stemmer() -> Any:
    # A stemmer keeps state while it works: one for each thread.
    if not hasattr(_of_thread, "stemmer"):
        import Stemmer  # type: ignore[import-not-found]  # it ships no types

        _of_thread.stemmer = Stemmer.Stemmer("english")
    return _of_thread.stemmer
