"""Tokenizing texts and queries alike. Pure, except for loading the Korean dictionary.

Words are folded and stemmed (`latin`), numbers and dates also kept in one form (`figures`), Korean is cut into
morphemes (`korean`) or, where its dictionary cannot be loaded, into bigrams, as scripts without spaces are; an emoji is
itself. Characters are normalised (NFKC). Different output needs a new `TOKENIZER_VERSION`: indexes of another version
are rebuilt.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from madang.text.search.queries import Query, Term, Tokens, TypedWord

if TYPE_CHECKING:
    from madang.text.search.korean import KoreanAnalyzer

TOKENIZER_VERSION = 5
MAX_QUERY_TOKENS = 1_000
"""More than a query can have; which of them are ranked by depends on the store."""
MAX_PHRASES = 8
KOREAN_PACKAGE = "lindera-python-ko-dic"

REPEAT_POWER = 0.7
"""A word that a query says twice weighs more than one that it says once, but not twice as much."""
WEAK_WEIGHT, FRAGMENT_WEIGHT = 0.4, 0.1
"""Of a word among weak tokens; of what may be a part of a word, wherever it is looked up."""

_HANGUL = "\uac00-\ud7a3"
_HAS_HANGUL = re.compile(f"[{_HANGUL}]")
# Chinese and Japanese; Thai, Lao, Burmese and Khmer with the vowels and tones that are marks, without their figures.
_UNSPACED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
)
# Without the colours of skin, which stand behind the emoji that they change.
_EMOJI = "\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
JOINERS = re.compile("[-\u2010\u2011.'\u2019]")
# Function words of English questions.
_STOP_WORDS = (
    "a an and are as at be been but by could did do does for from had has have how if in into is it its not of on or "
    "should so such than that the their them then there these they this those to was were what when where which "
    "who whom whose why with would"
)


class Tokenizer:
    """Splits texts into tokens. The first Hangul loads the Korean dictionary (0.6 s, 220 MiB), once for all threads."""

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._korean: KoreanAnalyzer | None = None
        self._is_loadable = True

    @property
    def name(self) -> str:
        """Dictionary, stemmer and version; tokens made under another name do not match these."""
        version = _package_version(KOREAN_PACKAGE) if self._is_loadable else ""
        korean = f"lindera-ko-dic-{version}" if version else "bigrams"
        return f"{korean}+snowball-english/{TOKENIZER_VERSION}"

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of `text`."""
        text = normalized(text)
        parsed = self._parse(text, is_query=False)
        words = set(parsed.words)
        return Tokens(parsed.words, [token for token in parsed.weak if token not in words])

    def query(self, text: str) -> Query:
        """Return what to search for; stop words only if there are no others, and Korean particles alone are nothing."""
        text = normalized(text)
        if _has_particles_alone(text):
            return Query(())
        parsed = self._parse(_stop_words().sub(" ", text), is_query=True)
        if not parsed.words and not parsed.weak:
            parsed = self._parse(text, is_query=True)
        return Query(tuple(_terms(parsed)), tuple(_phrases(text)), tuple(parsed.typed))

    def _parse(self, text: str, *, is_query: bool) -> _Parsed:
        # On use: most sessions never search.
        from madang.text.search.figures import figure_tokens
        from madang.text.search.korean import bigrams
        from madang.text.search.latin import MAX_TOKEN_CHARS, cached_tokens

        parsed = _Parsed([], {}, [])
        tokens = parsed.words
        has_hangul = False
        for run in runs().finditer(text):
            group = run.lastgroup
            if group == "word":
                word = run.group()
                if is_query or len(word) > MAX_TOKEN_CHARS or not word.isalnum():
                    _add_word(parsed, word)
                else:  # nearly all words of a text, and nearly all of the time that it takes
                    words, weak = cached_tokens(word)
                    tokens += words
                    if weak:
                        parsed.add_weak(weak, WEAK_WEIGHT)
            elif group == "hangul":
                has_hangul = True
            elif group == "emoji":
                tokens.append(run.group())
            else:
                pairs = bigrams(run.group())
                tokens += pairs
                if not is_query and len(pairs[0]) > 1:
                    parsed.add_weak(run.group(), WEAK_WEIGHT)  # one sign alone finds it
        tokens += figure_tokens(text)
        if has_hangul:
            self._add_korean(parsed, text, is_query=is_query)
        return parsed

    def _add_korean(self, parsed: _Parsed, text: str, *, is_query: bool) -> None:
        analyzer = self._analyzer()
        if analyzer is None:
            from madang.text.search.korean import bigrams

            for match in runs().finditer(text):
                if match.lastgroup == "hangul":
                    parsed.words.extend(bigrams(match.group()))
            return
        for run in analyzer.runs(text, is_query=is_query):
            parsed.words.extend(run.words)
            parsed.add_weak([noun for noun in (run.noun,) if noun and noun not in run.words], WEAK_WEIGHT)
            parsed.add_weak(run.stems, WEAK_WEIGHT)
            parsed.add_weak(run.fragments, FRAGMENT_WEIGHT)
            if is_query:
                if run.text not in run.words:
                    parsed.add_weak([run.text], WEAK_WEIGHT)
                if run.noun:
                    parsed.typed.append(TypedWord(run.noun, run.noun, tuple(run.words)))

    def _analyzer(self) -> KoreanAnalyzer | None:
        if self._korean is None and self._is_loadable:
            with self._loading:
                if self._korean is None and self._is_loadable:
                    self._load()
        return self._korean

    def _load(self) -> None:
        if not _package_version(KOREAN_PACKAGE):
            self._is_loadable = False
            return
        from madang.text.search.korean import KoreanAnalyzer

        try:
            self._korean = KoreanAnalyzer()
        except (ImportError, OSError, ValueError, RuntimeError):
            self._is_loadable = False  # bigrams from now on, and `name` says so


class _Parsed(NamedTuple):
    """The tokens of a text: words, weak ones with the weight they have in a query, and the words as they were typed."""

    words: list[str]
    weak: dict[str, float]
    typed: list[TypedWord]

    def add_weak(self, tokens: Iterable[str], weight: float) -> None:
        for token in tokens:
            self.weak[token] = max(weight, self.weak.get(token, 0.0))


def _add_word(parsed: _Parsed, word: str) -> None:
    """Add a word, or several between which only hyphens, dots or apostrophes stand."""
    from madang.text.search import latin

    pieces = JOINERS.split(word)
    for piece in pieces:
        tokens = latin.word_tokens(piece)
        parsed.words.extend(tokens.words)
        parsed.add_weak(tokens.weak, WEAK_WEIGHT)
        parsed.typed.append(TypedWord(latin.folded(piece), tokens.words[0], tokens.words))
    if len(pieces) > 1 and (joined := latin.joined_token(pieces)):
        parsed.add_weak([joined], WEAK_WEIGHT)


def _terms(parsed: _Parsed) -> Iterable[Term]:
    """Yield the words of a query, each also as a weak term, and its weak tokens, each also as a word."""
    counts = dict(Counter(parsed.words).most_common(MAX_QUERY_TOKENS))
    for text, count in counts.items():
        weight = count**REPEAT_POWER
        yield Term(text, weight)
        yield Term(text, WEAK_WEIGHT * weight, is_weak=True)
    for text, weight in list(parsed.weak.items())[:MAX_QUERY_TOKENS]:
        if text not in counts:
            yield Term(text, weight)
            yield Term(text, weight, is_weak=True)


def _phrases(text: str) -> Iterable[str]:
    """Yield what stands between quotation marks."""
    for match in list(_quoted().finditer(text))[:MAX_PHRASES]:
        phrase = next(group for group in match.groups() if group is not None)
        if has_words(phrase):
            yield phrase_form(phrase)


def phrase_form(text: str) -> str:
    """Return a text as it is compared with phrases: without case, and with single blanks."""
    return " ".join(normalized(text).casefold().split())


@cache
def _package_version(name: str) -> str:
    # Imported here: it costs more than all the rest of this module, and most sessions never search.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


# The patterns are not made at import: it takes milliseconds, and most sessions never search.
@cache
def _stop_words() -> re.Pattern[str]:
    # In lower case or with a first capital: IT and WHO are names.
    words = (f"[{word[0].upper()}{word[0]}]{word[1:]}" if len(word) > 1 else word for word in _STOP_WORDS.split())
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


@cache
def runs() -> re.Pattern[str]:
    """Return the pattern of runs of one script, and of words with hyphens, dots and apostrophes in them."""
    word = rf"[^\W{_HANGUL}{_UNSPACED}]+"
    joiner = JOINERS.pattern
    return re.compile(
        rf"(?P<hangul>[{_HANGUL}]+)|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{word}(?:{joiner}{word})*)|(?P<emoji>[{_EMOJI}])"
    )


@cache
def _quoted() -> re.Pattern[str]:
    return re.compile(r'"([^"]+)"|\u201c([^\u201d]+)\u201d|\u300c([^\u300d]+)\u300d|\u00ab([^\u00bb]+)\u00bb')


def has_words(text: str) -> bool:
    """Tell whether `text` has anything that can be searched for."""
    return runs().search(text) is not None


def _has_particles_alone(text: str) -> bool:
    """Tell whether `text` is Korean particles, which every text has; a single syllable may be a noun: 은 is silver."""
    words = text.split()
    if not words or not _HAS_HANGUL.search(text):
        return False
    from madang.text.search.korean import is_particle

    return (len(words) > 1 or len(words[0]) > 1) and all(map(is_particle, words))


def normalized(text: str) -> str:
    """Return a text in the characters that tokens are made of."""
    # macOS file names and some PDFs have decomposed Hangul, which no dictionary has; Asian texts have full-width
    # letters and figures, and units as one character.
    return text if text.isascii() else unicodedata.normalize("NFKC", text)
