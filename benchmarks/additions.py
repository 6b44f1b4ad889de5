"""Adding texts, several at a time, against bare tantivy with a commit each; a search right after finds every one.

An addition answers before the index has it, so what a search then waits for is counted too. Searching for each one is
counted on both sides, and told by itself: it is no part of adding.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path

import tantivy

from benchmarks.harness import Effort, Finding, Goal, Sample, compare, interleave
from benchmarks.passages import LETTERS, Prose, bare_index, bare_search
from benchmarks.search import Product, product
from madang.text.search.tokens import Tokenizer

AT_ONCE = 8
TEXTS = 160
BARE_TEXTS = 10
"""In a round. Each is a commit, which takes long."""
TEXT_CHARACTERS = 1_000
MAX_ROUNDS = 7


async def additions(effort: Effort) -> list[Finding]:
    """Texts of a kilobyte a second, on the disk that temporary files are on."""
    with tempfile.TemporaryDirectory() as folder:
        index = bare_index(tempfile.mkdtemp(dir=folder))
        texts = _Texts()
        async with product(Path(folder)) as ours:

            async def add() -> Sample:
                return await _add(ours, texts.take(TEXTS))

            async def add_bare() -> Sample:
                return _add_bare(index, texts.take(BARE_TEXTS))

            sides = {"ours": add, "bare": add_bare}
            await interleave(1, sides)  # which opens both
            samples = await interleave(min(effort.rounds, MAX_ROUNDS), sides)
    what = f"add texts of 1 KB, {AT_ONCE} at a time, vs bare tantivy with a commit each"
    goal, searched = Goal(10, at_least=True), Goal(10, at_least=True, promised=False)
    return [
        compare(what, "added", "texts/s", samples["ours"], samples["bare"], goal),
        compare(f"{what}, until a search finds them", "found", "texts/s", samples["ours"], samples["bare"], goal),
        compare(f"{what}, with a search for each", "searched", "texts/s", samples["ours"], samples["bare"], searched),
    ]


class _Texts:
    def __init__(self) -> None:
        self._prose = Prose(11)
        self._chance = random.Random(5)

    def take(self, number: int) -> dict[str, str]:
        """Return texts by a word that no other has."""
        words = ("q" + "".join(self._chance.choices(LETTERS, k=14)) for _ in range(number))
        return {word: f"{word} {self._prose.text(TEXT_CHARACTERS)}" for word in words}


async def _add(ours: Product, texts: dict[str, str]) -> Sample:
    started_at = time.perf_counter()
    waiting = iter(texts.items())
    ids: dict[str, str] = {}

    async def client() -> None:
        for word, text in waiting:
            ids[word] = await ours.add("", text)

    await asyncio.gather(*(client() for _ in range(AT_ONCE)))
    added_at = time.perf_counter()
    await _search(ours, *next(iter(ids.items())))
    found_at = time.perf_counter()
    for word, id in list(ids.items())[1:]:
        await _search(ours, word, id)
    searched_at = time.perf_counter()
    ends = {"added": added_at, "found": found_at, "searched": searched_at}
    return {name: len(texts) / (end - started_at) for name, end in ends.items()}


async def _search(ours: Product, word: str, id: str) -> None:
    if (await ours.search(word))[:1] != [id]:
        raise RuntimeError("A search did not find what had been added.")


def _add_bare(index: tantivy.Index, texts: dict[str, str]) -> Sample:
    tokenizer = Tokenizer()
    writer = index.writer(50_000_000, 1)
    bodies = [" ".join(tokenizer.tokens(text).words) for text in texts.values()]
    terms = [tokenizer.query(word).words for word in texts]
    added_s = searched_s = 0.0
    for number, (body, words) in enumerate(zip(bodies, terms, strict=True)):
        started_at = time.perf_counter()
        document = tantivy.Document()
        document.add_unsigned("chunk", number)
        document.add_unsigned("content", number)
        document.add_text("body", body)
        writer.add_document(document)
        writer.commit()
        added_at = time.perf_counter()
        index.reload()
        if len(bare_search(index, index.searcher(), words)) != 1:
            raise RuntimeError("Bare tantivy did not find what had been added.")
        added_s += added_at - started_at
        searched_s += time.perf_counter() - added_at
    writer.wait_merging_threads()
    rate = len(texts) / added_s
    return {"added": rate, "found": rate, "searched": len(texts) / (added_s + searched_s)}
