"""`python -m benchmarks [NAME ...] [--quick] [--save]`: measure, print the table, and fail when a goal is missed."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable

from benchmarks import (
    additions,
    agents,
    bulk,
    contexts,
    exports,
    files,
    floods,
    hangul,
    http,
    memory,
    messages,
    models,
    notices,
    parsing,
    parts,
    passages,
    postgresql,
    report,
    requests,
    search,
    stdio,
    store,
    stores,
    tokens,
    tool_search,
    ui,
    web,
    web_panels,
    web_streams,
)
from benchmarks.harness import FULL, QUICK, Effort, Finding

BENCHMARKS: dict[str, Callable[[Effort], Awaitable[list[Finding]]]] = {
    "scale": store.scale,
    "stdio": stdio.calls,
    "start": stdio.starts,
    "sql": store.sql,
    "commits": store.commits,
    "postgresql": postgresql.reads,
    "postgresql-scale": postgresql.scale,
    "postgresql-search": parts.search,
    "notices": notices.notices,
    "memory": memory.calls,
    "messages": messages.messages,
    "postgresql-messages": messages.on_a_server,
    "models": models.deltas,
    "agent-turns": agents.turns,
    "agent-runs": agents.runs,
    "bulk": bulk.memory,
    "stores": stores.stores,
    "http": http.calls,
    "load": http.load,
    "fastmcp": http.fastmcp,
    "tokens": tokens.tokens,
    "requests": requests.requests,
    "tool-search": tool_search.quality,
    "search": search.quality,
    "documents": parsing.documents,
    "files": files.files,
    "passages": passages.speed,
    "additions": additions.additions,
    "ui": ui.calls,
    "exports": exports.exports,
    "contexts": contexts.contexts,
    "floods": floods.floods,
    "hangul": hangul.stalls,
    "web-load": web.load,
    "web-stream": web.stream,
    "web-messages": web.messages,
    "web-panels": web_panels.panels,
    "web-streams": web_streams.streams,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for trying out")
    parser.add_argument("--save", action="store_true", help=f"also write {report.RESULTS.name}")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    effort = QUICK if options.quick else FULL
    findings = asyncio.run(_measure(options.names or list(BENCHMARKS), effort))
    print(report.table(findings))
    if options.save:
        report.save(findings, effort)
    return 1 if any(finding.is_missed for finding in findings) else 0


async def _measure(names: list[str], effort: Effort) -> list[Finding]:
    findings: list[Finding] = []
    for name in names:
        print(f"{name} ...", file=sys.stderr)
        findings += await BENCHMARKS[name](effort)
    return findings


if __name__ == "__main__":
    sys.exit(main())
