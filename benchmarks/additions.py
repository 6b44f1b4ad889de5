"""Adding texts, several at a time, against bare tantivy with a commit each; a search right after finds every one."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import tantivy

from benchmarks.harness import Effort, Finding, Goal, Sample, compare, interleave
from benchmarks.passages import LETTERS, Prose, bare_index
from benchmarks.search import Product, product
from madang.storage.search.tokens import Tokenizer

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
                return _add_bare(index, list(texts.take(BARE_TEXTS).values()))

            sides = {"ours": add, "bare": add_bare}
            await interleave(1, sides)  # which opens both
            samples = await interleave(min(effort.rounds, MAX_ROUNDS), sides)
    what = f"add texts of 1 KB, {AT_ONCE} at a time, vs bare tantivy with a commit each"
    goal = Goal(10, at_least=True)
    return [
        compare(what, "added", "texts/s", samples["ours"], samples["bare"], goal),
        compare(f"{what}, with a search for each", "found", "texts/s", samples["ours"], samples["bare"], goal),
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
    for word, id in ids.items():
        if (await ours.search(word))[:1] != [id]:
            raise RuntimeError("A search did not find what had been added.")
    found_at = time.perf_counter()
    return {"added": len(texts) / (added_at - started_at), "found": len(texts) / (found_at - started_at)}


def _add_bare(index: tantivy.Index, texts: Sequence[str]) -> Sample:
    tokenizer = Tokenizer()
    writer = index.writer(50_000_000, 1)
    bodies = [" ".join(tokenizer.tokens(text).words) for text in texts]
    started_at = time.perf_counter()
    for number, body in enumerate(bodies):
        document = tantivy.Document()
        document.add_unsigned("chunk", number)
        document.add_unsigned("content", number)
        document.add_text("body", body)
        writer.add_document(document)
        writer.commit()
    rate = len(texts) / (time.perf_counter() - started_at)
    writer.wait_merging_threads()
    return {"added": rate, "found": rate}
