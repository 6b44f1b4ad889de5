"""The models that a host can use, as they are now: those of `config.toml` and changes made while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from pathlib import PurePath
from typing import Any

from pydantic import SecretStr

from madang.core.errors import Conflict, InvalidArguments, NotFound
from madang.core.ids import is_name
from madang.core.model_config import ModelConfig
from madang.core.phrases import Phrase, say
from madang.files.config_file import ConfigFile
from madang.llm.connection import check_url, is_loopback
from madang.llm.keys import KeyStore
from madang.llm.vendors import VENDORS, is_installed, not_installed

RESERVED = frozenset(":#/")
"""In a name of one's own these would make it look like `PROVIDER:MODEL` or `URL#MODEL`."""


class ModelCatalogue:
    """Names of models and what is said of each. `configs` is shared with whoever opens models."""

    def __init__(
        self, configs: MutableMapping[str, ModelConfig], file: ConfigFile, keys: KeyStore, *, fixed: str, default: str
    ) -> None:
        self.configs = configs
        self.keys = keys
        self.fixed = fixed
        """The model of every run, whatever assistants say."""
        self.default = default
        self._file = file
        self._changing = asyncio.Lock()

    @property
    def model(self) -> str:
        """The model of runs whose assistant has none of its own, or that of every run; empty: the person is it."""
        return self.fixed or self.default

    @property
    def names(self) -> dict[str, str]:
        """The models that can be chosen, with how they are called."""
        names = {name: config.model or name for name, config in self.configs.items()}
        for name in filter(None, (self.fixed, self.default)):
            names.setdefault(name, _label(name))
        return names

    def has_prices(self, name: str) -> bool:
        """Tell whether the cost of a model is known."""
        config = self.configs.get(name)
        return config is not None and config.input_price is not None and config.output_price is not None

    def key_names(self) -> set[str]:
        """Return the names under which keys are looked for: no others are kept."""
        named = {config.key.removeprefix("keyring:") for config in self.configs.values() if _is_kept(config.key)}
        return named | {vendor.key_name for vendor in VENDORS.values()}

    async def add(
        self, name: str, *, url: str, provider: str, model: str, key: SecretStr | None, window_tokens: int | None
    ) -> Phrase | None:
        """Add a model to `config.toml`, and keep its key under its name; return where the key is.

        Where there is no default model it is that from now on: a model that was added is there to be used.

        Raises:
            InvalidArguments, SetupError: it cannot be reached so.
            Conflict: there is one of this name.
        """
        if not is_name(name) or RESERVED & set(name):
            raise InvalidArguments(say("A model's name has no colon, slash or number sign."))
        if bool(url) == bool(provider):
            raise InvalidArguments(say("A model has either the address of a server or a provider."))
        values: dict[str, Any] = {"url": check_url(url)} if url else {"provider": _checked_provider(provider)}
        values["model"] = model.strip()
        if key is not None:
            values["key"] = f"keyring:{name}"
        if window_tokens is not None:
            values["window_tokens"] = window_tokens
        config = ModelConfig.model_validate(values)
        async with self._changing:
            if name in self.configs:
                raise Conflict(say("There is a model '{name}' already.", name=name))
            # The key first: a model whose key is missing is worse than a key that is not used.
            place = await asyncio.to_thread(self.keys.save, name, key) if key is not None else None
            is_default = not self.default
            await asyncio.to_thread(self._file.add_model, name, values, as_default=is_default)
            self.configs[name] = config
            if is_default:
                self.default = name
        return place

    async def remove(self, name: str) -> None:
        """Take a model out of `config.toml`, with the key that was kept for it alone.

        Raises:
            NotFound: there is none of this name.
        """
        async with self._changing:
            config = self.configs.get(name)
            if config is None:
                raise NotFound(say("There is no model '{name}'.", name=name[:200]))
            if self.default == name:
                await asyncio.to_thread(self._file.set_default_model, "")
                self.default = ""
            await asyncio.to_thread(self._file.remove_model, name)
            del self.configs[name]
            if config.key == f"keyring:{name}" and name not in self.key_names():
                await asyncio.to_thread(self.keys.delete, name)

    async def set_default(self, name: str) -> None:
        """Choose the model of assistants that have none of their own; an empty name is none.

        Raises:
            NotFound: there is no such model.
        """
        if name and name not in self.names:
            raise NotFound(say("There is no model '{name}'.", name=name[:200]))
        async with self._changing:
            await asyncio.to_thread(self._file.set_default_model, name)
            self.default = name


def is_local_model(name: str, config: ModelConfig | None) -> bool:
    """Tell whether requests to a model stay on this computer."""
    if config is not None:
        return not config.provider and is_loopback(config.url)
    return name.startswith("scripted:") or (name.startswith("http") and is_loopback(name))


def _is_kept(reference: str) -> bool:
    return reference.startswith("keyring:")


def _checked_provider(provider: str) -> str:
    if provider not in VENDORS:
        raise NotFound(
            say(
                "There is no provider '{name}'. The providers are: {names}.",
                name=provider[:200],
                names=", ".join(VENDORS),
            )
        )
    if not is_installed(provider):
        message, hint = not_installed(provider)
        raise Conflict(message, hint=hint)
    return provider


def _label(name: str) -> str:
    """Return how a model is called that has no name of its own: a script by its file, without the folders."""
    provider, _, path = name.partition(":")
    return f"{provider}:{PurePath(path).name}" if provider == "scripted" and path else name
