"""Which services an assistant may use, and which of them ask first: its grant and its policy as one mode for each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from madang.agent.history import estimate_tokens
from madang.agent.policy import ASK_FIRST
from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.phrases import say
from madang.core.service import ServiceMetadata
from madang.host.wire_assistants import ServiceAnswer, ServiceMode
from madang.provider.grants import is_granted
from madang.provider.provider import Provider
from madang.records.assistants import AssistantRecord
from madang.rendering.catalogue import translator


class ServiceModes:
    """The modes of the services that this process offers."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def answers(self, call: Call, record: AssistantRecord) -> list[ServiceAnswer]:
        """Return every service as it is for an assistant."""
        return [self._answer(call, metadata, record) for metadata in self._list()]

    def changes(self, record: AssistantRecord, modes: Mapping[str, ServiceMode]) -> dict[str, Any]:
        """Return the grant and the policy that give the services their modes."""
        services = {metadata.name: metadata for metadata in self._list()}
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

    def _list(self) -> list[ServiceMetadata]:
        named = map(self._provider.get_service_metadata, self._provider.status)
        return [metadata for metadata in named if metadata is not None]

    def _answer(self, call: Call, metadata: ServiceMetadata, record: AssistantRecord) -> ServiceAnswer:
        provider, translate = self._provider, translator(call.locale)
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


def _mode(metadata: ServiceMetadata, record: AssistantRecord) -> ServiceMode:
    names = None if record.services is None else frozenset(record.services)
    if not is_granted(metadata, names):
        return "off"
    return "on" if set(metadata.names).isdisjoint(record.policy.get(ASK_FIRST, ())) else "ask"
