"""Who pays for models: those who use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SERVED = """
import sys, threading
from madang.cli import main
code = main(["mcp"])
heavy = ("madang.llm", "madang.agent", "pydantic_ai", "openai", "anthropic", "google.genai", "keyring", "tiktoken")
print("LOADED", *sorted(name for name in sys.modules if name.startswith(heavy)), file=sys.stderr)
"""


def test_madang_mcp_imports_nothing_of_models_and_the_agent(tmp_path: Path) -> None:
    """Also when config.toml names some, and a tool is called."""
    (tmp_path / "config.toml").write_text('[models.quick]\nurl = "http://127.0.0.1:1/v1"\nmodel = "x"\n')
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "get_current_state", "arguments": {}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)

    result = subprocess.run(
        [sys.executable, "-c", SERVED],
        input=lines,
        env={**os.environ, "MADANG_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert '"id":3' in result.stdout.replace(" ", "")
    assert result.stderr.rpartition("LOADED")[2].strip() == ""


@pytest.mark.parametrize(
    "module", ["base", "compatible", "vendors", "scripted", "discovery", "keys", "opening", "messages"]
)
def test_no_vendors_package_is_imported_before_it_is_asked(module: str) -> None:
    heavy = "('pydantic_ai', 'openai', 'anthropic', 'google.genai', 'keyring', 'httpx2')"
    code = f"import sys, madang.llm.{module}; print(*[name for name in sys.modules if name.startswith({heavy})])"

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert result.stdout.strip() == ""
