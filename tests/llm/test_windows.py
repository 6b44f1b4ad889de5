"""How much a model reads at once, as its server tells."""

from __future__ import annotations

from typing import Any

import pytest
from anyio import fail_after
from pydantic import SecretStr

from madang.agent.models import OpenModels
from madang.llm.compatible import CompatibleModel
from madang.llm.connection import Connection, is_nearby
from madang.llm.opening import OpenedModel
from madang.llm.windows import ask_window
from tests.llm.adapters import QUICK
from tests.model_server import ModelServer

LLAMA = {"default_generation_settings": {"n_ctx": 16_384}, "total_slots": 4}
LLAMA_LIST = {"data": [{"id": "qwen", "meta": {"n_ctx_train": 32_768, "n_params": 1}}]}
VLLM = {"data": [{"id": "other", "max_model_len": 9_000}, {"id": "qwen", "max_model_len": 40_960}]}
STUDIO = {"data": [{"id": "qwen", "max_context_length": 131_072, "loaded_context_length": 4_096}]}
UNLOADED = {"data": [{"id": "qwen", "state": "not-loaded", "max_context_length": 131_072}]}
SHOWN = {"parameters": "stop  x\nnum_ctx    8192\n", "model_info": {"qwen2.context_length": 32_768}}
TRAINED = {"parameters": "", "model_info": {"qwen2.context_length": 32_768, "qwen2.block_count": 28}}
RUNNING = {"models": [{"name": "qwen:latest", "model": "qwen:latest", "context_length": 4_096}]}


@pytest.mark.parametrize(
    ("told", "window"),
    [
        ({"/v1/models": VLLM}, 40_960),
        ({"/v1/models": LLAMA_LIST, "/props": LLAMA}, 16_384),
        ({"/v1/models": {"data": [{"id": "a.gguf", "meta": {"n_ctx": 8_000, "n_ctx_train": 32_768}}]}}, 8_000),
        ({"/v1/models": LLAMA_LIST}, 32_768),
        ({"/v1/models": {"data": [{"id": "qwen"}]}, "/api/v0/models": STUDIO}, 4_096),
        ({"/api/v0/models": UNLOADED}, 131_072),
        ({"/v1/models": {"data": [{"id": "qwen"}]}, "/api/show": SHOWN}, 8_192),
        ({"/api/show": TRAINED, "/api/ps": RUNNING}, 4_096),
        ({"/api/show": TRAINED, "/api/ps": {"models": []}}, 32_768),
        ({}, None),
        ({"/v1/models": {"data": [{"id": "qwen", "max_model_len": 0}]}, "/props": {"x": 1}}, None),
        ({"/v1/models": {"data": ["qwen"]}, "/api/show": {"model_info": 3, "parameters": ["num_ctx 1"]}}, None),
        ({"/v1/models": {"data": [{"id": "qwen", "max_model_len": "40960"}]}}, None),
    ],
)
async def test_each_kind_of_server_is_understood_and_what_is_loaded_counts(told: Any, window: int | None) -> None:
    async with ModelServer() as server:
        server.windows = told
        connection = Connection(f"{server.url}/v1", SecretStr("sk-1"), limits=QUICK)

        assert await ask_window(connection, "qwen") == window
        assert {request.headers["authorization"] for request in server.probes} == {"Bearer sk-1"}


async def test_a_server_is_asked_once_for_a_model_and_not_where_the_person_has_said_it() -> None:
    async with ModelServer() as server:
        server.windows = {"/props": LLAMA}
        set_by_person = {"set": 9_000}

        def open_model(name: str) -> OpenedModel:
            model = CompatibleModel("qwen", Connection(f"{server.url}/v1", limits=QUICK))
            return OpenedModel(model, window_tokens=set_by_person.get(name))

        models = OpenModels(open_model)
        assert (await models.get("set")).window_tokens == 9_000
        assert server.probes == []
        assert (await models.get("asked")).window_tokens == 16_384
        count = len(server.probes)
        assert (await models.get("asked")).window_tokens == 16_384
        assert len(server.probes) == count
        server.windows = {}
        assert (await models.get("silent")).window_tokens is None
        count = len(server.probes)
        assert (await models.get("silent")).window_tokens is None
        assert len(server.probes) == count
        models.reopen()
        server.windows = {"/props": {"default_generation_settings": {"n_ctx": 4_096}}}
        assert (await models.get("asked")).window_tokens == 4_096
        await models.close()


async def test_a_server_that_is_not_there_yet_is_asked_again_by_the_next_run() -> None:
    async with ModelServer() as gone:
        port = gone.port
    url = f"http://127.0.0.1:{port}/v1"
    models = OpenModels(lambda name: OpenedModel(CompatibleModel("qwen", Connection(url, limits=QUICK))))
    assert (await models.get("qwen")).window_tokens is None
    async with ModelServer(port=port) as server:
        server.windows = {"/props": LLAMA}
        assert (await models.get("qwen")).window_tokens == 16_384
    await models.close()


async def test_addresses_on_the_internet_are_not_asked() -> None:
    # It would hang or fail where a name is looked up or a connection is made.
    with fail_after(60):
        assert await ask_window(Connection("https://models.invalid.example/v1"), "qwen") is None
    for url in (
        "https://api.openai.com/v1",
        "http://8.8.8.8/v1",
        "https://llm.example.com/v1",
        "http://[2001:4860::1]",
    ):
        assert not is_nearby(url), url
    for url in ("http://127.0.0.1:1/v1", "http://192.168.0.7/v1", "http://gpu-box:8000/v1", "http://nas.local/v1"):
        assert is_nearby(url), url
