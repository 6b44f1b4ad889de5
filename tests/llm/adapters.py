"""Every way to a model, each towards the stub server, and what collects their answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from pydantic import SecretStr

from madang.llm.anthropic import MessagesModel
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest, OfferedTool
from madang.llm.compatible import CompatibleModel
from madang.llm.connection import Connection, StreamLimits
from madang.llm.messages import user_message
from madang.llm.vendors import VendorModel
from tests.model_wires import Wire

KEY = "sk-very-secret-key-0123456789"
QUICK = StreamLimits(connect_s=20, first_event_s=60, idle_s=60)
ADD = OfferedTool("add_todo", "Add a to-do.", {"type": "object", "properties": {"name": {"type": "string"}}})
QUESTION = ModelRequest("Be brief.", [user_message("Add two.")], [ADD])


@dataclass(frozen=True, slots=True)
class Adapter:
    """A way to a model: which wire it speaks, and how to make it for a server."""

    wire: Wire
    make: Callable[[str, str, StreamLimits], Model]


def _vendor(provider: str, path: str = "") -> Callable[[str, str, StreamLimits], Model]:
    def make(url: str, name: str, limits: StreamLimits) -> Model:
        return VendorModel(provider, name, Connection(url + path, SecretStr(KEY), limits=limits))

    return make


def _compatible(url: str, name: str, limits: StreamLimits) -> Model:
    return CompatibleModel(name, Connection(f"{url}/v1", SecretStr(KEY), limits=limits))


def _messages(url: str, name: str, limits: StreamLimits) -> Model:
    return MessagesModel(name, Connection(url, SecretStr(KEY), limits=limits))


ADAPTERS = {
    "compatible": Adapter("chat", _compatible),
    "anthropic": Adapter("anthropic", _messages),
    "openai-responses": Adapter("responses", _vendor("openai-responses", "/v1")),
    "google-gemini": Adapter("google", _vendor("google-gemini")),
}


async def collect(model: Model, request: ModelRequest = QUESTION) -> tuple[list[ModelDelta], ModelAnswer]:
    """Return the deltas of an answer, and the answer, which comes last."""
    deltas: list[ModelDelta] = []
    answer: ModelAnswer | None = None
    async with aclosing(model.stream(request)) as stream:
        async for item in stream:
            assert answer is None, "nothing comes after the answer"
            if isinstance(item, ModelAnswer):
                answer = item
            else:
                deltas.append(item)
    assert answer is not None
    return deltas, answer
