"""Servers of models on this machine, on their usual ports. Nothing else is connected to, and only when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from madang.llm.compatible import CompatibleModel
from madang.llm.connection import Connection, StreamLimits
from madang.llm.errors import ModelError

USUAL_PORTS: Mapping[str, int] = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080, "vLLM": 8000}

LIMITS = StreamLimits(connect_s=1.0, first_event_s=3.0, idle_s=3.0, max_line_bytes=2**20, max_stream_bytes=2**20)


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered, with the models it has."""

    name: str
    url: str
    models: tuple[str, ...]


async def find_servers(ports: Mapping[str, int] = USUAL_PORTS) -> list[FoundServer]:
    """Return the servers of models that answer on loopback, in the order of `ports`. No key is sent to any."""
    found: dict[str, FoundServer] = {}

    async def look(name: str, port: int) -> None:
        url = f"http://127.0.0.1:{port}/v1"
        model = CompatibleModel("", Connection(url, limits=LIMITS))
        try:
            found[name] = FoundServer(name, url, tuple(await model.list_models()))
        except ModelError:
            pass  # nothing is there, or something else
        finally:
            await model.close()

    async with anyio.create_task_group() as tasks:
        for name, port in ports.items():
            tasks.start_soon(look, name, port)
    return [found[name] for name in ports if name in found]
