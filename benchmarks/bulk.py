"""Memory after bulk work: what adding and deleting many texts leaves in a process, a few seconds later.

Each round is a process of its own (`python -m benchmarks.bulk COUNT`): others' memory would hide it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.harness import Effort, Finding, Goal, Sample, compare
from benchmarks.servers import resident_mib
from madang.app import open_madang
from madang.settings import Settings

TEXTS = 2_000
QUICK_TEXTS = 100
TEXT_CHARS = 50_000
IDLE_S = 5.0
SEARCH: Final = ("keyword_similarity_search", {"query": "nothing"})


async def memory(effort: Effort) -> list[Finding]:
    """Resident memory after adding and deleting texts, beside that after the first one."""
    count = TEXTS if effort.rounds > 5 else QUICK_TEXTS
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.bulk", str(count), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    after, before = json.loads(output)
    what = f"content, resident memory after adding and deleting {count:,} texts of 50 KB vs one"
    return [compare(what, "mib", "MiB", [after], [before], Goal(1.5))]


async def _add_and_delete(count: int) -> tuple[Sample, Sample]:
    with tempfile.TemporaryDirectory() as folder:
        async with open_madang(Settings(Path(folder))) as madang:
            call = madang.call("python")

            async def cycle(texts: int) -> Sample:
                ids = []
                for number in range(texts):
                    reply = await madang.provider.execute_tool(call, "add_content", {"content": _text(number)})
                    ids.append(reply.data["contentId"])
                for id in ids:
                    await madang.provider.execute_tool(call, "delete_content", {"contentId": id})
                while "may not find everything" in (await madang.provider.execute_tool(call, *SEARCH)).text:
                    pass  # the index follows
                await asyncio.sleep(IDLE_S)
                return {"mib": resident_mib(os.getpid())}

            before = await cycle(1)
            return await cycle(count), before


def _text(seed: int) -> str:
    chance = random.Random(seed)
    words = ("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 10))) for _ in range(8_000))
    return " ".join(words)[:TEXT_CHARS].replace(" a", "\na")


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_add_and_delete(int(sys.argv[1])))))
