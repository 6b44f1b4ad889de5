"""Assistants over the API: how each is set up, what the person has allowed to it, and making and deleting them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from madang.agent.history import estimate_tokens
from madang.agent.limits import RunLimits, parse_limits
from madang.agent.model_options import parse_options
from madang.agent.policy import ASK_FIRST
from madang.core.arguments import check_shape
from madang.core.calls import Call
from madang.core.errors import Conflict, InvalidArguments, NotFound
from madang.core.ids import AssistantId, SessionId, is_name, normalised_name
from madang.core.limits import MAX_NAME_CHARS
from madang.core.phrases import say
from madang.core.service import ServiceMetadata
from madang.host.api import ApiRequest, Operation
from madang.host.parts import HostParts
from madang.host.wire import Done
from madang.host.wire_assistants import (
    AssistantDetails,
    AssistantPatch,
    AssistantsAnswer,
    AssistantSummary,
    DecisionAnswer,
    DecisionsAnswer,
    DeleteAssistantQuery,
    DeletedAssistantAnswer,
    ForgetDecisionQuery,
    NewAssistantBody,
    ServiceAnswer,
    ServiceMode,
)
from madang.llm.fallback import split_models
from madang.provider.grants import is_granted
from madang.records.assistants import MAX_ASSISTANTS, AssistantRecord
from madang.records.decisions import Decision
from madang.rendering.catalogue import translator

MAX_NAME_TRIES = 1000


class AssistantApi:
    """The operations on assistants, and on decisions that are remembered."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts

    def operations(self) -> list[Operation]:
        one = "/api/assistants/{id}"
        return [
            Operation("GET", "/api/assistants", self.list_assistants, AssistantsAnswer),
            Operation("POST", "/api/assistants", self.create, AssistantDetails, NewAssistantBody, status=201),
            Operation("GET", one, self.get, AssistantDetails),
            Operation("PATCH", one, self.change, AssistantDetails, AssistantPatch),
            Operation("DELETE", one, self.delete, DeletedAssistantAnswer, query=DeleteAssistantQuery),
            Operation("GET", "/api/decisions", self.list_decisions, DecisionsAnswer),
            Operation("DELETE", "/api/decisions", self.forget, Done, query=ForgetDecisionQuery),
        ]

    async def list_assistants(self, request: ApiRequest) -> AssistantsAnswer:
        """List the assistants, the default one first."""
        call = self._parts.calls.call_of(request.request)
        records = await self._parts.assistants.list_all(call.user_id)
        if call.assistant not in {record.id for record in records}:
            records.append(AssistantRecord(call.assistant))
        records.sort(key=lambda record: (record.id != call.assistant, (record.name or record.id).casefold()))
        counts = await self._session_counts(call)
        return AssistantsAnswer(
            assistants=[
                AssistantSummary(
                    id=record.id,
                    name=record.name,
                    model=record.model,
                    session_count=counts[record.id],
                    is_default=record.id == call.assistant,
                    updated_at=record.updated_at,
                )
                for record in records
            ]
        )

    async def create(self, request: ApiRequest) -> AssistantDetails:
        """Make an assistant, maybe as a copy of another: without what was allowed to that one."""
        body: NewAssistantBody = request.body
        call = self._parts.calls.call_of(request.request)
        source = await self._record(call, body.copy_of) if body.copy_of else AssistantRecord(AssistantId(""))
        taken = {record.id for record in await self._parts.assistants.list_all(call.user_id)} | {call.assistant}
        if len(taken) >= MAX_ASSISTANTS:
            raise Conflict(say("There are {max} assistants, as many as there can be.", max=MAX_ASSISTANTS))
        name = _checked_name(body.name)
        draft = replace(source, id=_free_id(name, taken), name=name, version=0, created_at="", updated_at="")
        return await self._details(call, await self._parts.assistants.save(call.user_id, draft))

    async def get(self, request: ApiRequest) -> AssistantDetails:
        """Return one assistant, with its services, limits and what was allowed to it."""
        call = self._parts.calls.call_of(request.request)
        return await self._details(call, await self._record(call, request.path("id")))

    async def change(self, request: ApiRequest) -> AssistantDetails:
        """Change what is given of an assistant."""
        body: AssistantPatch = request.body
        check_shape(body.model_dump(exclude_unset=True))
        call = self._parts.calls.call_of(request.request)
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
            changes |= self._modes(record, body.services)
        saved = await self._parts.assistants.save(call.user_id, replace(record, **changes))
        return await self._details(call, saved)

    async def delete(self, request: ApiRequest) -> DeletedAssistantAnswer:
        """Delete an assistant. Its sessions stay, and go on with the default one."""
        query: DeleteAssistantQuery = request.query
        call = self._parts.calls.call_of(request.request)
        record = await self._record(call, request.path("id"))
        if record.id == call.assistant:
            raise Conflict(
                say("The default assistant cannot be deleted."),
                hint=say("Sessions of other assistants go on with it when those are deleted."),
            )
        sessions = await self._parts.assistants.delete(call.user_id, record.id, query.version, call.assistant)
        return DeletedAssistantAnswer(successor_id=call.assistant, session_count=len(sessions))

    async def list_decisions(self, request: ApiRequest) -> DecisionsAnswer:
        """List all that the person has allowed for more than one call, newest first."""
        return DecisionsAnswer(decisions=await self._decisions(self._parts.calls.call_of(request.request)))

    async def forget(self, request: ApiRequest) -> Done:
        """Take back what was allowed: the next call of the tool asks again."""
        query: ForgetDecisionQuery = request.query
        call = self._parts.calls.call_of(request.request)
        if query.scope == "session":
            call = replace(call, session_id=SessionId(query.scope_id))
        else:
            call = replace(call, assistant_id=AssistantId(query.scope_id))
        if not await self._parts.decisions.forget(call, query.scope, query.tool):
            raise NotFound(say("This was not allowed, or was taken back already."))
        return Done()

    async def _record(self, call: Call, id: str) -> AssistantRecord:
        record = await self._parts.assistants.get(call.user_id, AssistantId(id)) if is_name(id) else None
        if record is None and id == call.assistant:
            return AssistantRecord(call.assistant)
        if record is None:
            raise NotFound(say("There is no such assistant."))
        return record

    def _checked_model(self, record: AssistantRecord, name: str) -> str:
        # One that it has already may be a name that only another computer knows, or an address: it stays.
        for one in split_models(name) if name != record.model and name not in self._parts.models else ():
            if one not in self._parts.models:
                raise NotFound(say("There is no model '{name}'.", name=one[:200]))
        return name

    def _own_limits(self, limits: RunLimits, model: str) -> dict[str, Any]:
        """Return the limits that differ from the usual ones, so that those can change for who never set any."""
        usual = RunLimits().model_dump()
        own = {name: value for name, value in limits.model_dump().items() if value != usual[name]}
        used = self._parts.catalogue.fixed or model or self._parts.catalogue.default
        parse_limits(own, has_prices=self._parts.catalogue.has_prices(used))
        return own

    def _modes(self, record: AssistantRecord, modes: Mapping[str, ServiceMode]) -> dict[str, Any]:
        """Return the grant and the policy that give the services their modes."""
        services = {metadata.name: metadata for metadata in self._services()}
        for name in modes:
            if name not in services:
                raise NotFound(say("There is no service '{name}'.", name=name[:200]))
        now = {name: _mode(metadata, record) for name, metadata in services.items()} | dict(modes)
        granted = [name for name, mode in now.items() if mode != "off"]
        is_usual = set(granted) == {name for name, metadata in services.items() if is_granted(metadata, None)}
        known = {name for metadata in services.values() for name in metadata.names}
        # A service that this process does not offer keeps what was said of it.
        others = [name for name in record.services or () if name not in known]
        asking = [name for name in record.policy.get(ASK_FIRST, ()) if name not in known]
        asking += [name for name, mode in now.items() if mode == "ask"]
        grant = None if is_usual and not others and record.services is None else (*granted, *others)
        return {"services": grant, "policy": {**record.policy, ASK_FIRST: asking}}

    def _services(self) -> list[ServiceMetadata]:
        named = map(self._parts.provider.get_service_metadata, self._parts.provider.status)
        return [metadata for metadata in named if metadata is not None]

    async def _details(self, call: Call, record: AssistantRecord) -> AssistantDetails:
        decisions = await self._decisions(call)
        return AssistantDetails(
            id=record.id,
            name=record.name,
            instructions=record.instructions,
            model=record.model,
            options=parse_options(record.options),
            limits=parse_limits(record.limits, has_prices=True),
            default_limits=RunLimits(),
            services=[self._service(call, metadata, record) for metadata in self._services()],
            decisions=[one for one in decisions if one.assistant_id == record.id],
            session_count=(await self._session_counts(call))[record.id],
            is_default=record.id == call.assistant,
            is_in_config=record.id in self._parts.config_assistants,
            version=record.version,
            updated_at=record.updated_at,
        )

    def _service(self, call: Call, metadata: ServiceMetadata, record: AssistantRecord) -> ServiceAnswer:
        provider, translate = self._parts.provider, translator(call.locale)
        tools = [tool for tool in provider.list_service_tools(metadata.name) if tool.audience == "model"]
        offered = [tool for tool in tools if tool.in_runs]
        texts = [f"{tool.name} {tool.description} {json.dumps(tool.input_schema)}" for tool in offered]
        return ServiceAnswer(
            name=metadata.name,
            title=metadata.title.render(translate),
            description=metadata.description.render(translate),
            mode=_mode(metadata, record),
            status=provider.status[metadata.name].state,
            tool_count=len(tools),
            tokens=sum(map(estimate_tokens, texts)),
            runs_code=metadata.runs_code,
            reaches_out=metadata.reaches_out,
        )

    async def _decisions(self, call: Call) -> list[DecisionAnswer]:
        decisions = await self._parts.decisions.list_all(call.user_id)
        sessions = await self._sessions_of(call, decisions)
        answers = []
        for one in decisions:
            title, owner = sessions.get(one.scope_id, ("", "")) if one.scope == "session" else ("", one.scope_id)
            answers.append(
                DecisionAnswer(
                    scope=one.scope,
                    scope_id=one.scope_id,
                    session_title=title,
                    assistant_id=owner,
                    tool=one.tool,
                    decided_at=one.decided_at,
                )
            )
        return answers

    async def _sessions_of(self, call: Call, decisions: Sequence[Decision]) -> dict[str, tuple[str, str]]:
        """Return title and assistant of the sessions in which something was allowed."""
        sessions: dict[str, tuple[str, str]] = {}
        for id in {one.scope_id for one in decisions if one.scope == "session"}:
            session = await self._parts.sessions.get(replace(call, session_id=SessionId(id)))
            if session is not None:
                sessions[id] = session.title, session.assistant_id or call.assistant
        return sessions

    async def _session_counts(self, call: Call) -> Counter[str]:
        return Counter(await self._parts.sessions.count_by_assistant(call.user_id))


def _mode(metadata: ServiceMetadata, record: AssistantRecord) -> ServiceMode:
    names = None if record.services is None else frozenset(record.services)
    if not is_granted(metadata, names):
        return "off"
    return "on" if set(metadata.names).isdisjoint(record.policy.get(ASK_FIRST, ())) else "ask"


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
