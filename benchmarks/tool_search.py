"""How well the words of a person find a tool, on the sentences and functions of BFCL v4 (Berkeley, Apache-2.0).

Its package brings the data along, and is put into an environment of its own. The pool are all functions of four sets;
of several with one name, the first. Two sets of sentences are judged: those that weights and stop words were
fitted to, and others, whose misses were not looked at.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Effort, Finding, Goal
from benchmarks.venvs import python_with
from madang.agent.tool_search import ToolSearch
from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.ids import AssistantId, SessionId
from madang.core.results import ToolResult
from madang.core.schema_tools import SchemaTool
from madang.records.analysis.analysis import Analysis

PACKAGE = "bfcl-eval==2026.3.23"
POOL = ("simple_python", "live_simple", "multiple", "live_multiple")
CHOSEN, OTHERS = ("simple_python", "live_simple"), ("multiple", "live_multiple")
DEPTH = 5
MIN_FOUND = 0.88

CALL = Call(assistant_id=AssistantId("default"), session_id=SessionId("default"))
Search = Callable[[str], Awaitable[Sequence[str]]]


async def quality(effort: Effort) -> list[Finding]:
    """For how many sentences the right function is among the first five, beside plain BM25."""
    python = python_with("--no-deps", PACKAGE)  # it asks for the packages of many vendors
    if python is None:
        return []
    (data,) = python.parents[1].glob("lib/python*/site-packages/bfcl_eval/data")
    pool: dict[str, Any] = {}
    for function in (function for name in POOL for row in _rows(data, name) for function in row["function"]):
        pool.setdefault(function["name"], function)
    analysis = Analysis(Executor())
    try:
        ours, plain = _ours(pool, analysis), _plain(pool)
        findings = []
        for what, sets in (("chosen by", CHOSEN), ("not looked into", OTHERS)):
            sentences = [judged for name in sets for judged in _sentences(data, name)]
            found, floor = await _found(ours, sentences), await _found(plain, sentences)
            where = f"tool search, {len(sentences)} sentences {what}, {len(pool):,} functions, recall@{DEPTH}"
            findings.append(_finding(f"{where} vs the bar", found, MIN_FOUND))
            findings.append(_finding(f"{where} vs plain BM25", found, floor))
        return findings
    finally:
        await analysis.close()


def _finding(what: str, found: float, floor: float) -> Finding:
    return Finding(what, "‰", found * 1000, floor * 1000, found / floor, Goal(1, at_least=True))


async def _found(search: Search, sentences: Sequence[tuple[str, str]]) -> float:
    hits = [name in (await search(text))[:DEPTH] for text, name in sentences]
    return sum(hits) / len(hits)


def _rows(data: Path, name: str) -> Iterator[dict[str, Any]]:
    for line in (data / f"BFCL_v4_{name}.json").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _sentences(data: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield what users said, and the function that was to be called."""
    answers: dict[str, str] = {}
    for line in (data / "possible_answer" / f"BFCL_v4_{name}.json").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        answers[row["id"]] = next(iter(row["ground_truth"][0]))
    for row in _rows(data, name):
        said = [message["content"] for turn in row["question"] for message in turn if message["role"] == "user"]
        yield " ".join(said), answers[row["id"]]


def _ours(pool: Mapping[str, Any], analysis: Analysis) -> Search:
    async def nothing(call: Call, arguments: Mapping[str, Any]) -> ToolResult[Any]:
        raise NotImplementedError

    tools = [
        SchemaTool(
            name=name,
            description=function.get("description", ""),
            arguments=function.get("parameters", {}),
            effect="read",
            handler=nothing,
        )
        for name, function in pool.items()
    ]
    search = ToolSearch(analysis)

    async def found(text: str) -> list[str]:
        return [tool.name for tool in await search.search(CALL, tools, text)]

    return found


def _plain(pool: Mapping[str, Any]) -> Search:
    """BM25 over the words of names, descriptions and parameters."""
    names = list(pool)
    documents = [Counter(_words(json.dumps(pool[name]))) for name in names]
    lengths = [sum(document.values()) for document in documents]
    average = sum(lengths) / len(lengths)
    hits: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, document in enumerate(documents):
        for word, times in document.items():
            hits[word].append((number, times))

    async def found(text: str) -> list[str]:
        scores: Counter[int] = Counter()
        for word in set(_words(text)):
            rarity = math.log(1 + (len(names) - len(hits[word]) + 0.5) / (len(hits[word]) + 0.5))
            for number, times in hits[word]:
                norm = 0.25 + 0.75 * lengths[number] / average
                scores[number] += rarity * times * 2.2 / (times + 1.2 * norm)  # type: ignore[assignment]  # a float
        return [names[number] for number, _ in scores.most_common(DEPTH)]

    return found


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).lower())
