"""Exports: packing a tree of files beside the system's `zip`, and how much memory a gigabyte takes.

Both sides pack the same files, of this Python's own library, at the same level. What is compared is processor time: the
disk is the same for both, and ours also flushes to it, hashes what it writes and checks each path on the way.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from benchmarks.harness import FULL, Effort, Finding, Goal, Sample, compare, interleave
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folders
from madang.services.workspace.engine.exports import Exports

CALL = Call(AssistantId("benchmark"), SessionId("benchmark"))
MAX_GROWTH_MIB = 32
MIB = 1 << 20


async def exports(effort: Effort) -> list[Finding]:
    """CPU of packing a tree, and the growth of the resident set while much is packed."""
    zip_program = shutil.which("zip")
    if zip_program is None:
        print("no `zip` on the PATH: not compared", file=sys.stderr)
        return []
    size_mib = 1024 if effort is FULL else 256
    with tempfile.TemporaryDirectory() as folder:
        found = [await _packing(Path(folder), zip_program, min(effort.rounds, 7))]
        growth = await asyncio.to_thread(_growth_mib, Path(folder), size_mib)
    what = f"export_zip of {size_mib} MiB, growth of the resident set vs {MAX_GROWTH_MIB} MiB"
    return [*found, Finding(what, "MiB", growth, MAX_GROWTH_MIB, growth / MAX_GROWTH_MIB, Goal(1.0))]


async def _packing(folder: Path, zip_program: str, rounds: int) -> Finding:
    files = _fill(folder)
    engine = Exports(Folders(folder))
    count = sum(1 for path in files.rglob("*") if path.is_file())

    async def ours() -> Sample:
        started, wall = time.process_time(), time.perf_counter()
        made = await engine.export_zip(CALL, ["."], "")
        sample = {"cpu": (time.process_time() - started) * 1000, "wall": (time.perf_counter() - wall) * 1000}
        os.unlink(made.path)
        assert made.file_count == count, made.skipped
        return sample

    async def floor() -> Sample:
        target = folder / "floor.zip"
        started, wall = _children_s(), time.perf_counter()
        command = [zip_program, "-6", "-r", "-q", "-D", str(target), "."]
        await asyncio.to_thread(subprocess.run, command, cwd=files, check=True)
        sample = {"cpu": (_children_s() - started) * 1000, "wall": (time.perf_counter() - wall) * 1000}
        target.unlink()
        return sample

    sides = {"ours": ours, "floor": floor}
    for side in sides.values():
        await side()
    samples = await interleave(rounds, sides)
    what = f"export_zip of {count:,} files vs `zip -6`"
    return compare(what, "cpu", "ms CPU", samples["ours"], samples["floor"], Goal(1.25))


def _fill(folder: Path) -> Path:
    """Put the sources of this Python's library into the workspace, and return where that is."""
    with Folders(folder).of(CALL) as session:
        files = session.path / "files"
    library = Path(sysconfig.get_path("stdlib"))
    for source in library.rglob("*.py"):
        if "site-packages" not in source.parts:
            target = files / source.relative_to(library)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return files


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _growth_mib(folder: Path, size_mib: int) -> float:
    """Pack many files in a process of its own, and return by how much its resident set grew at most."""
    command = [sys.executable, "-m", "benchmarks.exports", str(folder / "large"), str(size_mib)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(told)


def _pack_large(folder: Path, size_mib: int) -> None:
    """Pack one file of half the size and many for the rest, and print by how much the resident set grew."""
    with Folders(folder).of(CALL) as session:
        files = session.path / "files"
    (files / "small.txt").write_text("to load what is loaded once", encoding="ascii")
    # Neither all the same nor without any pattern, as files are.
    block = b"".join(number.to_bytes(4, "big") * (number % 7 + 1) for number in range(MIB // 16))[:MIB]
    with (files / "large.bin").open("wb") as large:
        for _ in range(size_mib // 2):
            large.write(block)
    for number in range(size_mib * 16):
        path = files / "many" / str(number // 100) / f"file number {number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(block[: MIB // 32])
    engine = Exports(Folders(folder))
    asyncio.run(engine.export_zip(CALL, ["small.txt"], ""))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = _peak_mib()
    asyncio.run(engine.export_zip(CALL, ["large.bin", "many"], ""))
    print(_peak_mib() - before)


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    _pack_large(Path(sys.argv[1]), int(sys.argv[2]))
