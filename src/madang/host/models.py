"""Models and keys over the API. A key comes in and never goes out: answers say where one is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from madang.agent.models import OpenModels
from madang.core.errors import MadangError, NotFound, SetupError
from madang.core.phrases import Phrase, say
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.model_catalogue import ModelCatalogue, is_local_model
from madang.host.wire import Done, NoBody
from madang.host.wire_settings import (
    DefaultModelBody,
    KeyAnswer,
    KeyBody,
    KeyPlace,
    LocalServer,
    LocalServersAnswer,
    ModelAnswer,
    ModelsAnswer,
    NewModelBody,
    SavedKeyAnswer,
    TryModelAnswer,
    TryModelBody,
    VendorAnswer,
)
from madang.llm.discovery import find_servers
from madang.llm.errors import ModelError
from madang.llm.keys import FILE_NAME
from madang.llm.vendors import VENDORS, is_installed
from madang.rendering.catalogue import translator

TRIAL_S = 90.0
MAX_TRIAL_CHARS = 500


class ModelApi:
    """The operations on models and their keys."""

    def __init__(
        self,
        calls: HostCalls,
        catalogue: ModelCatalogue,
        models: OpenModels,
        *,
        data_dir: Path,
        local_ports: Mapping[str, int],
    ) -> None:
        """`local_ports` are where servers of models are looked for on this computer, when the person asks."""
        self._calls = calls
        self._catalogue = catalogue
        self._models = models
        self._data_dir = data_dir
        self._local_ports = local_ports

    def operations(self) -> list[Operation]:
        return [
            Operation("GET", "/api/models", self.list_models, ModelsAnswer),
            Operation("POST", "/api/models", self.add, ModelsAnswer, NewModelBody, status=201),
            Operation("POST", "/api/models/default", self.set_default, Done, DefaultModelBody),
            Operation("POST", "/api/models/look", self.look, LocalServersAnswer, NoBody),
            Operation("POST", "/api/models/try", self.try_model, TryModelAnswer, TryModelBody),
            Operation("DELETE", "/api/models/{name}", self.remove, Done),
            Operation("POST", "/api/keys/{name}", self.save_key, SavedKeyAnswer, KeyBody),
            Operation("DELETE", "/api/keys/{name}", self.forget_key, Done),
        ]

    async def list_models(self, request: ApiRequest) -> ModelsAnswer:
        """Return the models that can be used, those of vendors, and where their keys are."""
        return await asyncio.to_thread(self._list)

    async def add(self, request: ApiRequest) -> ModelsAnswer:
        """Add a model to `config.toml`, as the default one where there is none; its key goes to the keyring."""
        body: NewModelBody = request.body
        await self._catalogue.add(
            body.name.strip(),
            url=body.url.strip(),
            provider=body.provider,
            model=body.model,
            key=body.key if body.key is not None and body.key.get_secret_value() else None,
            window_tokens=body.window_tokens,
        )
        self._models.reopen()
        return await asyncio.to_thread(self._list)

    async def set_default(self, request: ApiRequest) -> Done:
        """Choose the model of assistants that have none of their own."""
        body: DefaultModelBody = request.body
        await self._catalogue.set_default(body.name)
        return Done()

    async def remove(self, request: ApiRequest) -> Done:
        """Take a model out of `config.toml`, with the key that was kept for it alone."""
        await self._catalogue.remove(request.path("name"))
        self._models.reopen()
        return Done()

    async def look(self, request: ApiRequest) -> LocalServersAnswer:
        """Look for servers of models on this computer, on their usual ports. Nothing else does this by itself."""
        servers = await find_servers(self._local_ports)
        return LocalServersAnswer(
            servers=[LocalServer(name=one.name, url=one.url, models=list(one.models)) for one in servers]
        )

    async def try_model(self, request: ApiRequest) -> TryModelAnswer:
        """Ask a model for one word. It may be one that was found on this computer."""
        body: TryModelBody = request.body
        # A script is local too, but names a file: only one that the person has chosen is opened.
        is_found = is_local_model(body.name, None) and not body.name.startswith("scripted:")
        if body.name not in self._catalogue.names and not is_found:
            raise NotFound(say("There is no model '{name}'.", name=body.name[:200]))
        translate = translator(self._calls.call_of(request.request).locale)
        started_s = time.perf_counter()
        text, message, hint = "", None, None
        try:
            async with asyncio.timeout(TRIAL_S):
                opened = await self._models.get(body.name)
                answer = await opened.answer_trial()
                text = answer.text.strip()[:MAX_TRIAL_CHARS]
        except (ModelError, SetupError) as error:
            message, hint = error.message, error.hint
        except TimeoutError:
            message = say("The model did not answer within {seconds} seconds.", seconds=round(TRIAL_S))
        return TryModelAnswer(
            is_ok=message is None,
            text=text,
            took_ms=round((time.perf_counter() - started_s) * 1000),
            message=message.render(translate) if message is not None else "",
            hint=hint.render(translate) if hint is not None else "",
        )

    async def save_key(self, request: ApiRequest) -> SavedKeyAnswer:
        """Keep a key in the system's keyring, else in a file that only its owner can read."""
        body: KeyBody = request.body
        name = self._known_key(request.path("name"))
        message: Phrase = await asyncio.to_thread(self._catalogue.keys.save, name, body.key)
        self._models.reopen()
        return SavedKeyAnswer(
            key=KeyAnswer(name=name, place=self._catalogue.keys.destination()),
            message=message.render(translator(self._calls.call_of(request.request).locale)),
        )

    async def forget_key(self, request: ApiRequest) -> Done:
        """Forget a kept key. One of the environment stays there."""
        name = self._known_key(request.path("name"))
        if not await asyncio.to_thread(self._catalogue.keys.delete, name):
            raise NotFound(say("No key '{name}' is kept.", name=name))
        self._models.reopen()
        return Done()

    def _known_key(self, name: str) -> str:
        if name not in self._catalogue.key_names():
            raise NotFound(say("No model needs a key '{name}'.", name=name[:200]))
        return name

    def _list(self) -> ModelsAnswer:
        """Read everything, in a thread: a keyring may ask the person to unlock it."""
        catalogue = self._catalogue
        return ModelsAnswer(
            default=catalogue.default,
            fixed=catalogue.fixed,
            models=[self._model(name) for name in catalogue.names],
            vendors=[self._vendor(name) for name in VENDORS],
            key_place=catalogue.keys.destination(),
            key_file=str(self._data_dir / FILE_NAME),
        )

    def _model(self, name: str) -> ModelAnswer:
        config = self._catalogue.configs.get(name)
        is_local = is_local_model(name, config)
        if config is None:
            kind, _, model = name.partition("#" if name.startswith("http") else ":")
            provider = _shown_url(kind) if name.startswith("http") else kind
            key = KeyAnswer(name="", place="none") if kind not in VENDORS else self._vendor(kind).key
            window = None
        else:
            model, window = config.model, config.window_tokens
            provider = config.provider or _shown_url(config.url)
            key = self._key_of(config.key, config.provider)
        return ModelAnswer(
            name=name,
            model=model or name,
            provider=provider,
            is_local=is_local,
            window_tokens=window,
            has_prices=self._catalogue.has_prices(name),
            is_configured=config is not None,
            key=key,
        )

    def _vendor(self, name: str) -> VendorAnswer:
        vendor = VENDORS[name]
        return VendorAnswer(
            name=name,
            title=vendor.title,
            url=vendor.url,
            is_installed=is_installed(name),
            extra=vendor.extra,
            key=self._key_of("", name),
        )

    def _key_of(self, reference: str, provider: str) -> KeyAnswer:
        keys = self._catalogue.keys
        kind, _, name = reference.partition(":")
        place: KeyPlace
        try:
            if reference and kind == "env":
                return KeyAnswer(name="", place="environment" if keys.resolve(reference) else "missing")
            if reference:
                _, found = keys.find(name)
            elif provider in VENDORS:
                name = VENDORS[provider].key_name
                _, found = keys.find(name, VENDORS[provider].key_variables)
            else:
                return KeyAnswer(name="", place="none")
            place = found or "missing"
        except MadangError:
            place = "unreadable"
        return KeyAnswer(name=name, place=place)


def _shown_url(url: str) -> str:
    """Return an address without what may be secret in it."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
