"""The workspace through its engine: searching against ripgrep alone, reading far into a file against scanning it."""

from __future__ import annotations

import asyncio
import mmap
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folders
from madang.services.workspace.domain.files import GrepQuery
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.engine.ripgrep import find_ripgrep
from madang.services.workspace.engine.searching import Searcher

CALL = Call(AssistantId("bench"), SessionId("bench"))
FILES = 50_000
LINES = 2_000_000
FAR = 1_800_000
TEXT = "the quick brown fox jumps over a lazy dog while many agents search for words 그리고 글자"
WORDS = tuple(TEXT.split())


async def files(effort: Effort) -> list[Finding]:
    """Fifty thousand files, and one of two million lines."""
    with tempfile.TemporaryDirectory(prefix="madang-bench-") as name:
        folders = Folders(Path(name))
        with folders.of(CALL) as session:
            folder = session.path / "files"
        _tree(folder / "tree")
        _long(folder / "long.txt")
        rounds = max(effort.rounds, 7)
        return [*await _searches(folders, folder, rounds), await _reads(folders, folder, rounds)]


async def _searches(folders: Folders, folder: Path, rounds: int) -> list[Finding]:
    searcher = Searcher(folders)
    findings = []
    for what, pattern in {"a rare literal": "needle in file 4[0-9]{4}", "a word in Hangul": "바늘"}.items():
        wanted = GrepQuery(pattern, "tree", limit=500)
        command = [find_ripgrep(), "--no-config", "--no-ignore", "--hidden", "-n", "--null", "-e", pattern, "--", "./"]

        async def ours(wanted: GrepQuery = wanted) -> Sample:
            begun = time.perf_counter()
            found = await asyncio.to_thread(searcher.grep, CALL, wanted, threading.Event())
            assert found.matches
            return {"wall": (time.perf_counter() - begun) * 1e3}

        async def alone(command: list[str] = command) -> Sample:
            begun = time.perf_counter()
            done = await asyncio.to_thread(subprocess.run, command, cwd=folder / "tree", capture_output=True)
            assert done.stdout
            return {"wall": (time.perf_counter() - begun) * 1e3}

        samples = await interleave(rounds, {"ours": ours, "rg": alone})
        text = f"grep, {what} in {FILES:,} files vs rg alone"
        findings.append(compare(text, "wall", "ms wall", samples["ours"], samples["rg"], Goal(1.3)))
    return findings


async def _reads(folders: Folders, folder: Path, rounds: int) -> Finding:
    engine = FileEngine(folders)
    engine.read(CALL, "long.txt", 1, 1)  # counts the lines, once

    async def ours() -> Sample:
        begun = time.process_time()
        for _ in range(20):
            await asyncio.to_thread(engine.read, CALL, "long.txt", FAR, FAR + 99)
        return {"cpu": (time.process_time() - begun) / 20 * 1e6}

    sides: dict[str, Side] = {"ours": ours, "scan": lambda: _scan(folder / "long.txt")}
    samples = await interleave(rounds, sides)
    what = f"read_file again, at line {FAR:,} of {LINES:,} vs counting its newlines"
    return compare(what, "cpu", "µs CPU", samples["ours"], samples["scan"], Goal(0.02))


async def _scan(path: Path) -> Sample:
    begun = time.process_time()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        count = 0
        while part := mapped.read(1 << 20):
            count += part.count(b"\n")
        assert count == LINES
    return {"cpu": (time.process_time() - begun) * 1e6}


def _tree(top: Path) -> None:
    body = "\n".join(" ".join(WORDS[(line + word) % len(WORDS)] for word in range(12)) for line in range(60))
    for number in range(FILES):
        if number % 250 == 0:
            folder = top / f"{number // 2500:02}" / f"{number // 250:03}"
            folder.mkdir(parents=True)
        rare = f"\nneedle in file {number} 바늘" if number % 1000 == 7 else ""
        (folder / f"{number}.txt").write_text(body + rare, encoding="utf-8")


def _long(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(LINES):
            file.write(f"{number:>9} {TEXT[: number % 70]}\n")
