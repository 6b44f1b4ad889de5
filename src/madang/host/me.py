"""What a tab needs to know before it draws anything: whose host it is, and what can be chosen there."""

from __future__ import annotations

from pathlib import Path

from madang import __version__
from madang.agent.models import OpenModels
from madang.core.calls import LOCALES, Call
from madang.core.ids import UserId
from madang.host.api import ApiRequest, Operation
from madang.host.model_catalogue import ModelCatalogue
from madang.host.wire import AssistantAnswer, MeAnswer, ModelChoice
from madang.provider.provider import Provider
from madang.records.assistants import AssistantStore
from madang.records.runs.usage import UsageStore


class ModelChoices:
    """The models that the person can choose among, and how much each of them can read."""

    def __init__(self, catalogue: ModelCatalogue, models: OpenModels, usage: UsageStore) -> None:
        self.catalogue = catalogue
        self._models = models
        self._usage = usage

    async def list_choices(self, user_id: UserId) -> list[ModelChoice]:
        return [
            ModelChoice(name=name, label=label, context_tokens=await self._find_window(user_id, name))
            for name, label in self.catalogue.names.items()
        ]

    async def _find_window(self, user_id: UserId, name: str) -> int | None:
        """Return the smallest of what the person, its server and its refusals have said."""
        config = self.catalogue.configs.get(name)
        learnt = await self._usage.get_calibration(user_id, name)
        told = (config.window_tokens if config else None) or self._models.find_window(name)
        known = [tokens for tokens in (told, learnt.window_tokens) if tokens]
        return min(known, default=None)


class MeApi:
    """GET /api/me"""

    def __init__(
        self,
        call: Call,
        assistants: AssistantStore,
        models: ModelChoices,
        *,
        provider: Provider,
        data_dir: Path,
        content_origin: str,
    ) -> None:
        self._call = call
        self._assistants = assistants
        self._models = models
        self._provider = provider
        self._data_dir = data_dir
        self._content_origin = content_origin

    def operations(self) -> list[Operation]:
        return [Operation("GET", "/api/me", self.me, MeAnswer, id="SessionApi_me")]

    async def me(self, request: ApiRequest) -> MeAnswer:
        """Return what a tab needs to know before it draws anything."""
        call, catalogue = self._call, self._models.catalogue
        assistants = await self._assistants.list_all(call.user_id)
        listed = [AssistantAnswer(id=one.id, name=one.name, model=one.model) for one in assistants]
        own = call.assistant_id or ""
        if own not in [one.id for one in listed]:
            listed.insert(0, AssistantAnswer(id=own, name="", model=""))
        return MeAnswer(
            version=__version__,
            locale=call.locale,
            locales=list(LOCALES),
            model=catalogue.model,
            is_model_fixed=bool(catalogue.fixed),
            models=await self._models.list_choices(call.user_id),
            assistants=listed,
            assistant_id=own,
            data_dir=str(self._data_dir),
            content_origin=self._content_origin,
            tool_count=len(await self._provider.available_tools(call)),
        )
