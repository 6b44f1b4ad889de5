"""How much of a model's context the list of tools takes."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import Effort, Finding, Goal
from benchmarks.servers import madang_command, stdio_server
from benchmarks.venvs import python_with

TOKENIZER = "bpe-openai==0.1.4"
ENCODING = "o200k_base"
MAX_TOKENS = 2_500

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
    two, every = _listed("--services", "playbook,planning"), _listed()
    parts = [_as_shown(two), two, _as_shown(every)]
    texts = [json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in parts]
    shown, whole, all_shown = count_texts(python, texts)
    what = f"tokens ({ENCODING})"
    of_two = f"{len(two)} tools of playbook and planning"
    return [
        _finding(f"{of_two}, {what} that a model sees vs {MAX_TOKENS:,}", shown, True),
        _finding(f"{of_two}, {what} of the whole list vs {MAX_TOKENS:,}", whole, False),
        _finding(f"{len(every)} tools of all services, {what} that a model sees vs {MAX_TOKENS:,}", all_shown, False),
    ]


def _listed(*options: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder, stdio_server(madang_command(Path(folder), *options)) as server:
        tools: list[dict[str, Any]] = server.ask("tools/list")["tools"]
    return tools


def _as_shown(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]


def count_texts(python: Path, texts: list[str]) -> list[int]:
    """Return how many tokens each text has."""
    words = [str(python), "-c", _COUNT, ENCODING]
    done = subprocess.run(words, input=json.dumps(texts), capture_output=True, check=True, text=True)
    counts: list[int] = json.loads(done.stdout)
    return counts


def _finding(what: str, counted: int, promised: bool) -> Finding:
    return Finding(what, "tokens", counted, MAX_TOKENS, counted / MAX_TOKENS, Goal(1, promised=promised))
