"""What reading a model's answer costs: our own client against pydantic-ai, on the same server, in turns."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import SecretStr

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from madang.llm.base import Model, ModelRequest
from madang.llm.compatible import CompatibleModel
from madang.llm.connection import Connection
from madang.llm.messages import user_message
from madang.llm.vendors import VendorModel, is_installed

DELTAS = 10_000
MAX_DELTA_US = 30.0
ROUNDS = 5
"""At most: an answer has 10,000 deltas, which is enough of them for one round."""


async def deltas(effort: Effort) -> list[Finding]:
    """The processor time of one delta, of an answer of 10,000 that comes as fast as it is read."""
    with _server() as port:
        connection = Connection(f"http://127.0.0.1:{port}/v1", SecretStr("none"))
        ours = CompatibleModel("stub", connection)
        sides: dict[str, Side] = {"ours": _read(ours)}
        models: list[Model] = [ours]
        if is_installed("openai-responses"):
            models.append(VendorModel("openai-responses", "stub", connection))
            sides["pydantic-ai"] = _read(models[-1])
        for side in sides.values():
            await side()  # imports, connections
        samples = await interleave(min(effort.rounds, ROUNDS), sides)
        for model in models:
            await model.close()
    what = f"models, one of {DELTAS:,} deltas of a chat completion"
    bound: list[Sample] = [{"cpu": MAX_DELTA_US} for _ in samples["ours"]]
    found = [compare(f"{what} vs {MAX_DELTA_US:g} µs", "cpu", "µs CPU", samples["ours"], bound, Goal(1))]
    if "pydantic-ai" in samples:
        theirs = samples["pydantic-ai"]
        found.append(
            compare(f"{what} vs one of Responses by pydantic-ai", "cpu", "µs CPU", samples["ours"], theirs, Goal(0.5))
        )
    return found


def _read(model: Model) -> Side:
    request = ModelRequest("Be brief.", [user_message("Count.")])

    async def side() -> Sample:
        began, number = time.process_time(), 0
        async for _ in model.stream(request):
            number += 1
        assert number > DELTAS
        return {"cpu": (time.process_time() - began) / number * 1e6}

    return side


@contextmanager
def _server() -> Iterator[int]:
    """The stub server in a process of its own, so that its work is not counted."""
    server = subprocess.Popen([sys.executable, "-m", "tests.model_server"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline())
    finally:
        server.kill()
        server.wait()
