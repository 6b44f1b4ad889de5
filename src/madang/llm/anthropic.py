"""A client for Anthropic's Messages, which other servers speak too."""

from __future__ import annotations

from dataclasses import replace

from madang.llm.anthropic_answer import MessagesAnswer
from madang.llm.anthropic_request import DEFAULT_MESSAGES_DIALECT, messages_body
from madang.llm.base import ModelRequest
from madang.llm.connection import Connection, check_url
from madang.llm.http_model import HttpModel

API_VERSION = "2023-06-01"


class MessagesModel(HttpModel):
    """A model behind the Messages API. `connection.url` is its address without `/v1`."""

    wire = "Messages"
    path = "/v1/messages"
    models_path = "/v1/models?limit=1000"

    def __init__(self, name: str, connection: Connection, *, provider: str = "anthropic", label: str = "") -> None:
        connection = replace(connection, url=_base_url(connection.url))
        super().__init__(name, connection, provider=provider, label=label or f"{provider}:{name}")
        self._dialect = DEFAULT_MESSAGES_DIALECT

    def _key_headers(self) -> dict[str, str]:
        key = self._connection.key
        named = {"x-api-key": key.get_secret_value()} if key is not None else {}
        return {"anthropic-version": API_VERSION, **named}

    def _body(self, request: ModelRequest) -> bytes:
        return messages_body(self.provider, self.name, request, self._dialect)

    def _learn(self, refusal: str) -> None:
        self._dialect = self._dialect.after(refusal)

    def _fold(self, request: ModelRequest) -> MessagesAnswer:
        return MessagesAnswer(self.provider, self.name, request, self._connection.limits.max_calls)


def _base_url(url: str) -> str:
    return check_url(url).removesuffix("/messages").removesuffix("/v1")
