"""The table of findings, for the terminal and for RESULTS.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness import Effort, Finding

RESULTS = Path(__file__).with_name("RESULTS.md")
PACKAGES = ("madang", "mcp", "pydantic", "anyio", "apsw", "asyncpg", "starlette", "uvicorn")
HEADER = ("what", "ours", "floor", "unit", "ratio", "goal", "verdict")


def table(findings: Sequence[Finding]) -> str:
    """Return the findings as a Markdown table whose columns also line up in a terminal."""
    rows = [HEADER, *(_cells(finding) for finding in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def save(findings: Sequence[Finding], effort: Effort) -> None:
    """Write RESULTS.md."""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    RESULTS.write_text(
        f"""\
# Results

Written by `python -m benchmarks --save` on {datetime.now(UTC):%Y-%m-%d}. Read the ratios: both sides ran in turns on
the same machine, which other jobs may have shared, so microseconds elsewhere will differ. "info" marks a goal that is
not promised yet.

- Machine: {_machine()}
- Versions: Python {platform.python_version()}, {versions}
- Medians of {effort.rounds} rounds ({effort.starts} for starts), {effort.calls} calls each

{table(findings)}
""",
        encoding="utf-8",
    )


def _cells(finding: Finding) -> tuple[str, ...]:
    return (
        finding.what,
        _number(finding.ours),
        _number(finding.floor),
        finding.unit,
        f"{finding.ratio:.2f}",
        str(finding.goal),
        finding.verdict,
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _machine() -> str:
    load = "/".join(f"{value:.0f}" for value in os.getloadavg())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} cores, {round(memory / 1024**3)} GiB, {system}, load averages at the end {load}"
