"""Documents through the parser, in a fenced child of ours, against the fastest program there is for PDF."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.harness import Effort, Finding, Goal, Sample, compare, interleave
from madang.services.content.engine.parsing import Parser

PAGES = 120
LINES = 45


async def documents(effort: Effort) -> list[Finding]:
    """PDFs of more than a hundred Korean pages: how long until the text is there, and how many words are right.

    Two kinds, because the floor is no floor for one of them: pdftotext is slow with the Type 3 fonts of a browser.
    """
    from tests.browser.embedding import chromium
    from tests.documents import html_page, paragraphs, printed, sentences, typeset

    program = shutil.which("pdftotext")
    if program is None:
        print("Left out: there is no pdftotext on the PATH (it is in the package poppler-utils).", file=sys.stderr)
        return []
    texts = sentences(PAGES * LINES)
    async with chromium() as browser:
        by_browser = await printed(browser, html_page(paragraphs(texts)))
    by_word_processor = typeset([texts[start : start + LINES] for start in range(0, len(texts), LINES)])
    findings = []
    for kind, data in (("as word processors write", by_word_processor), ("as Chromium prints", by_browser)):
        findings += await _pdf(effort, program, kind, data, "\n".join(texts))
    return findings


async def _pdf(effort: Effort, program: str, kind: str, data: bytes, text: str) -> list[Finding]:
    from tests.documents import word_f1

    parser = Parser()
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(data)
        file.flush()

        async def ours() -> Sample:
            started = time.perf_counter()
            parsed = await parser.parse(data, filename="a.pdf")
            spent = (time.perf_counter() - started) * 1e3
            await _settled()
            return {"wall": spent, "f1": word_f1(text, parsed.text), "pages": len(parsed.page_lines)}

        async def theirs() -> Sample:
            started = time.perf_counter()
            command = [program, file.name, "-"]
            done = await asyncio.to_thread(subprocess.run, command, check=True, stdout=subprocess.PIPE)
            return {"wall": (time.perf_counter() - started) * 1e3, "f1": word_f1(text, done.stdout.decode())}

        first = await ours()
        samples = await interleave(effort.rounds, {"ours": ours, "pdftotext": theirs})
    await parser.close()
    what = f"parser, PDF of {first['pages']:.0f} Korean pages {kind}"
    floor = samples["pdftotext"]
    return [
        compare(f"{what} vs pdftotext", "wall", "ms wall", samples["ours"], floor, Goal(2)),
        compare(f"{what}, first document vs pdftotext", "wall", "ms wall", [first], floor[:1], Goal(2, promised=False)),
        _words(f"{what}: F1 of words vs the known text", samples["ours"]),
        _words(f"{what}: F1 of pdftotext's words, for comparison", floor, promised=False),
    ]


def _words(what: str, samples: Sequence[Sample], *, promised: bool = True) -> Finding:
    known = [{"f1": 1.0}] * len(samples)
    return compare(what, "f1", "F1", samples, known, Goal(0.99, at_least=True, promised=promised))


async def _settled() -> None:
    """Let the spare load its libraries: whoever adds one document after another waits for the model between them."""
    await asyncio.sleep(0.3)
