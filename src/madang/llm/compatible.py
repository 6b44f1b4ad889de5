"""A client for servers that speak OpenAI's chat completions: Ollama, LM Studio, llama.cpp, vLLM and most others."""

from __future__ import annotations

from dataclasses import replace

from madang.llm.base import ModelRequest
from madang.llm.chat_answer import ChatAnswer
from madang.llm.chat_request import DEFAULT_DIALECT, Dialect, chat_body
from madang.llm.connection import Connection, check_url
from madang.llm.http_model import HttpModel


class CompatibleModel(HttpModel):
    """A model of an OpenAI-compatible server. `connection.url` is its address as far as `/v1`."""

    wire = "chat completions"
    path = "/chat/completions"
    models_path = "/models"

    def __init__(
        self,
        name: str,
        connection: Connection,
        *,
        provider: str = "",
        label: str = "",
        dialect: Dialect = DEFAULT_DIALECT,
    ) -> None:
        connection = replace(connection, url=_base_url(connection.url))
        super().__init__(name, connection, provider=provider, label=label)
        self._dialect = dialect

    async def find_window(self) -> int | None:
        from madang.llm.windows import ask_window

        return await ask_window(self._connection, self.name)

    def _key_headers(self) -> dict[str, str]:
        key = self._connection.key
        return {"authorization": f"Bearer {key.get_secret_value()}"} if key is not None else {}

    def _body(self, request: ModelRequest) -> bytes:
        return chat_body(self.provider, self.name, request, self._dialect)

    def _learn(self, refusal: str) -> None:
        self._dialect = self._dialect.after(refusal)

    def _fold(self, request: ModelRequest) -> ChatAnswer:
        return ChatAnswer(self.provider, self.name, request, self._connection.limits.max_calls)


def _base_url(url: str) -> str:
    """Return the address to which `/chat/completions` is added; a bare host gets the usual `/v1`."""
    url = check_url(url).removesuffix("/chat/completions")
    return f"{url}/v1" if url.count("/") == 2 else url
