"""Finding and adding in a large store, against bare tantivy on the same words."""

from __future__ import annotations

import random
import tempfile
import time
from itertools import permutations
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import tantivy

from benchmarks.harness import Effort, Finding, Goal
from benchmarks.search import DEPTH, Product, product
from madang.services.content.engine import chunks
from madang.text.search.tokens import Tokenizer

LARGE, SMALL = 100_000, 10_000
"""Chunks in the store; fewer with `--quick`."""

FILE_CHARACTERS = 2_000_000
ADDED_CHARACTERS = 24_000
QUERIES = 300
ADDS = 24
COMMON_WORDS = 200
LETTERS = "etaoinshrdlucmfwypvbgk"


class Prose:
    """Endless text in which words are as common and as rare as in a language."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        pick = self._chance.choice
        self._words = ["".join(pick(LETTERS) for _ in range(self._chance.randint(2, 9))) for _ in range(60_000)]
        self._weights: list[float] = []
        total = 0.0
        for rank in range(len(self._words)):
            total += 1 / (rank + 2.7)
            self._weights.append(total)

    def text(self, characters: int) -> str:
        words = self._chance.choices(self._words, cum_weights=self._weights, k=characters // 6)
        lines = [" ".join(words[at : at + 14]) for at in range(0, len(words), 14)]
        return ".\n".join(lines)[:characters]

    def query(self) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=self._chance.randint(2, 8)))

    def question(self) -> str:
        """Return eight words or fewer without the commonest: function words are not searched for."""
        common = set(self._words[:COMMON_WORDS])
        drawn = self._chance.choices(self._words, cum_weights=self._weights, k=16)
        return " ".join([word for word in drawn if word not in common][:8] or drawn[:1])


async def speed(effort: Effort) -> list[Finding]:
    """Search and add as a client does, and what the engine takes for the same."""
    wanted = LARGE if effort.rounds > 5 else SMALL
    prose = Prose(7)
    with tempfile.TemporaryDirectory() as folder:
        async with product(Path(folder)) as ours:
            large = str((await ours.ask("create_store"))["storeId"])
            empty = str((await ours.ask("create_store"))["storeId"])
            count = size = 0
            while count < wanted:
                added = await ours.ask("add_content", content=prose.text(FILE_CHARACTERS), storeId=large)
                count += int(str(added["chunkCount"]))
                size += int(str(added["size"]))
            await ours.wait_for_index(large)
            words, bare = Path(folder) / "index" / large / "words", tempfile.mkdtemp(dir=folder)
            found = await _searched(ours, large, words, prose, count)
            written = await _added(ours, large, empty, prose, bare, count)
        on_disk = sum(path.stat().st_size for path in words.iterdir())
    index = Finding(f"index of {count:,} chunks vs text", "MB", on_disk / 1e6, size / 1e6, on_disk / size, Goal(0.25))
    return [*found, *written, index]


async def _searched(ours: Product, store: str, words: Path, prose: Prose, count: int) -> list[Finding]:
    index = tantivy.Index.open(str(words))
    searcher, tokenizer = index.searcher(), Tokenizer()
    queries = [prose.query() for _ in range(QUERIES)]
    mine, theirs = [], []
    for query in [*queries[:20], *queries]:  # the first ones warm both up
        at = time.perf_counter()
        await ours.search(query, store)
        mine.append(time.perf_counter() - at)
        terms = tokenizer.query(query).words
        at = time.perf_counter()
        bare_search(index, searcher, terms)
        theirs.append(time.perf_counter() - at)
    mine, theirs = mine[20:], theirs[20:]
    found = []
    for name, place, goal in (("p50", 49, Goal(2)), ("p99", 98, Goal(3))):
        a, b = quantiles(mine, n=100)[place] * 1e3, quantiles(theirs, n=100)[place] * 1e3
        found.append(Finding(f"search in {count:,} chunks, {name}, vs bare tantivy", "ms", a, b, a / b, goal))
    return found


def bare_search(index: tantivy.Index, searcher: tantivy.Searcher, terms: list[str]) -> Any:
    parts = [
        (tantivy.Occur.Should, tantivy.Query.term_query(index.schema, "body", term, index_option="freq"))
        for term in terms
    ]
    hits: Any = searcher.search(tantivy.Query.boolean_query(parts), DEPTH, count=False).hits
    return searcher.fast_field_values("chunk", [address for _, address in hits])


def bare_index(folder: str) -> tantivy.Index:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk", fast=True)
    builder.add_unsigned_field("content", indexed=True)
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    return tantivy.Index(builder.build(), path=folder)


async def _added(ours: Product, large: str, empty: str, prose: Prose, folder: str, count: int) -> list[Finding]:
    bare = _BareAdditions(folder)
    stores = {"large": large, "empty": empty}
    spent: dict[str, list[float]] = {"large": [], "empty": [], "bare": []}
    # In every order: one that comes after bare tantivy finds cold caches, and a disk that is still busy.
    orders = list(permutations(spent))
    for number in range(ADDS + len(orders)):
        for name in orders[number % len(orders)]:
            text = prose.text(ADDED_CHARACTERS)
            if name == "bare":
                spent[name].append(bare.add(number, text))
            else:
                at = time.perf_counter()
                await ours.add(f"{number}.txt", text, stores[name])
                spent[name].append(time.perf_counter() - at)
    middle = {name: median(values[len(orders) :]) * 1e3 for name, values in spent.items()}
    what = f"add a file of {len(chunks.split(prose.text(ADDED_CHARACTERS)))} chunks"
    return [
        Finding(f"{what} to {count:,}, vs bare tantivy", "ms", middle["large"], middle["bare"],
                middle["large"] / middle["bare"], Goal(2)),
        Finding(f"{what} to {count:,}, vs to none", "ms", middle["large"], middle["empty"],
                middle["large"] / middle["empty"], Goal(1.5)),
    ]  # fmt: skip


class _BareAdditions:
    """Adds to an index that was empty; what a text becomes is not timed."""

    def __init__(self, folder: str) -> None:
        self._index = bare_index(folder)
        self._writer = self._index.writer(50_000_000, 1)
        self._tokenizer = Tokenizer()

    def add(self, number: int, text: str) -> float:
        """Add a text and commit, and return how long that took."""
        bodies = [" ".join(self._tokenizer.tokens(chunk.text).words) for chunk in chunks.split(text)]
        at = time.perf_counter()
        for place, body in enumerate(bodies):
            document = tantivy.Document()
            document.add_unsigned("chunk", number * 1000 + place)
            document.add_unsigned("content", number)
            document.add_text("body", body)
            self._writer.add_document(document)
        self._writer.commit()
        self._index.reload()
        return time.perf_counter() - at
