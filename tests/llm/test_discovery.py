"""Servers of models on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from madang.llm.discovery import USUAL_PORTS, FoundServer, find_servers
from tests.model_server import Exchange, ModelServer

CONNECTIONS = """
import sys
seen = []
sys.addaudithook(lambda event, values: seen.append(values[1]) if event == "socket.connect" else None)
from madang.cli import main
code = main(["models", "--json"])
import json
print("SEEN", json.dumps([list(map(str, address)) for address in seen if isinstance(address, tuple)]), file=sys.stderr)
sys.exit(code)
"""


async def test_servers_that_answer_are_found_with_their_models(server: ModelServer) -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.whole(200, b'{"data": [{"id": "qwen3"}, {"id": "gemma"}]}')

    server.plays(play)
    async with ModelServer() as gone:
        closed = gone.port
    async with ModelServer() as stranger:
        stranger.plays(_login_page)
        found = await find_servers({"Ollama": server.port, "LM Studio": stranger.port, "vLLM": closed})

    assert found == [FoundServer("Ollama", f"http://127.0.0.1:{server.port}/v1", ("qwen3", "gemma"))]
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/v1/models")
    assert "authorization" not in request.headers


def test_looking_for_models_connects_to_the_usual_ports_of_this_machine_and_to_nothing_else(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", CONNECTIONS],
        env={**os.environ, "MADANG_DATA_DIR": str(tmp_path), "ANTHROPIC_API_KEY": "sk-a"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    connected = json.loads(result.stderr.rpartition("SEEN ")[2])
    assert {(host, int(port)) for host, port, *_ in connected} <= {("127.0.0.1", port) for port in USUAL_PORTS.values()}
    assert connected


async def _login_page(exchange: Exchange) -> None:
    await exchange.whole(200, b"<html>Log in</html>", {"content-type": "text/html"})
