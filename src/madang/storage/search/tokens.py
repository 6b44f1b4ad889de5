"""Tokenizing texts and queries alike. Pure, except for loading the Korean dictionary.

Words are case-folded and stemmed (English), identifiers also split into their parts; Korean is cut into morphemes, of
which those with a meaning stay; Chinese and Japanese become bigrams, as do Korean words that the dictionary does not
have, or all of them where it cannot be loaded. Characters are normalised (NFKC). Different output needs a new
`TOKENIZER_VERSION`: indexes of another version are rebuilt.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from madang.storage.search.queries import Query, Term, Tokens

TOKENIZER_VERSION = 3
MAX_TOKEN_CHARS = 64
MAX_QUERY_TERMS = 128
MAX_ANALYZED_CHARS = 5_000
"""Of one line: the analyzer keeps every way to read a line until its end, 1.6 KB for each character. No chunk of a
content has such a line, so that this changes no index."""
KOREAN_PACKAGE = "lindera-python-ko-dic"
KOREAN_ROWS = Path(__file__).with_name("korean.csv")
"""Rows that the dictionary of the package lacks, in its own form. It has lost the subject particle 이, without which
시간이 is cut into 시 and 간이."""

_HANGUL = "\uac00-\ud7a3"
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAS_HANGUL = re.compile(f"[{_HANGUL}]")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LETTERS_AND_DIGITS = re.compile(r"([A-Za-z]+)(\d+)|(\d+)([A-Za-z]+)")
# Tags of nouns, numerals, pronouns, verbs, adjectives, roots, adverbs and interjections; particles and endings are not
# searched for.
_MEANINGFUL_TAGS = ("NN", "NR", "NP", "VV", "VA", "XR", "MAG", "IC")
_UNKNOWN_TAG = "UNKNOWN"
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
        self._korean: Any = None
        self._is_loadable = True

    @property
    def name(self) -> str:
        """Dictionary, stemmer and version; tokens made under another name do not match these."""
        version = _package_version(KOREAN_PACKAGE) if self._is_loadable else ""
        korean = f"lindera-ko-dic-{version}" if version else "bigrams"
        return f"{korean}+snowball-english/{TOKENIZER_VERSION}"

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of `text`."""
        return Tokens(self._words(text), [])

    def query(self, text: str) -> Query:
        """Return the distinct terms of a query, at most `MAX_QUERY_TERMS`; stop words only if there are no others."""
        words = self._words(_stop_words().sub(" ", text)) or self._words(text)
        return Query(tuple(map(Term, list(dict.fromkeys(words))[:MAX_QUERY_TERMS])))

    def _words(self, text: str) -> list[str]:
        text = _normalized(text)
        tokens: list[str] = []
        has_hangul = False
        for run in _runs().finditer(text):
            if run.lastgroup == "word":
                word = run.group()
                tokens += _word_tokens(word) if len(word) <= MAX_TOKEN_CHARS else _word_tokens.__wrapped__(word)
            elif run.lastgroup == "cjk":
                tokens += _bigrams(run.group())
            else:
                has_hangul = True
        if has_hangul:
            tokens += self._korean_tokens(text)
        return tokens

    def _korean_tokens(self, text: str) -> Iterator[str]:
        analyzer = self._analyzer()
        for line in text.split("\n"):
            if not _HAS_HANGUL.search(line):
                continue
            if analyzer is None:
                for run in _runs().finditer(line):
                    if run.lastgroup == "hangul":
                        yield from _bigrams(run.group())
                continue
            for piece in _pieces(line):
                for morpheme in analyzer.tokenize(piece):
                    yield from _morpheme_tokens(morpheme)

    def _analyzer(self) -> Any:
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

            dictionary = lindera.load_dictionary("embedded://ko-dic")
            rows = lindera.load_user_dictionary(str(KOREAN_ROWS), _dictionary_format(lindera))
            self._korean = lindera.Tokenizer(dictionary, "decompose", rows)
        except (ImportError, OSError, ValueError, RuntimeError):
            self._is_loadable = False  # bigrams from now on, and `name` says so


@cache
def _package_version(name: str) -> str:
    # Imported here: it costs more than all the rest of this module, and most sessions never search.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _dictionary_format(lindera: Any) -> Any:
    """Return what the columns of `KOREAN_ROWS` are: those of the dictionary, not the three of a simple user's one."""
    columns = "surface left_context_id right_context_id cost tag semantic final reading kind first last expression"
    return lindera.Metadata(
        dictionary_schema=lindera.Schema(columns.split()),
        user_dictionary_schema=lindera.Schema(["surface", "tag", "reading"]),
        flexible_csv=True,
    )


@cache
def _stop_words() -> re.Pattern[str]:
    # In lower case or with a first capital: IT and WHO are names.
    words = (f"[{word[0].upper()}{word[0]}]{word[1:]}" if len(word) > 1 else word for word in _STOP_WORDS.split())
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


@cache
def _runs() -> re.Pattern[str]:
    # Not at import: it takes milliseconds, and most sessions never search.
    return re.compile(rf"(?P<hangul>[{_HANGUL}]+)|(?P<cjk>[{_CJK}]+)|(?P<word>[^\W{_HANGUL}{_CJK}]+)")


def has_words(text: str) -> bool:
    """Tell whether `text` has anything that can be searched for."""
    return _runs().search(text) is not None


def highlight_terms(terms: list[str], query: str) -> list[str]:
    """Return the lower-case strings to look for in a text to see where `terms` of a query stand in it.

    A term is a stem that the text may not hold (`happi`); these are how the query's words begin (`happ`).
    """
    strings, wanted = dict.fromkeys(term for term in terms if not term.isascii()), set(terms)
    for run in _runs().finditer(_normalized(query)):
        if run.lastgroup == "word":
            word = run.group().casefold()
            for token in wanted.intersection(_word_tokens(run.group())):
                prefix = _common_prefix(word, token)
                strings[prefix if len(prefix) >= 3 else token] = None
    return list(strings)


def _common_prefix(word: str, token: str) -> str:
    """Return how a word and its token both begin, or the token: then it is a part from the middle of the word."""
    length = 0
    for one, other in zip(word, token, strict=False):
        if one != other:
            break
        length += 1
    return word[:length] or token


def _pieces(line: str) -> Iterator[str]:
    """Yield a line in pieces that the analyzer can take, broken between words where there are any."""
    start = 0
    while len(line) - start > MAX_ANALYZED_CHARS:
        end = line.rfind(" ", start + 1, start + MAX_ANALYZED_CHARS)
        end = end if end > start else start + MAX_ANALYZED_CHARS
        yield line[start:end]
        start = end
    yield line[start:]


def _normalized(text: str) -> str:
    # macOS file names and some PDFs have decomposed Hangul, which no dictionary has; Asian texts have full-width
    # letters and figures, and units as one character.
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _morpheme_tokens(morpheme: Any) -> list[str]:
    """Return the tokens of a morpheme with a meaning; of an inflected one its stem, so that 열렸다 is found by 열리다.

    Its details are the dictionary's: the tag, then fifth the kind and eighth the parts, as 열리/VV/*+었/EP/*. Each is
    fetched only when needed, because the tag alone rules out most morphemes.
    """
    tag = morpheme.get_detail(0) or ""
    if not tag.startswith(_MEANINGFUL_TAGS) and tag != _UNKNOWN_TAG:
        return []
    surface = morpheme.surface
    if not _HAS_HANGUL.match(surface):
        return []
    if tag == _UNKNOWN_TAG:
        return _bigrams(surface) if len(surface) > 1 else []
    if morpheme.get_detail(4) == "Inflect":
        parts = [part.split("/") for part in (morpheme.get_detail(7) or "").split("+")]
        stems = [part[0] for part in parts if len(part) > 1 and part[1].startswith(_MEANINGFUL_TAGS)]
        if stems:
            return stems
    return [surface[:MAX_TOKEN_CHARS]]


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


# Some megabytes at most: `tokens` asks for longer words past the cache.
@lru_cache(maxsize=20_000)
def _word_tokens(word: str) -> tuple[str, ...]:
    """Return a word case-folded and stemmed; of an identifier also its parts."""
    tokens = [word.casefold()]
    if "_" in word or not (word.islower() or word.isupper() or not word.isascii()):
        parts = [part.lower() for part in _PARTS.findall(word) if len(part) > 1]
        if parts != tokens:
            tokens += parts
    elif pair := _LETTERS_AND_DIGITS.fullmatch(word):  # GPT4, 5kg
        tokens += [part.lower() for part in pair.groups("") if len(part) > 1 or part.isdigit()]
    stem = _stemmer().stemWord
    return tuple((stem(token) if token.isascii() else token)[:MAX_TOKEN_CHARS] for token in tokens)


_thread_state = threading.local()


def _stemmer() -> Any:
    # A stemmer is not thread-safe: one for each thread.
    if not hasattr(_thread_state, "stemmer"):
        import Stemmer  # type: ignore[import-not-found]  # it ships no types

        _thread_state.stemmer = Stemmer.Stemmer("english")
    return _thread_state.stemmer
