"""How much a model can read at once, as its own server tells it.

There is no standard for it, so a server on this machine or its network is asked in the ways of those that people run:
vLLM, llama.cpp, LM Studio, Ollama. What is loaded counts before what the model could do, which is often far more.
Servers on the internet are not asked: these are a vendor's, or somebody's who did not invite us to look around.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
from pydantic_core import from_json

from madang.core.phrases import say
from madang.llm.connection import Connection, StreamLimits, is_nearby
from madang.llm.errors import Unreachable

if TYPE_CHECKING:
    import httpx2

MAX_ASKING_S = 2.0
"""For all questions together: a run waits for it, once."""
MAX_ANSWER_BYTES = 4 * 2**20
MIN_WINDOW_TOKENS, MAX_WINDOW_TOKENS = 256, 100_000_000
"""Anything else is no window: some servers tell 0 for a model that is not loaded."""

_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)\s*$", re.MULTILINE)

Told = tuple[int | None, int | None]
"""How large the window is, and how large it could be at most."""


async def ask_window(connection: Connection, model: str) -> int | None:
    """Return how many tokens a model reads at once; None if its server does not tell, or is not near.

    Raises:
        Unreachable: nobody answers, or not in time.
    """
    if not is_nearby(connection.url):
        return None
    import httpx2

    from madang.llm.http import open_client

    headers = {name: value.get_secret_value() for name, value in connection.headers.items()}
    if connection.key is not None:
        headers["authorization"] = f"Bearer {connection.key.get_secret_value()}"
    headers["accept"] = "application/json"
    limits = StreamLimits(connect_s=MAX_ASKING_S, idle_s=MAX_ASKING_S)
    try:
        with anyio.fail_after(MAX_ASKING_S):
            async with open_client(replace(connection, limits=limits)) as client:
                return await _ask(client, connection.url, model, headers)
    except (TimeoutError, httpx2.HTTPError):
        raise Unreachable(say("The model's server does not answer.")) from None


async def _ask(client: httpx2.AsyncClient, url: str, model: str, headers: Mapping[str, str]) -> int | None:
    root = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"
    questions: Sequence[tuple[str, str, bytes | None, Callable[[Any, str], Told]]] = (
        ("GET", f"{url}/models", None, _in_list),
        ("GET", f"{root}/props", None, _in_props),
        ("GET", f"{root}/api/v0/models", None, _in_list),
        ("GET", f"{root}/api/ps", None, _in_running),
        ("POST", f"{root}/api/show", json.dumps({"model": model}).encode(), _in_show),
    )
    at_most: list[int] = []
    for method, address, body, read in questions:
        value = await _fetch(client, method, address, body, headers)
        window, possible = read(value, model)
        if window is not None:
            return window
        if possible is not None:
            at_most.append(possible)
    return min(at_most, default=None)


async def _fetch(
    client: httpx2.AsyncClient, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
) -> Any:
    """Return the JSON at an address; None if there is none."""
    async with client.stream(method, url, content=body, headers=dict(headers)) as response:
        data = bytearray()
        if response.status_code != 200:
            return None
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_ANSWER_BYTES:
                return None
    try:
        return from_json(bytes(data))
    except ValueError:
        return None


def _in_list(value: Any, model: str) -> Told:
    """Read a list of models: vLLM's and llama.cpp's at `/v1/models`, LM Studio's at `/api/v0/models`."""
    models = _objects(value, "data")
    named = [one for one in models if one.get("id") == model]
    # A server with one model answers for it under any name.
    for one in named or (models if len(models) == 1 else []):
        meta = one["meta"] if isinstance(one.get("meta"), dict) else {}
        window = _first(one.get("max_model_len"), one.get("loaded_context_length"), meta.get("n_ctx"))
        return window, _first(one.get("max_context_length"), meta.get("n_ctx_train"))
    return None, None


def _in_props(value: Any, model: str) -> Told:
    """Read llama.cpp's properties: each of its slots has this much."""
    settings = value.get("default_generation_settings") if isinstance(value, dict) else None
    return _first(settings.get("n_ctx") if isinstance(settings, dict) else None), None


def _in_running(value: Any, model: str) -> Told:
    """Read which models Ollama has loaded."""
    names = (model, f"{model}:latest")
    running = [one for one in _objects(value, "models") if one.get("name") in names or one.get("model") in names]
    return _first(*(one.get("context_length") for one in running)), None


def _in_show(value: Any, model: str) -> Told:
    """Read what Ollama knows of a model: the setting in its file, and what it was trained for."""
    if not isinstance(value, dict):
        return None, None
    setting = _NUM_CTX.search(str(value.get("parameters") or ""))
    info = value.get("model_info")
    lengths = [info[key] for key in info if str(key).endswith(".context_length")] if isinstance(info, dict) else []
    return _first(int(setting[1]) if setting else None), _first(*lengths)


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    found = value.get(name) if isinstance(value, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _first(*values: Any) -> int | None:
    for value in values:
        if type(value) is int and MIN_WINDOW_TOKENS <= value <= MAX_WINDOW_TOKENS:
            return value
    return None
