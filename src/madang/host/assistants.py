"""Assistants over the API: listing, making, changing and deleting them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from madang.agent.limits import RunLimits, parse_limits
from madang.core.arguments import check_shape
from madang.core.calls import Call
from madang.core.errors import Conflict, InvalidArguments, NotFound
from madang.core.ids import AssistantId, is_name, normalised_name
from madang.core.limits import MAX_NAME_CHARS
from madang.core.phrases import say
from madang.host.api import ApiRequest, Operation
from madang.host.assistant_answers import AssistantAnswers
from madang.host.calls import HostCalls
from madang.host.model_catalogue import ModelCatalogue
from madang.host.service_modes import ServiceModes
from madang.host.wire_assistants import (
    AssistantDetails,
    AssistantPatch,
    AssistantsAnswer,
    DeleteAssistantQuery,
    DeletedAssistantAnswer,
    NewAssistantBody,
)
from madang.llm.fallback import split_models
from madang.records.assistants import MAX_ASSISTANTS, AssistantRecord, AssistantStore

MAX_NAME_TRIES = 1000


class AssistantApi:
    """The operations on assistants."""

    def __init__(
        self,
        calls: HostCalls,
        assistants: AssistantStore,
        answers: AssistantAnswers,
        *,
        services: ServiceModes,
        catalogue: ModelCatalogue,
    ) -> None:
        self._calls = calls
        self._assistants = assistants
        self._answers = answers
        self._services = services
        self._catalogue = catalogue

    def operations(self) -> list[Operation]:
        one = "/api/assistants/{id}"
        return [
            Operation("GET", "/api/assistants", self.list_assistants, AssistantsAnswer),
            Operation("POST", "/api/assistants", self.create, AssistantDetails, NewAssistantBody, status=201),
            Operation("GET", one, self.get, AssistantDetails),
            Operation("PATCH", one, self.change, AssistantDetails, AssistantPatch),
            Operation("DELETE", one, self.delete, DeletedAssistantAnswer, query=DeleteAssistantQuery),
        ]

    async def list_assistants(self, request: ApiRequest) -> AssistantsAnswer:
        """List the assistants, the default one first."""
        call = self._calls.call_of(request.request)
        records = await self._assistants.list_all(call.user_id)
        if call.assistant not in {record.id for record in records}:
            records.append(AssistantRecord(call.assistant))
        records.sort(key=lambda record: (record.id != call.assistant, (record.name or record.id).casefold()))
        return AssistantsAnswer(assistants=await self._answers.summaries(call, records))

    async def create(self, request: ApiRequest) -> AssistantDetails:
        """Make an assistant, maybe as a copy of another: without what was allowed to that one."""
        body: NewAssistantBody = request.body
        call = self._calls.call_of(request.request)
        source = await self._record(call, body.copy_of) if body.copy_of else AssistantRecord(AssistantId(""))
        taken = {record.id for record in await self._assistants.list_all(call.user_id)} | {call.assistant}
        if len(taken) >= MAX_ASSISTANTS:
            raise Conflict(say("There are {max} assistants, as many as there can be.", max=MAX_ASSISTANTS))
        name = _checked_name(body.name)
        draft = replace(source, id=_free_id(name, taken), name=name, version=0, created_at="", updated_at="")
        return await self._answers.details(call, await self._assistants.save(call.user_id, draft))

    async def get(self, request: ApiRequest) -> AssistantDetails:
        """Return one assistant, with its services, limits and what was allowed to it."""
        call = self._calls.call_of(request.request)
        return await self._answers.details(call, await self._record(call, request.path("id")))

    async def change(self, request: ApiRequest) -> AssistantDetails:
        """Change what is given of an assistant."""
        body: AssistantPatch = request.body
        check_shape(body.model_dump(exclude_unset=True))
        call = self._calls.call_of(request.request)
        record = replace(await self._record(call, request.path("id")), version=body.version)
        changes: dict[str, Any] = {}
        if body.name is not None:
            changes["name"] = _checked_name(body.name)
        if body.instructions is not None:
            changes["instructions"] = body.instructions
        if body.model is not None:
            changes["model"] = self._checked_model(record, body.model.strip())
        if body.options is not None:
            changes["options"] = body.options.model_dump(exclude_none=True)
        if body.limits is not None:
            changes["limits"] = self._own_limits(body.limits, changes.get("model", record.model))
        if body.services is not None:
            changes |= self._services.changes(record, body.services)
        saved = await self._assistants.save(call.user_id, replace(record, **changes))
        return await self._answers.details(call, saved)

    async def delete(self, request: ApiRequest) -> DeletedAssistantAnswer:
        """Delete an assistant. Its sessions stay, and go on with the default one."""
        query: DeleteAssistantQuery = request.query
        call = self._calls.call_of(request.request)
        record = await self._record(call, request.path("id"))
        if record.id == call.assistant:
            raise Conflict(
                say("The default assistant cannot be deleted."),
                hint=say("Sessions of other assistants go on with it when those are deleted."),
            )
        sessions = await self._assistants.delete(call.user_id, record.id, query.version, call.assistant)
        return DeletedAssistantAnswer(successor_id=call.assistant, session_count=len(sessions))

    async def _record(self, call: Call, id: str) -> AssistantRecord:
        record = await self._assistants.get(call.user_id, AssistantId(id)) if is_name(id) else None
        if record is None and id == call.assistant:
            return AssistantRecord(call.assistant)
        if record is None:
            raise NotFound(say("There is no such assistant."))
        return record

    def _checked_model(self, record: AssistantRecord, name: str) -> str:
        # One that it has already may be a name that only another computer knows, or an address: it stays.
        for one in split_models(name) if name != record.model and name not in self._catalogue.names else ():
            if one not in self._catalogue.names:
                raise NotFound(say("There is no model '{name}'.", name=one[:200]))
        return name

    def _own_limits(self, limits: RunLimits, model: str) -> dict[str, Any]:
        """Return the limits that differ from the usual ones, so that those can change for who never set any."""
        usual = RunLimits().model_dump()
        own = {name: value for name, value in limits.model_dump().items() if value != usual[name]}
        used = self._catalogue.fixed or model or self._catalogue.default
        parse_limits(own, has_prices=self._catalogue.has_prices(used))
        return own


def _checked_name(name: str) -> str:
    name = normalised_name(name.strip())
    if not is_name(name):
        raise InvalidArguments(
            say("The {what} must have 1 to {max} printable characters.", what="name", max=MAX_NAME_CHARS)
        )
    return name


def _free_id(name: str, taken: set[AssistantId]) -> AssistantId:
    """Return an id that can be typed after `--assistant`: the name itself, with a number if there is one already."""
    for number in range(1, MAX_NAME_TRIES):
        suffix = f"-{number}" if number > 1 else ""
        id = AssistantId(f"{name[: MAX_NAME_CHARS - len(suffix)].strip()}{suffix}")
        if id not in taken:
            return id
    raise Conflict(say("There is an assistant '{id}' already.", id=name))
