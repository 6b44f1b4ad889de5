"""Finding passages: how well, against collections with judgements, and how fast, against bare tantivy.

The collections are not ours to give away: they are read from `../shared/data` beside this repository, or from the
folder that MADANG_BENCH_DATA names, and without them the benchmark says that it did not run.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from benchmarks.harness import Effort, Finding, Goal
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.database.port import Database
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.database.sqlite.database import SqliteDatabase
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.services.content.domain.contents import Limits
from madang.services.content.service import ContentService
from madang.text.search.tokens import Tokenizer

DATA = Path(os.environ.get("MADANG_BENCH_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
CALL = Call(AssistantId("bench"), SessionId("bench"))
MANY = Limits(contents=10**6)
DEPTH = 10
MIN_FIRST_MRR, MIN_SPREAD_MRR = 0.961, 0.945
MIN_NDCG = 0.385
FIRST_QUESTIONS, SPREAD_STEP = 1_000, 11
"""KorQuAD is asked its first questions, which are about few articles, and every so many of all."""

MIN_NOUNS, MIN_COMPOUNDS, MIN_TYPOS = 0.99, 0.8, 0.7


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the documents that answer it."""

    text: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents by their names, and questions about them."""

    documents: Mapping[str, str]
    questions: Sequence[Question]


Judge = Callable[[Sequence[str], frozenset[str]], float]


class Product:
    """The content service through its tools."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def ask(self, tool: str, **arguments: object) -> dict[str, object]:
        reply = await self._provider.execute_tool(CALL, tool, arguments)
        if reply.is_error:
            raise RuntimeError(reply.text)
        return reply.data

    async def add(self, name: str, text: str, store: str = "") -> str:
        added = await self.ask("add_content", content=text, storeId=store, metadata={"filename": name})
        return str(added["contentId"])

    async def search(self, query: str, store: str = "") -> list[str]:
        """Return the ids of the contents of the passages that are found, each once, best first."""
        found = await self.ask("keyword_similarity_search", query=query, storeId=store, options={"topN": DEPTH})
        results = found["results"]
        assert isinstance(results, list)
        return list(dict.fromkeys(result["contentId"] for result in results))

    async def wait_for_index(self, store: str = "") -> None:
        """Wait until searches find everything that was added."""
        while "may not find everything" in str(
            (await self.ask("keyword_similarity_search", query="nothing", storeId=store)).get("next")
        ):
            pass


@asynccontextmanager
async def product(folder: Path, database: Database | None = None) -> AsyncIterator[Product]:
    """Open the content service on a database and indexes in `folder`, or on another database."""
    database = database or SqliteDatabase(folder / "madang.db")
    provider = Provider(AuditLog(database))
    provider.register(ContentService(database, folder / "index", limits=MANY))
    try:
        yield Product(provider)
    finally:
        await provider.close()
        await database.close()


async def quality(effort: Effort) -> list[Finding]:
    """How near the top the right documents are, beside the full-text search that SQLite has built in."""
    if not (DATA / "korquad").is_dir() or not (DATA / "cranfield").is_dir():
        print(f"search quality did not run: no collections in {DATA.name}", file=sys.stderr)
        return []
    judged: list[tuple[str, Collection, Judge, float]] = [
        ("KorQuAD, every 11th question, MRR@10", korquad(step=SPREAD_STEP), reciprocal_rank, MIN_SPREAD_MRR),
        ("Cranfield, nDCG@10", cranfield(), gain, MIN_NDCG),
    ]
    if effort.rounds > 5:
        first = korquad(FIRST_QUESTIONS)
        judged.append(("KorQuAD, first 1,000 questions, MRR@10", first, reciprocal_rank, MIN_FIRST_MRR))
    findings = []
    for what, collection, judge, least in judged:
        fts = Fts5(collection.documents)
        theirs = [judge(fts.search(question.text), question.answers) for question in collection.questions]
        with tempfile.TemporaryDirectory() as folder:
            score = await _score(Path(folder), None, collection, judge)
        findings.append(_finding(f"{what} vs the bar", score, least))
        findings.append(_finding(f"{what} vs FTS5's default", score, sum(theirs) / len(theirs)))
    titles = await _titles()
    findings.append(_finding("KorQuAD, titles as file names, MRR@10, vs without them", *titles))
    return [*findings, *_words(), *await _on_a_server(judged)]


def _words() -> list[Finding]:
    """How many words of everyday lists are found in texts that hold them in another form."""
    from tests.services.content import finding

    tokenizer = Tokenizer()
    lists: list[tuple[str, finding.Findings, float]] = [
        ("nouns found in texts with a particle", finding.nouns(tokenizer), MIN_NOUNS),
        ("compounds found closed and spaced", finding.compounds(tokenizer), MIN_COMPOUNDS),
        ("words found with one wrong letter", finding.typos(tokenizer), MIN_TYPOS),
    ]
    return [_finding(f"{what}, of {found.total:,}, vs the bar", found.share, least) for what, found, least in lists]


async def _on_a_server(judged: Sequence[tuple[str, Collection, Judge, float]]) -> list[Finding]:
    try:
        from tests.postgresql import server

        running = server()
    except BaseException as error:  # pytest's way to skip is no Exception
        print(f"PostgreSQL left out: {error}", file=sys.stderr)
        return []
    findings = []
    for number, (what, collection, judge, least) in enumerate(judged):
        database = PostgresDatabase(parse_database_url(running.new_database(f"search{number}")))
        score = await _score(Path(), database, collection, judge)
        findings.append(_finding(f"PostgreSQL, {what} vs the bar", score, least))
    return findings


async def _score(folder: Path, database: Database | None, collection: Collection, judge: Judge) -> float:
    async with product(folder, database) as ours:
        names = {await ours.add(name, text): name for name, text in collection.documents.items()}
        await ours.wait_for_index()
        scores = [
            judge([names[id] for id in await ours.search(question.text)], question.answers)
            for question in collection.questions
        ]
    return sum(scores) / len(scores)


async def _titles() -> tuple[float, float]:
    """Look articles up by their titles: once as the names of their files, once where only the text can say it."""
    scores = []
    for is_named in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            scores.append(await _score(Path(folder), None, korquad_titles(is_named=is_named), reciprocal_rank))
    return scores[0], scores[1]


def _finding(what: str, score: float, floor: float) -> Finding:
    return Finding(what, "‰", score * 1000, floor * 1000, score / floor, Goal(1, at_least=True))


class Fts5:
    """What SQLite does by itself: words as unicode61 has them, ranked by bm25."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE f USING fts5(name UNINDEXED, body)")
        self._connection.executemany("INSERT INTO f VALUES (?, ?)", list(documents.items()))

    def search(self, query: str) -> list[str]:
        words = dict.fromkeys(re.findall(r"\w+", query.lower()))
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        rows = self._connection.execute(f"SELECT name FROM f WHERE f MATCH ? ORDER BY rank LIMIT {DEPTH}", (match,))
        return [name for (name,) in rows]


def korquad(count: int | None = None, step: int = 1) -> Collection:
    """Questions written about one passage each: that passage is the answer."""
    documents: dict[str, str] = {}
    questions: list[Question] = []
    names: dict[str, str] = {}
    loaded = json.loads((DATA / "korquad/KorQuAD_v1.0_dev.json").read_text(encoding="utf-8"))
    for article in loaded["data"]:
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            name = names.setdefault(text, f"passage-{len(names)}.txt")
            documents[name] = text
            questions += [Question(asked["question"], frozenset({name})) for asked in paragraph["qas"]]
    return Collection(documents, questions[:count:step])


def korquad_titles(*, is_named: bool) -> Collection:
    """The title of each article; any of its passages is the answer."""
    documents: dict[str, str] = {}
    questions: list[Question] = []
    loaded = json.loads((DATA / "korquad/KorQuAD_v1.0_dev.json").read_text(encoding="utf-8"))
    for article_no, article in enumerate(loaded["data"]):
        title = article["title"].replace("_", " ")
        texts = dict.fromkeys(paragraph["context"] for paragraph in article["paragraphs"])
        named = {f"{title if is_named else article_no} {place}.txt": text for place, text in enumerate(texts, start=1)}
        documents |= named
        questions.append(Question(title, frozenset(named)))
    return Collection(documents, questions)


def cranfield() -> Collection:
    """Abstracts about aerodynamics. The judgements count the queries from 1, whatever numbers they bear."""
    folder = DATA / "cranfield"
    whole = (folder / "cran.all.1400.xml").read_text(encoding="utf-8")
    found = re.findall(r"<docno>(\d+)</docno>.*?<title>(.*?)</title>.*?<text>(.*?)</text>", whole, re.DOTALL)
    documents = {f"{number}.txt": f"{title.strip()}\n{text.strip()}" for number, title, text in found}
    answers: dict[int, set[str]] = {}
    for line in (folder / "cranqrel.trec.txt").read_text(encoding="utf-8").splitlines():
        query, _, number, grade = line.split()
        if 0 < int(grade) < 5:
            answers.setdefault(int(query), set()).add(f"{number}.txt")
    asked = re.findall(r"<title>(.*?)</title>", (folder / "cran.qry.xml").read_text(encoding="utf-8"), re.DOTALL)
    questions = [
        Question(" ".join(text.split()), frozenset(answers[number]))
        for number, text in enumerate(asked, start=1)
        if number in answers
    ]
    return Collection({name: text for name, text in documents.items() if text.strip()}, questions)


def reciprocal_rank(found: Sequence[str], answers: frozenset[str]) -> float:
    """One divided by the place of the first right document."""
    return next((1 / place for place, name in enumerate(found[:DEPTH], start=1) if name in answers), 0.0)


def gain(found: Sequence[str], answers: frozenset[str]) -> float:
    """The normalised discounted cumulative gain: how early the right documents come, next to the best order."""
    got = sum(1 / math.log2(place + 1) for place, name in enumerate(found[:DEPTH], start=1) if name in answers)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(len(answers), DEPTH) + 1))
    return got / best
