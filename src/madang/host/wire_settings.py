"""Shapes of settings as they cross between browser and host: models, keys, data, clients, requests.

A key crosses in one direction only: no answer has a field for one.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from madang.core.documents import Document
from madang.core.limits import MAX_MODEL_CHARS, MAX_NAME_CHARS
from madang.llm.keys import MAX_KEY_CHARS

MAX_URL_CHARS = 2000
MAX_WORDS_CHARS = 100

KeyPlace = Literal["environment", "keyring", "file", "missing", "none", "unreadable"]
"""Where a key is; `none`: none is needed."""


class KeyAnswer(Document):
    """A key by its name, and where it is. Never the key."""

    name: str
    """Empty: it is one of the environment, or none."""
    place: KeyPlace


class ModelAnswer(Document):
    name: str
    model: str
    """As its server calls it."""
    provider: str
    """The vendor, or the address of the server without a password."""
    is_local: bool
    """Requests to it stay on this computer."""
    window_tokens: int | None
    has_prices: bool
    is_configured: bool
    """It stands in `config.toml`, from where it can be removed."""
    key: KeyAnswer


class VendorAnswer(Document):
    name: str
    title: str
    """As people call it."""
    url: str
    is_installed: bool
    extra: str
    """What `pip install 'madang[…]'` has to name; empty: nothing has to be installed."""
    key: KeyAnswer


class ModelsAnswer(Document):
    default: str
    """The model of assistants that have none of their own; empty: the person is the model."""
    fixed: str
    """The model of every run, because Madang was started with it; empty: there is none."""
    models: list[ModelAnswer]
    vendors: list[VendorAnswer]
    key_place: Literal["keyring", "file", "environment"]
    """Where a key is kept that is saved now."""
    key_file: str


class NewModelBody(Document):
    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    url: str = Field(default="", max_length=MAX_URL_CHARS)
    provider: str = Field(default="", max_length=MAX_NAME_CHARS)
    model: str = Field(min_length=1, max_length=MAX_MODEL_CHARS)
    key: SecretStr | None = Field(default=None, max_length=MAX_KEY_CHARS)
    window_tokens: int | None = Field(default=None, ge=1000, le=100_000_000)


class DefaultModelBody(Document):
    name: str = Field(max_length=MAX_MODEL_CHARS)
    """Empty: none."""


class LocalServer(Document):
    name: str
    url: str
    models: list[str]


class LocalServersAnswer(Document):
    servers: list[LocalServer]


class TryModelBody(Document):
    name: str = Field(min_length=1, max_length=MAX_MODEL_CHARS)


class TryModelAnswer(Document):
    """What came of asking a model for a word. That it failed is an answer too."""

    is_ok: bool
    text: str
    took_ms: int
    message: str
    hint: str


class KeyBody(Document):
    key: SecretStr = Field(max_length=MAX_KEY_CHARS)


class SavedKeyAnswer(Document):
    key: KeyAnswer
    message: str
    """Where it is now, in words; a warning if it is not encrypted there."""


class DataAnswer(Document):
    folder: str
    free_bytes: int
    session_count: int
    is_on_server: bool
    """The database is on a server, which has its own ways of backing up and deleting."""
    deletion_words: str
    """What the person has to write to delete everything."""


class DataSizeAnswer(Document):
    database_bytes: int
    file_bytes: int
    other_bytes: int
    is_cut: bool
    """There is more: not everything was counted."""


class DeleteDataBody(Document):
    words: str = Field(max_length=MAX_WORDS_CHARS)


class ClientSessionAnswer(Document):
    id: str
    """Empty: it was deleted."""
    title: str
    calls: int
    last_at: str


class ClientAnswer(Document):
    """A program that called tools. Its name is what it says of itself."""

    name: str
    door: str
    calls: int
    first_at: str
    last_at: str
    sessions: list[ClientSessionAnswer]


class ClientsAnswer(Document):
    days: int
    clients: list[ClientAnswer]


class ClientCallsQuery(Document):
    before: int = Field(default=0, ge=0)


class ClientCallAnswer(Document):
    seq: int
    at: str
    client: str
    tool: str
    effect: str
    arguments: str
    outcome: str
    took_ms: float


class ClientCallsAnswer(Document):
    calls: list[ClientCallAnswer]
    has_more: bool


class RequestsByHost(Document):
    host: str
    purpose: str
    count: int
    last_at: str


class RequestsAnswer(Document):
    """Requests that left this computer, by host."""

    days: int
    hosts: list[RequestsByHost]
