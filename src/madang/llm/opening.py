"""A model by its name: one of `config.toml`, `PROVIDER:MODEL`, `URL#MODEL` or `scripted:FILE`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from madang.core.errors import SetupError
from madang.core.model_config import ModelConfig
from madang.core.phrases import say
from madang.core.suggestions import did_you_mean
from madang.llm.base import Model, ModelAnswer, ModelOptions, ModelRequest, Usage, complete
from madang.llm.connection import Connection, StreamLimits, check_url
from madang.llm.keys import KeyStore
from madang.llm.messages import user_message
from madang.llm.vendors import VENDORS, VendorModel, check_key

NO_OPTIONS = ModelOptions()
_TRIAL = "Answer with one word: ready"


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Return what an answer cost; None if the server did not tell how much it took.

        What was read from a cache, and what was written to it, costs as much as other input where no price is set.
        """
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        written = min(usage.cache_write_tokens or 0, usage.input_tokens - cached)
        cached_price = self.input if self.cached is None else self.cached
        write_price = self.input if self.cache_write is None else self.cache_write
        plain = usage.input_tokens - cached - written
        spent = plain * self.input + cached * cached_price + written * write_price + usage.output_tokens * self.output
        return spent / 1e6


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """A model with what its configuration says of it."""

    model: Model
    options: ModelOptions = NO_OPTIONS
    prices: Prices | None = None
    window_tokens: int | None = None

    async def answer_trial(self) -> ModelAnswer:
        """Ask for one word, to see that the model answers.

        Raises:
            ModelError: it does not.
        """
        return await complete(self.model, ModelRequest("", [user_message(_TRIAL)], options=self.options))


def open_model(name: str, configs: Mapping[str, ModelConfig], keys: KeyStore) -> OpenedModel:
    """Return the model of a name. It is asked nothing yet. May block, as `KeyStore` does.

    Raises:
        SetupError: there is no such model, or something is missing that it needs.
    """
    if name in configs:
        return _configured(name, configs[name], keys)
    kind, _, rest = name.partition(":")
    if kind == "scripted" and rest:
        from madang.llm.scripted import read_script

        return OpenedModel(read_script(Path(rest).expanduser()))
    if kind in ("http", "https"):
        url, _, model = name.partition("#")
        if not model:
            raise SetupError(say("Name the model too, behind a #: {url}#MODEL", url=url[:200]))
        return OpenedModel(_compatible(model, Connection(url), name))
    if kind in VENDORS and rest:
        return OpenedModel(_vendor(kind, rest, Connection(""), keys, name))
    raise SetupError(
        say("There is no model '{name}'.", name=name[:200]),
        hint=did_you_mean(name, configs) or say("'madang models' lists those that can be used."),
    )


def _configured(name: str, config: ModelConfig, keys: KeyStore) -> OpenedModel:
    limits = StreamLimits()
    limits = StreamLimits(
        first_event_s=config.first_event_s or limits.first_event_s, idle_s=config.idle_s or limits.idle_s
    )
    connection = Connection(
        check_url(config.url) if config.url else "",
        _needed(name, config.key, keys) if config.key else None,
        {header: _header(name, value, keys) for header, value in config.headers.items()},
        _header(name, config.proxy, keys) if config.proxy else None,
        str(Path(config.ca_file).expanduser()) if config.ca_file else "",
        limits,
    )
    options = ModelOptions(
        config.temperature, config.top_p, config.max_output_tokens, config.thinking, None, dict(config.body)
    )
    prices = None
    if config.input_price is not None and config.output_price is not None:
        prices = Prices(config.input_price, config.output_price, config.cached_price, config.cache_write_price)
    if not config.provider:
        model = _compatible(config.model, connection, name)
    elif config.provider in VENDORS:
        model = _vendor(config.provider, config.model, connection, keys, name)
    else:
        names = ", ".join(VENDORS)
        raise SetupError(
            say("There is no provider '{name}'. The providers are: {names}.", name=config.provider, names=names)
        )
    return OpenedModel(model, options, prices, config.window_tokens)


def _compatible(model: str, connection: Connection, label: str) -> Model:
    from madang.llm.compatible import CompatibleModel

    return CompatibleModel(model, connection, label=label)


def _vendor(provider: str, model: str, connection: Connection, keys: KeyStore, label: str) -> Model:
    vendor = VENDORS[provider]
    if connection.key is None:
        connection = replace(connection, key=keys.find(vendor.key_name, vendor.key_variables)[0])
    if vendor.extra:
        return VendorModel(provider, model, connection, label=label)
    check_key(provider, connection)
    connection = replace(connection, url=connection.url or vendor.url)
    label = label or f"{provider}:{model}"
    if provider == "anthropic":
        from madang.llm.anthropic import MessagesModel

        return MessagesModel(model, connection, label=label)
    from madang.llm.chat_request import GEMINI_DIALECT, OPENAI_DIALECT
    from madang.llm.compatible import CompatibleModel

    dialect = GEMINI_DIALECT if provider == "google" else OPENAI_DIALECT
    return CompatibleModel(model, connection, provider=provider, label=label, dialect=dialect)


def _needed(name: str, reference: str, keys: KeyStore) -> SecretStr:
    key = keys.resolve(reference)
    if key is None:
        raise SetupError(
            say("The model '{name}' needs a key, and there is none in {place}.", name=name, place=reference),
            hint=say("Set the variable, or keep the key with 'madang models --key NAME'."),
        )
    return key


def _header(name: str, value: str, keys: KeyStore) -> SecretStr:
    """Return the value of a header or a proxy, which may be secret and then names where it is."""
    return _needed(name, value, keys) if value.startswith(("env:", "keyring:")) else SecretStr(value)
