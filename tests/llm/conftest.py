"""A stub server of models, and each adapter towards it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from madang.llm.base import Model
from madang.llm.connection import StreamLimits
from tests.llm.adapters import ADAPTERS, QUICK, Adapter
from tests.model_server import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture(params=list(ADAPTERS))
def adapter(request: pytest.FixtureRequest) -> Adapter:
    return ADAPTERS[request.param]


@pytest.fixture
async def opened(server: ModelServer) -> AsyncIterator[Callable[..., Model]]:
    """Makes models towards the stub server, and closes them."""
    models: list[Model] = []

    def make(adapter: Adapter, name: str = "stub", limits: StreamLimits = QUICK) -> Model:
        models.append(adapter.make(server.url, name, limits))
        return models[-1]

    yield make
    for model in models:
        await model.close()


@pytest.fixture
def model(adapter: Adapter, opened: Callable[..., Model]) -> Model:
    made: Model = opened(adapter)
    return made
