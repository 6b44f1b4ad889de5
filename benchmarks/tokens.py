"""How much of a model's context the list of tools takes."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from benchmarks.harness import Effort, Finding, Goal
from benchmarks.servers import madang_command, stdio_server
from benchmarks.venvs import python_with

TOKENIZER = "bpe-openai==0.1.4"
ENCODING = "o200k_base"
MOST_TOKENS = 2_500

_COUNT = """
import json, sys, bpe_openai
encoding = bpe_openai.get_encoding(sys.argv[1])
print(json.dumps([len(encoding.encode(text)) for text in json.load(sys.stdin)]))
"""


async def tokens(effort: Effort) -> list[Finding]:
    """What a model is shown of the tools (name, description, input schema), and all that the list holds."""
    python = python_with(TOKENIZER)  # it brings its vocabulary along; others would fetch it from somewhere
    if python is None:
        return []
    with tempfile.TemporaryDirectory() as folder, stdio_server(madang_command(Path(folder))) as server:
        tools = server.ask("tools/list")["tools"]
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]
    texts = [json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in (shown, tools)]
    for_model, whole = _counted(python, texts)
    what = f"{len(tools)} tools, tokens ({ENCODING})"
    return [
        _finding(f"{what} that a model sees vs {MOST_TOKENS:,}", for_model, promised=True),
        _finding(f"{what} of the whole tools/list vs {MOST_TOKENS:,}", whole, promised=False),
    ]


def _counted(python: Path, texts: list[str]) -> list[int]:
    words = [str(python), "-c", _COUNT, ENCODING]
    done = subprocess.run(words, input=json.dumps(texts), capture_output=True, check=True, text=True)
    counts: list[int] = json.loads(done.stdout)
    return counts


def _finding(what: str, counted: int, *, promised: bool) -> Finding:
    return Finding(what, "tokens", counted, MOST_TOKENS, counted / MOST_TOKENS, Goal(1, promised=promised))
