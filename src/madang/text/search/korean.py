"""Korean words: cut into morphemes by a dictionary, with a net below for what it is unsure of.

A run of Hangul between blanks becomes the morphemes that have a meaning. Where the dictionary may have cut it
otherwise elsewhere (a compound, a name that it does not have, a noun that looks like another one with its particle),
the run also gets weak tokens, by which the spellings meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

MAX_TOKEN_CHARS = 64
MAX_ANALYZED_CHARS = 5_000
"""Of one line: the analyzer keeps every way to read a line until its end, 1.6 KB for each character. No chunk of a
content has such a line, so that this changes no index."""
MAX_RUN_CHARS = 24
"""Longer runs without a blank get no net: they are no words."""
DICTIONARY_ROWS = Path(__file__).with_name("korean.csv")
"""Rows that the dictionary of the package lacks, in its own form. It has lost the subject particle 이, without which
시간이 is cut into 시 and 간이."""

HANGUL = "\uac00-\ud7a3"
_HAS_HANGUL = re.compile(f"[{HANGUL}]")
# Tags of nouns, numerals, pronouns, verbs, adjectives, roots, adverbs and interjections; particles and endings are not
# searched for.
_MEANINGFUL_TAGS = ("NN", "NR", "NP", "VV", "VA", "XR", "MAG", "IC")
_NOMINAL_TAGS = ("NN", "NR", "NP", "XR", "XSN", "UNKNOWN")
_UNSURE_TAGS = ("NN", "NR", "NP", "XR", "IC")
"""A piece of one syllable with such a tag is often a part of a word that was cut wrongly."""
_UNKNOWN_TAG = "UNKNOWN"
_AFTER_CONSONANT = (
    "이 은 을 과 으로 으로서 으로써 이나 이라도 이라는 이란 이라고 이며 이고 이라 으로는 으로도 으로의 과의 과는"
)
_AFTER_VOWEL = "가 는 를 와 나 라도 라는 란 라고 며 라 와의 와는"
_AFTER_VOWEL_OR_L = "로 로서 로써 로는 로도 로의"
_AFTER_ANY = (
    "의 에 에서 에게 에게서 께 께서 도 만 까지 부터 처럼 보다 마다 조차 마저 밖에 이다 입니다 하고 에는 에도 에만 "
    "에서는 에서도 에서의 까지의 까지는 부터의 만의 만은 만을 만이 들 들이 들은 들을 들의 들에게 들과 들도"
)
_FINALS = 28
_L = 8


class Run(NamedTuple):
    """A run of Hangul as tokens."""

    text: str
    words: list[str]
    noun: str
    """It without the particles or endings behind its last noun; empty if there is no noun."""
    stems: list[str]
    """What it may be without a particle, other than the above."""
    fragments: list[str]
    """The parts of compounds, and pairs of syllables where the dictionary is unsure."""


class KoreanAnalyzer:
    """Cuts Korean into morphemes. Loading the dictionary takes half a second and 220 MiB."""

    def __init__(self) -> None:
        """Load the dictionary.

        Raises:
            ImportError, OSError, ValueError, RuntimeError: it is not there, or cannot be loaded.
        """
        import lindera  # type: ignore[import-untyped]  # it ships no types

        dictionary = lindera.load_dictionary("embedded://ko-dic")
        rows = lindera.load_user_dictionary(str(DICTIONARY_ROWS), _dictionary_format(lindera))
        self._tokenizer = lindera.Tokenizer(dictionary, "decompose", rows)
        self._known_stems = lru_cache(maxsize=20_000)(self._find_known_stems)

    def runs(self, text: str, *, is_query: bool = False) -> Iterator[Run]:
        """Yield the runs of a text. Of a query, all stems are given; of a text those that are nouns."""
        for line in text.split("\n"):
            if _HAS_HANGUL.search(line):
                for piece in _pieces(line):
                    for morphemes in _joined_morphemes(self._tokenizer.tokenize(piece)):
                        yield self._run(morphemes, is_query)

    def _run(self, morphemes: list[Any], is_query: bool) -> Run:
        words: list[str] = []
        fragments: list[str] = []
        is_unsure, text, noun = False, "", ""
        for morpheme in morphemes:
            tag: str = morpheme.get_detail(0) or ""
            surface: str = morpheme.surface
            text += surface
            if tag.startswith(_NOMINAL_TAGS):
                noun = text
            tokens, parts = _morpheme_tokens(morpheme, tag, surface)
            words += tokens
            if parts or tag == _UNKNOWN_TAG or (len(surface) == 1 and tag.startswith(_UNSURE_TAGS)):
                is_unsure = True
                fragments += parts
        if len(text) > MAX_RUN_CHARS:
            return Run(text, words, "", [], [])
        if is_unsure and len(noun) > 1:
            fragments += bigrams(noun)
        stems = _stems(text) if is_query else self._known_stems(text)
        return Run(text, words, noun, [stem for stem in stems if stem != noun and stem not in words], fragments)

    def _find_known_stems(self, run: str) -> list[str]:
        return [stem for stem in _stems(run) if self._is_noun(stem)]

    def _is_noun(self, text: str) -> bool:
        # With a particle behind it: alone, 보고서 is taken for a form of 보다.
        morphemes = self._tokenizer.tokenize(text + ("을" if _final(text) else "를"))
        return len(morphemes) == 2 and morphemes[0].surface == text and morphemes[0].get_detail(0).startswith("NN")


def bigrams(run: str) -> list[str]:
    """Return each two neighbours of a run, or its only character."""
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def is_particle(run: str) -> bool:
    """Tell whether a run of Hangul can be a particle by itself."""
    return run in _particles()


def _dictionary_format(lindera: Any) -> Any:
    """Return what the columns of `DICTIONARY_ROWS` are: the dictionary's, not the three of a simple user's one."""
    columns = "surface left_context_id right_context_id cost tag semantic final reading kind first last expression"
    return lindera.Metadata(
        dictionary_schema=lindera.Schema(columns.split()),
        user_dictionary_schema=lindera.Schema(["surface", "tag", "reading"]),
        flexible_csv=True,
    )


def _pieces(line: str) -> Iterator[str]:
    """Yield a line in pieces that the analyzer can take, broken between words where there are any."""
    start = 0
    while len(line) - start > MAX_ANALYZED_CHARS:
        end = line.rfind(" ", start + 1, start + MAX_ANALYZED_CHARS)
        end = end if end > start else start + MAX_ANALYZED_CHARS
        yield line[start:end]
        start = end
    yield line[start:]


def _joined_morphemes(morphemes: list[Any]) -> Iterator[list[Any]]:
    """Yield the morphemes of each run of Hangul: those with nothing between them."""
    run: list[Any] = []
    end = 0
    for morpheme in morphemes:
        is_hangul = _HAS_HANGUL.match(morpheme.surface) is not None
        if run and (not is_hangul or morpheme.byte_start != end):
            yield run
            run = []
        if is_hangul:
            run.append(morpheme)
            end = morpheme.byte_end
    if run:
        yield run


def _morpheme_tokens(morpheme: Any, tag: str, surface: str) -> tuple[list[str], list[str]]:
    """Return the tokens of a morpheme with a meaning, and the parts of a compound.

    Of an inflected one the tokens are its stems, so that 열렸다 is found by 열리다. Its details are the dictionary's:
    the tag, then fifth the kind and eighth the parts, as 열리/VV/*+었/EP/*. Each is fetched only when needed, because
    the tag alone rules out most morphemes.
    """
    if tag == _UNKNOWN_TAG:
        return (bigrams(surface) if len(surface) > 1 else []), []
    is_meaningful = tag.startswith(_MEANINGFUL_TAGS)
    if not is_meaningful and "+" not in tag:
        return [], []
    kind = morpheme.get_detail(4)
    if kind == "Inflect":
        stems = [text for text, its_tag in _parts(morpheme) if its_tag.startswith(_MEANINGFUL_TAGS)]
        if stems:
            return stems, []
    if not is_meaningful:
        return [], []
    parts = [text for text, _ in _parts(morpheme) if len(text) > 1] if kind == "Compound" else []
    return [surface[:MAX_TOKEN_CHARS]], parts


def _parts(morpheme: Any) -> Iterator[tuple[str, str]]:
    """Yield text and tag of each part of a morpheme."""
    for part in (morpheme.get_detail(7) or "").split("+"):
        text, _, rest = part.partition("/")
        if text and rest:
            yield text, rest


def _stems(run: str) -> list[str]:
    """Return what a run can be without a particle that fits its last sound."""
    stems = []
    for size in range(1, min(len(run), 5)):
        particle, stem = run[-size:], run[:-size]
        if particle in _particles() and _particles()[particle](_final(stem)):
            stems.append(stem)
    return stems


def _final(text: str) -> int:
    """Return the number of the final consonant of a text, 0 for a vowel."""
    return (ord(text[-1]) - 0xAC00) % _FINALS


@cache
def _particles() -> dict[str, Callable[[int], bool]]:
    """Return the particles, with what tells by the final consonant before one whether it fits."""
    fits: tuple[tuple[str, Callable[[int], bool]], ...] = (
        (_AFTER_CONSONANT, lambda final: final > 0),
        (_AFTER_VOWEL, lambda final: final == 0),
        (_AFTER_VOWEL_OR_L, lambda final: final in (0, _L)),
        (_AFTER_ANY, lambda final: True),
    )
    return {particle: does_fit for particles, does_fit in fits for particle in particles.split()}
