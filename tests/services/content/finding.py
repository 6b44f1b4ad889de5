"""How many words of everyday lists are found in texts that hold them in another form; also for benchmarks.

`lexicon/` has 400 common nouns, 100 compounds in their spaced spelling, and 20 words each with a misspelling of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from madang.services.content.engine.index import StoreIndex
from madang.text.search.tokens import Tokenizer

LEXICON = Path(__file__).parent / "lexicon"
OTHER_TEXTS = ("Something else entirely, about gardens and rivers.", "전혀 다른 이야기, 강과 정원.")


class Findings(NamedTuple):
    """How many searches there were, and the texts that were not found."""

    total: int
    misses: list[str]

    @property
    def share(self) -> float:
        return 1 - len(self.misses) / self.total


def nouns(tokenizer: Tokenizer) -> Findings:
    """Look for each noun alone among texts in which it has a particle, one text for each."""
    count, misses = 0, []
    for noun in _words("nouns.txt"):
        forms = with_particles(noun)
        found = _found(tokenizer, [f"어제 우리는 {form} 다시 보았다." for form in forms], noun)
        misses += [form for at, form in enumerate(forms) if at not in found]
        count += len(forms)
    return Findings(count, misses)


def compounds(tokenizer: Tokenizer) -> Findings:
    """Look for each compound closed in a text that has it spaced, and the other way."""
    spaced = [line for text in _lines("compounds.txt") for line in text.split("|")]
    misses = []
    for compound in spaced:
        closed = compound.replace(" ", "")
        for written, typed in ((compound, closed), (closed, compound)):
            if 0 not in _found(tokenizer, [f"이번 주에는 {written}에 관한 글을 쓴다.", *OTHER_TEXTS], typed):
                misses.append(f"{typed} in {written}")
    return Findings(2 * len(spaced), misses)


def typos(tokenizer: Tokenizer) -> Findings:
    """Look for each misspelled word in a text that has it as it should be."""
    pairs = [line.split() for line in _lines("typos.txt")]
    misses = []
    for right, wrong in pairs:
        text = f"We look at {right} again." if right.isascii() else f"다음 주에 {right}를 다시 살펴본다."
        if 0 not in _found(tokenizer, [text, *OTHER_TEXTS], wrong):
            misses.append(wrong)
    return Findings(len(pairs), misses)


def with_particles(noun: str) -> list[str]:
    """Return a noun with each of ten particles, in the form that fits its last sound."""
    final = (ord(noun[-1]) - ord("가")) % 28
    by_sound = ["이", "은", "을", "과"] if final else ["가", "는", "를", "와"]
    by_sound.append("으로" if final not in (0, 8) else "로")  # 8 is ㄹ
    return [noun + particle for particle in (*by_sound, "의", "에", "에서", "도", "만")]


def _found(tokenizer: Tokenizer, texts: Sequence[str], query: str) -> set[int]:
    index = StoreIndex(None, tokenizer.name)
    index.create()
    index.replace([], [(1, number, tokenizer.tokens(text)) for number, text in enumerate(texts)])
    index.commit()
    found = {chunk.chunk_no for chunk in index.search(tokenizer.query(query), len(texts))}
    index.close()
    return found


def _words(name: str) -> list[str]:
    return (LEXICON / name).read_text(encoding="utf-8").split()


def _lines(name: str) -> list[str]:
    return (LEXICON / name).read_text(encoding="utf-8").splitlines()
